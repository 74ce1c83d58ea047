// Each check against a database and hosts that are as it says; no loop runs beside, which would mend something.
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idSince } from '../../../src/db/postgres/partitions.js';
import { readOnly } from '../../../src/db/connection/read-only.js';
import { reportProcess, type ProcessRow } from '../../../src/db/tables/processes.js';
import { transaction, type Context } from '../../../src/domain/context.js';
import { createLogStream } from '../../../src/domain/log-streams/log-streams.js';
import type { CheckId } from '../../../src/domain/diagnostics/check-ids.js';
import { checks } from '../../../src/domain/diagnostics/checks/index.js';
import { diagnose, type CheckResult } from '../../../src/domain/diagnostics/diagnose.js';
import type { Installation } from '../../../src/domain/diagnostics/installation.js';
import { installationOf } from '../../../src/domain/diagnostics/own-installation.js';
import { createDirectory } from '../../../src/domain/directories/directories.js';
import { insertDirectoryRequest } from '../../../src/db/tables/directory_requests.js';
import { uuidv7 } from '../../../src/lib/random.js';
import { addDomain, addOrganization } from '../../support/organizations.js';
import { samlKeys } from '../../../src/domain/saml-certificates/saml-certificates.js';
import { saveSamlMetadata } from '../../../src/db/tables/saml_metadata.js';
import { setupUrl } from '../../../src/domain/users/setup.js';
import { createSealer } from '../../../src/lib/seal.js';
import { createGuardedFetch } from '../../../src/platform/fetch/fetch.js';
import { readCertificate } from '../../../src/platform/server-certificate.js';
import { selfSigned } from '../../support/certificates.js';
import { addConnection } from '../../support/connections.js';
import { addClient, addEnvironment, addUser, password } from '../../support/data.js';
import { createTestDatabase } from '../../support/database.js';
import { cheapPasswords, freePort } from '../../support/service.js';
import { addSignalStream } from '../../support/signals.js';
import { samlKeyPair } from '../../support/saml-provider.js';
import { addSamlConnection } from '../../support/saml-sign-in.js';
import { openContext } from '../../support/standalone.js';
import { needsRoot } from '../../support/programs.js';
import { canChangeRoot, ThrowAwayRoot } from '../../support/throw-away-root.js';
import { addWebhook, emitRoles } from '../../support/webhooks.js';

const cleanups: (() => unknown)[] = [];
let ctx: Context;

beforeEach(async () => {
  const database = await createTestDatabase();
  const opened = await openContext(database.url, randomBytes(32).toString('base64'));
  ctx = opened.ctx;
  cleanups.push(
    () => database.drop(),
    () => opened.close(),
  );
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Changes = Omit<Partial<Installation>, 'config'> & { readonly config?: Partial<Installation['config']> };

const installation = ({ config, ...changes }: Changes = {}): Installation => {
  const own = installationOf(ctx);
  return { ...own, ...changes, config: { ...own.config, ...config } };
};

/** What was found by the tests of this file, one of each fault. */
const printed = new Map<string, CheckResult>();

/** What one check says, without the explanation. */
async function says(id: CheckId, changes: Changes = {}): Promise<Pick<CheckResult, 'level' | 'finding' | 'fix' | 'look' | 'subject'>[]> {
  const { checks: results } = await diagnose(installation(changes), [id]);
  for (const one of results) printed.set(`${one.id} ${one.why}`, one);
  return results.map(({ level, finding, fix, look, subject }) => ({ level, finding, fix, look, subject }));
}

const well = (id: CheckId) => [{ level: 'ok', finding: checks[id].okText, fix: null, look: null, subject: null }];
const sql = (text: string) => ctx.db.knex.raw(text);

const running = (row: Partial<ProcessRow> = {}) =>
  reportProcess(ctx.db.knex, {
    id: randomUUID(),
    host: 'web-1',
    pid: 4711,
    release: '1.0.0',
    node: '24.1.0',
    base_url: ctx.config.baseUrl,
    pool_max: 10,
    loops: {},
    forwarded: { sampled: 0, seen: [] },
    ...row,
  });

async function listening(server: {
  listen(port: number, host: string, done: () => void): unknown;
  address(): unknown;
  close(done: () => void): unknown;
}) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise<void>((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

describe('addresses', () => {
  const answering = async (status: number, body: string) => {
    const server: Server = createHttpServer((_req, res) => res.writeHead(status, { connection: 'close' }).end(body));
    return `http://localhost:${await listening(server)}`;
  };

  test('an issuer that is another one, or no discovery document at all', async () => {
    await running();
    const foreign = await answering(200, '{"issuer":"https://other.example.com"}');
    expect(await says('issuer', { config: { baseUrl: foreign } })).toEqual([
      {
        level: 'problem',
        finding: `Discovery at ${foreign} names the issuer https://other.example.com.`,
        fix: 'BASE_URL=https://other.example.com',
        look: null,
        subject: 'BASE_URL',
      },
    ]);
    const none = await answering(502, 'Bad gateway');
    expect((await says('issuer', { config: { baseUrl: none } }))[0]).toMatchObject({
      level: 'problem',
      fix: null,
      look: `curl -sSv ${none}/.well-known/openid-configuration`,
    });
    const hostile = await answering(200, '{"issuer":"$(reboot)"}');
    expect((await says('issuer', { config: { baseUrl: hostile } }))[0]?.finding).toMatch(/answers 200 without a discovery document\.$/);
    const right = await answering(200, '{}');
    const own = await answering(200, JSON.stringify({ issuer: right }));
    expect((await says('issuer', { config: { baseUrl: own } }))[0]?.fix).toBe(`BASE_URL=${right}`);
  });

  test('a service that is stopped is started, one that can not be reached is looked for', async () => {
    const baseUrl = `http://localhost:${await freePort()}`;
    expect((await says('issuer', { config: { baseUrl } }))[0]?.fix).toBe('npm start');
    await running();
    expect((await says('issuer', { config: { baseUrl } }))[0]?.look).toMatch(/^curl/);
  });

  test('what a proxy says that is not trusted, and TRUST_PROXY=on', async () => {
    const seen = [{ host: 'id.example.com', proto: 'https', trusted: false, peer: '10.0.0.7', count: 8 }];
    await running({ forwarded: { sampled: 10, seen } });
    const found = await says('proxy', { config: { trustProxy: true, loopback: false } });
    expect(found.map(({ level, fix }) => [level, fix])).toEqual([
      ['warning', 'TRUST_PROXY=1'],
      ['warning', 'TRUST_PROXY=10.0.0.7'],
      ['problem', 'BASE_URL=https://id.example.com'],
    ]);
  });

  test('what a trusted proxy says of the protocol', async () => {
    await running({
      forwarded: { sampled: 4, seen: [{ host: ctx.config.baseHost, proto: 'https', trusted: true, peer: '10.0.0.7', count: 4 }] },
    });
    expect(await says('proxy')).toEqual([
      expect.objectContaining({ level: 'problem', fix: `BASE_URL=https://${ctx.config.baseHost}`, subject: 'BASE_URL' }),
    ]);
  });

  test('hosts of environments and custom domains are no other addresses', async () => {
    await sql(`insert into custom_domains (environment_id, id, domain, status, verification_token, is_primary, verified_at, created_at, updated_at)
      values ('${ctx.environment.id}', '${randomUUID()}', 'login.example.org', 'verified', 'x', false, now(), now(), now())`);
    const each = (host: string) => ({ host, proto: 'http', trusted: true, peer: '127.0.0.1', count: 5 });
    await running({
      forwarded: { sampled: 15, seen: [each('login.example.org'), each(`staging.${ctx.config.baseHost}`), each(ctx.config.baseHost)] },
    });
    expect(await says('proxy')).toEqual(well('proxy'));
  });

  test('strangers can not choose the address that an operator is told to set (attack 34.712)', async () => {
    const forged = { host: 'evil.example', proto: 'https', trusted: false, peer: '203.0.113.9', count: 90 };
    await running({ forwarded: { sampled: 100, seen: [forged] } });
    const found = await says('proxy');
    expect(JSON.stringify(found)).not.toContain('evil.example');
    expect(found[0]?.finding).toContain('trust it only if it is your proxy');
    // A few among many are nothing at all.
    await sql('delete from processes');
    await running({ forwarded: { sampled: 100, seen: [{ ...forged, count: 10, peer: '10.0.0.9' }] } });
    expect(await says('proxy')).toEqual(well('proxy'));
  });

  test('plain http is for this machine alone', async () => {
    expect(await says('cookies')).toEqual(well('cookies'));
    const found = await says('cookies', { config: { baseUrl: 'http://10.0.0.1:3000', loopback: false, secureCookies: false } });
    expect(found[0]).toMatchObject({ level: 'problem', fix: 'BASE_URL=https://10.0.0.1' });
  });
});

describe('certificates', () => {
  test('they are looked at over the network: nobody vouches, expired, no TLS', async () => {
    const serve = async (options: Partial<Parameters<typeof selfSigned>[0]>) => {
      const { cert, key } = selfSigned({ name: 'localhost', ...options });
      return listening(createTlsServer({ cert, key }));
    };
    const port = await serve({});
    expect(await readCertificate('localhost', port, 3000)).toMatchObject({ problem: 'chain', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    const at = (number: number) => ({ config: { baseUrl: `https://localhost:${number}`, baseHost: `localhost:${number}` } });
    expect((await says('tls', at(port)))[0]).toMatchObject({ level: 'problem', subject: `localhost:${port}` });
    const old = await serve({ notBefore: new Date('2020-01-01'), notAfter: new Date('2020-02-01') });
    expect((await says('tls', at(old)))[0]?.finding).toMatch(/ expired on 2020-02-01\.$/);
    const plain = await listening(createHttpServer());
    expect((await says('tls', at(plain)))[0]?.finding).toBe(`There is no TLS at localhost:${plain}.`);
  });
});

describe('work in the background', () => {
  test('nobody at work; a loop that stands still, hangs or fails; and one that is well', async () => {
    expect((await says('loops'))[0]).toMatchObject({ level: 'problem', fix: 'npm start' });
    const state = { pause: 30, running: null, idle: 20, failures: 0 };
    await running({
      loops: {
        webhook: state,
        still: { ...state, idle: 1000 },
        hanging: { ...state, running: 900, idle: null },
        failing: { ...state, failures: 3 },
      },
    });
    const found = await says('loops');
    expect(found.map(({ level, subject }) => [level, subject]).sort()).toEqual([
      ['problem', 'loops/hanging'],
      ['problem', 'loops/still'],
      ['warning', 'loops/failing'],
    ]);
    expect(found.find(({ subject }) => subject === 'loops/still')?.fix).toBe(
      `[ "$(uname -n)" = web-1 ] && ps -o args= -p 4711 | grep -q 'main\\.[jt]s' && kill 4711`,
    );
  });

  test('processes that all leave the background work to others', async () => {
    await running({ loops: { clock: { pause: 30, running: null, idle: 20, failures: 0 } } });
    expect(await says('loops')).toMatchObject([{ level: 'problem', fix: 'BACKGROUND_WORK=on' }]);
  });

  test('a process that was killed counts no longer', async () => {
    await running({ loops: { still: { pause: 1, running: null, idle: 9999, failures: 0 } } });
    await sql("update processes set seen_at = now() - interval '2 minutes'");
    expect((await says('loops'))[0]?.finding).toMatch(/^No process/);
  });

  test('what waits for too long to leave', async () => {
    const { webhook } = await addWebhook(ctx, 'http://127.0.0.1:9/');
    await emitRoles(ctx, 1);
    expect(await says('outbox')).toEqual(well('outbox'));
    await sql(`update webhook_deliveries set next_attempt_at = now() - interval '20 minutes' where webhook_id = '${webhook.id}'`);
    expect(await says('outbox')).toEqual([
      {
        level: 'warning',
        finding: 'The oldest delivery to a webhook that is due has waited for 20 minutes.',
        fix: 'npm start',
        look: null,
        subject: 'webhook',
      },
    ]);
    await running();
    expect((await says('outbox'))[0]).toMatchObject({ fix: null, look: 'npm run -s doctor -- --check webhooks' });
  });

  test('events that wait for their place in the feed', async () => {
    expect(await says('feed')).toEqual(well('feed'));
    // Somebody holds what numbering takes.
    await ctx.db.knex.transaction(async (held) => {
      await held.raw("select pg_advisory_xact_lock(hashtextextended('event_feed', 0))");
      await emitRoles(ctx, 1);
      await sql("update events set position = null, occurred_at = now() - interval '5 minutes' where seq is not null");
      expect(await says('feed')).toEqual([
        {
          level: 'problem',
          finding: 'The oldest event that waits for its place in the feed has waited for 5 minutes.',
          fix: 'npm start',
          look: null,
          subject: 'events',
        },
      ]);
      await running();
      expect((await says('feed'))[0]).toMatchObject({ fix: null, look: 'npm run -s doctor -- --check loops' });
    });
  });

  test('a table that has no partition for the time in three days', async () => {
    expect(await says('partitions')).toEqual(well('partitions'));
    const ends = async (days: number | null) => {
      const end = days === null ? 'maxvalue' : `'${idSince(new Date(Date.now() + days * 86_400_000))}'`;
      await sql('alter table events detach partition events_first');
      await sql(`alter table events attach partition events_first for values from (minvalue) to (${end})`);
    };
    await ends(3.1);
    expect(await says('partitions')).toEqual(well('partitions'));
    await ends(2.9);
    expect(await says('partitions')).toMatchObject([{ level: 'problem', fix: 'npm start', look: null, subject: 'events' }]);
    await running();
    expect((await says('partitions'))[0]).toMatchObject({ fix: null, look: 'npm run -s doctor -- --check loops' });
    await ends(null);
  });

  test('an environment that is held for long, and an address that another cell answers for', async () => {
    const other = await addEnvironment(ctx, 'acme');
    const hold = (seconds: number | null) =>
      sql(`update environments set held_at = now() - make_interval(secs => ${seconds}) where slug = 'acme'`);
    await hold(50);
    expect(await says('cells')).toEqual(well('cells'));
    await hold(75);
    expect(await says('cells')).toMatchObject([{ level: 'problem', subject: 'environments/acme', fix: null }]);
    await hold(null);
    const proxy = createHttpServer((req, res) => res.writeHead(req.headers.host?.startsWith('acme.') ? 421 : 200).end());
    cleanups.push(() => proxy.close());
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const baseHost = `localhost:${(proxy.address() as AddressInfo).port}`;
    const config = { cell: 'north', baseUrl: `http://${baseHost}`, baseHost };
    expect(await says('cells', { config })).toEqual([
      {
        level: 'problem',
        finding: `http://acme.${baseHost} is answered by another cell than north, where environment ${other.environment.slug} is.`,
        fix: null,
        look: `curl -sSv http://acme.${baseHost}/.well-known/openid-configuration`,
        subject: 'environments/acme',
      },
    ]);
    expect(await says('cells', { config: { ...config, cell: null } })).toEqual(well('cells'));
  });

  test('releases that are mixed for long, addresses that differ, and a Node.js that is too old', async () => {
    const versions = (node: string) => says('versions', { node });
    await running({ release: '1.0.0' });
    await running({ release: '1.1.0' });
    expect(await versions('24.1.0')).toEqual(well('versions'));
    await sql("update processes set started_at = now() - interval '1 hour'");
    expect((await versions('24.1.0'))[0]).toMatchObject({
      level: 'warning',
      finding: 'Processes of the releases 1.0.0 and 1.1.0 are at work: deploy the same one everywhere.',
      fix: null,
    });
    await running({ base_url: 'https://other.example.com' });
    expect((await versions('24.1.0')).map(({ level }) => level)).toContain('problem');
    await sql('delete from processes');
    const levels = async (node: string) => (await versions(node)).map(({ level }) => level);
    expect([await levels('20.18.0'), await levels('25.0.0'), await levels('23.5.0')]).toEqual([['problem'], ['problem'], ['notice']]);
  });
});

describe('records', () => {
  test('webhooks: nobody there, forbidden, last attempts that failed, disabled by the service', async () => {
    const port = await listening(createHttpServer());
    const { webhook } = await addWebhook(ctx, `http://127.0.0.1:${port}/hook?secret=hidden`, { name: 'Orders $(reboot)' });
    expect(await says('webhooks')).toEqual(well('webhooks'));
    await sql(`update webhooks set failing_since = '2026-01-02T03:04Z', failed_attempt_count = 3, last_response_status = 500`);
    expect((await says('webhooks'))[0]).toMatchObject({
      level: 'warning',
      finding: expect.stringMatching(/can be reached: the last 3 attempts failed, since 2026-01-02T03:04Z \(500\)\.$/),
      look: expect.stringMatching(new RegExp(`list-deliveries --webhook ${webhook.id} --status failed$`)),
    });
    const guarded = createGuardedFetch({ allowPrivateNetwork: false });
    cleanups.push(() => guarded.close());
    const [blocked] = await says('webhooks', { fetch: guarded });
    expect(blocked?.finding).toMatch(/leads where requests may not go: http:\/\/127\.0\.0\.1:\d+\.$/);
    await sql(`update webhooks set status = 'disabled', disabled_reason = 'receiver_gone'`);
    const [disabled] = await says('webhooks');
    expect(disabled).toMatchObject({ level: 'notice', subject: `webhooks/${webhook.id}` });
    expect(JSON.stringify([blocked, disabled])).not.toContain('hidden');
  });

  test('of other environments they are told where, and how to get there', async () => {
    const staging = await addEnvironment(ctx, 'staging');
    const { webhook } = await addWebhook(staging, `http://127.0.0.1:${await freePort()}/`);
    const [found] = await says('webhooks');
    expect(found).toMatchObject({
      subject: `environments/staging/webhooks/${webhook.id}`,
      fix: `npm run -s cli -- --url http://staging.localhost:3000 webhooks update ${webhook.id} --status disabled`,
    });
  });

  test('log streams: nobody there, last attempts that failed, paused by the service', async () => {
    const port = await listening(createHttpServer());
    const { stream } = await transaction(ctx, (tx) =>
      createLogStream(tx, { name: 'SIEM', url: `http://127.0.0.1:${port}/in?key=hidden`, format: 'native', sources: ['security_events'] }),
    );
    expect(await says('log_streams')).toEqual(well('log_streams'));
    await sql(`update log_streams set failing_since = now() - interval '2 days'`);
    expect((await says('log_streams'))[0]).toMatchObject({ level: 'warning', subject: `log_streams/${stream.id}` });
    await sql(`update log_streams set status = 'paused', failing_since = now() - interval '4 days'`);
    expect((await says('log_streams'))[0]?.fix).toMatch(new RegExp(`log_streams update ${stream.id} --status enabled$`));
    await sql(`update log_streams set status = 'enabled', failing_since = null, url = 'http://127.0.0.1:${await freePort()}/'`);
    const found = await says('log_streams');
    expect(found[0]?.fix).toMatch(/--status paused$/);
    expect(JSON.stringify(found)).not.toContain('hidden');
  });

  test('streams of signals that are behind, or paused because too much waits', async () => {
    const { id } = await addClient(ctx);
    const stream = await addSignalStream(ctx, id);
    expect(await says('signal_streams')).toEqual(well('signal_streams'));
    await sql(`insert into signal_sets (environment_id, signal_stream_id, txn, event, data, occurred_at)
      select environment_id, id, id, 'verification', '{}', now() - interval '2 hours' from signal_streams`);
    expect((await says('signal_streams'))[0]).toMatchObject({ level: 'warning', subject: `signal_streams/${stream.id}` });
    await sql(`update signal_streams set status = 'paused', paused_by = 'limit'`);
    expect((await says('signal_streams'))[0]?.finding).toContain('was paused');
    await sql(`update signal_streams set paused_by = 'administrator'`);
    expect(await says('signal_streams')).toEqual(well('signal_streams'));
  });

  test('connections whose provider is away', async () => {
    const port = await freePort();
    const connection = await addConnection(ctx, { issuer: `http://127.0.0.1:${port}` });
    expect((await says('connections'))[0]).toMatchObject({ level: 'warning', subject: `connections/${connection.id}` });
    await sql(`update connections set status = 'disabled'`);
    expect(await says('connections')).toEqual(well('connections'));
  });

  test('connections that take assertions of the same issuer', async () => {
    const issuer = `http://127.0.0.1:${await listening(createHttpServer())}`;
    const [one, other] = [await addConnection(ctx, { issuer, assertions: 'on' }), await addConnection(ctx, { issuer, assertions: 'on' })];
    expect(await says('connections')).toMatchObject([
      { level: 'warning', subject: `connections/${one.id}`, finding: expect.stringContaining(issuer) as string },
    ]);
    await sql(`update connections set assertions = 'off' where id = '${other.id}'`);
    expect(await says('connections')).toEqual(well('connections'));
    await sql(`update connections set status = 'disabled'`);
  });

  test('certificates and metadata of SAML', async () => {
    const { certificate } = await samlKeyPair();
    const connection = await addSamlConnection(ctx, { certificate });
    const { primary } = await samlKeys(ctx);
    expect(await says('saml')).toEqual(well('saml'));
    const at = (days: number): Changes => ({ clock: { ...ctx.clock, now: () => new Date(Date.now() + days * 86_400_000) } });
    const subject = `connections/${connection.id}`;
    expect(await says('saml', at(340))).toMatchObject([{ level: 'warning', subject }]);
    expect(await says('saml', at(400))).toMatchObject([{ level: 'notice', subject }]);
    await sql(`update connections set status = 'disabled'`);
    expect((await says('saml', at(365 * 10 - 30)))[0]).toMatchObject({ level: 'warning', subject: 'saml_certificates' });
    expect(primary.expires_at.getTime()).toBeGreaterThan(Date.now());

    const url = 'https://provider.example/metadata';
    const described = await addSamlConnection(ctx, { certificate }, {}, { options: { idp_metadata_url: url } });
    const known = {
      connection_id: described.id,
      url,
      entity_id: 'a',
      sso_url: 'https://a.example',
      certificates: [certificate],
      checked_at: new Date(),
    };
    await saveSamlMetadata(ctx.scope, { ...known, pending: { ...known, entity_id: 'b' }, last_error: 'it is not well-formed' });
    expect((await says('saml')).map(({ finding }) => /names another|could not be read/.exec(finding)?.[0])).toEqual([
      'names another',
      'could not be read',
    ]);
  });

  test('domains and directories of organizations', async () => {
    const organization = await addOrganization(ctx, { name: 'initech' });
    await addDomain(ctx, organization, 'initech.example');
    const { directory } = await transaction(ctx, (tx) => createDirectory(tx, {}, organization));
    expect(await says('organizations')).toEqual(well('organizations'));
    await sql(`update organization_domains set missing_since = now() - interval '2 days'`);
    expect((await says('organizations'))[0]).toMatchObject({
      level: 'warning',
      finding: expect.stringMatching(/initech\.example.*missing since/),
    });
    await sql(`update organization_domains set status = 'failed', missing_since = null`);
    expect((await says('organizations'))[0]?.finding).toContain('was missing for two weeks');
    await sql(`update organization_domains set status = 'pending'`);
    expect(await says('organizations')).toEqual(well('organizations'));

    const requested = async (response_status: number) => {
      const now = new Date();
      const told = {
        id: uuidv7(now.getTime()),
        directory_id: directory.id,
        requested_at: now,
        method: 'GET',
        path: '/Users',
        request_id: 'r',
      };
      await insertDirectoryRequest(ctx.scope, { ...told, response_status, error: null });
    };
    for (let times = 0; times < 9; times++) await requested(400);
    expect(await says('organizations')).toEqual(well('organizations'));
    await requested(409);
    const subject = `directories/${directory.id}`;
    expect((await says('organizations'))[0]).toMatchObject({ level: 'warning', subject });
    await requested(200);
    expect(await says('organizations')).toEqual(well('organizations'));
    await sql(`update directories set last_used_at = now() - interval '31 days'`);
    expect((await says('organizations'))[0]).toMatchObject({ level: 'notice', subject });
    await sql(`update organizations set status = 'disabled'`);
    expect(await says('organizations')).toEqual(well('organizations'));
  });

  test('connections at whose provider every sign-in has failed since yesterday', async () => {
    const server = createHttpServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const connection = await addConnection(ctx, { issuer: `http://127.0.0.1:${port}` });
    const counted = (name: string, count: number, day = 'now()') =>
      sql(`insert into daily_stats values ('${ctx.environment.id}', (${day} at time zone 'utc')::date, '${name}', '${connection.id}', ${count})
        on conflict (environment_id, day, name, label) do update set count = excluded.count`);
    const yesterday = `(now() - interval '1 day')`;
    await counted('sso_failed', 2);
    expect(await says('connections')).toEqual(well('connections'));
    await counted('sso_failed', 5, yesterday);
    const [found] = await says('connections');
    expect(found).toMatchObject({ level: 'warning', subject: `connections/${connection.id}` });
    expect(found?.finding).toMatch(/^Since yesterday 7 sign-ins failed at the provider of the connection ".+", and none succeeded\.$/);
    expect(found?.fix).toMatch(new RegExp(`connections update ${connection.id} --status disabled$`));
    await counted('sso_succeeded', 1);
    expect(await says('connections')).toEqual(well('connections'));
    await sql('delete from daily_stats');
    await counted('sso_failed', 2, yesterday);
    expect(await says('connections')).toEqual(well('connections'));
    await new Promise((resolve) => server.close(resolve));
  });

  test('clients in production whose codes travel in the open: the fix keeps the other redirect URIs, and an id is no option (attack 34.797)', async () => {
    const redirect_uris = [
      'http://localhost:8080/cb',
      'http://app.example.com/cb?a=1',
      'https://app.example.com/cb',
      'http://localhost.evil.example/cb',
    ];
    const client = await addClient(ctx, { redirect_uris });
    expect(await says('clients')).toEqual(well('clients'));
    await sql(`update environments set kind = 'production'`);
    const [found] = await says('clients');
    expect(found?.fix).toBe(
      `npm run -s cli -- --url http://localhost:3000 clients update ${client.id} --redirect-uris http://localhost:8080/cb ` +
        `--redirect-uris 'https://app.example.com/cb?a=1' --redirect-uris https://app.example.com/cb --redirect-uris https://localhost.evil.example/cb`,
    );
    await addClient(ctx, { id: '--url=https://evil.example', redirect_uris: ['http://app.example.com/cb'] });
    const named = (await says('clients')).find(({ subject }) => subject?.includes('evil'));
    expect(named?.fix).toMatch(/clients update --redirect-uris https:\/\/app\.example\.com\/cb -- --url=https:\/\/evil\.example$/);
    await sql(`update clients set redirect_uris = '{"http://[::1]:1/cb","http://127.0.0.1/cb"}'`);
    expect(await says('clients')).toEqual(well('clients'));
  });

  test('agents that nobody answers for are told by environment', async () => {
    const owner = await addUser(ctx);
    const agent = await addClient(ctx, { name: 'Helper', is_agent: true, owner_id: owner.id });
    expect(await says('clients')).toEqual(well('clients'));
    await sql(`update users set status = 'blocked' where id = '${owner.id}'`);
    const [found] = await says('clients');
    expect(found?.finding).toMatch(/^Nobody answers for an agent.*"Helper"/);
    expect(found?.subject).toContain(agent.id);
    await sql(`delete from clients where id = '${agent.id}'`);
  });

  test('keys: none, no next one, one that is on its way', async () => {
    await sql(`update signing_keys set activated_at = now() - interval '95 days'`);
    expect((await says('signing_keys'))[0]?.finding).toMatch(/has signed for 95 days, and there is no next one\.$/);
    await sql(`update signing_keys set status = 'deactivated', deactivated_at = now()`);
    expect((await says('signing_keys'))[0]).toMatchObject({ level: 'problem', finding: 'There is no primary RS256 key.' });
  });

  test('settings that are weak in production', async () => {
    await sql(`update environments set kind = 'production', lockout_threshold = 500`);
    const config = {
      rateLimits: { ...ctx.config.rateLimits, enabled: false },
      allowPrivateNetwork: true,
      loopback: false,
      devMailbox: 'on',
    } as const;
    const found = await says('settings', { config });
    expect(found.map(({ level, fix }) => [level, fix])).toEqual([
      ['warning', 'RATE_LIMITS=on'],
      ['warning', `npm run -s cli -- --url http://localhost:3000 environments update ${ctx.environment.id} --lockout-threshold 10`],
      ['notice', 'ALLOW_PRIVATE_NETWORK=off'],
      ['notice', 'DEV_MAILBOX=local'],
    ]);
    await sql(`update environments set kind = 'development', lockout_threshold = 10`);
    expect((await says('settings', { config: { loopback: false, baseUrl: 'https://id.example.com' } }))[0]?.fix).toMatch(
      /--kind production$/,
    );
    expect(await says('settings')).toEqual(well('settings'));
  });

  test('nobody administers, nobody in reserve, and the password of the first start', async () => {
    expect(setupUrl(ctx)).toContain('/dashboard/setup');
    expect((await says('administrators'))[0]).toMatchObject({ level: 'problem', finding: 'Nobody administers the service.' });
    const passwords = cheapPasswords();
    const user = await addUser(ctx, {
      email: 'ada@example.com',
      email_key: 'ada@example.com',
      password_hash: await passwords.hash(password),
    });
    await sql(
      `insert into user_roles (environment_id, user_id, role_id) select environment_id, '${user.id}', id from roles where name = 'administrator'`,
    );
    const admin = { email: 'ada@example.com', password };
    const found = await says('administrators', { passwords, config: { admin } });
    expect(found.map(({ level }) => level)).toEqual(['notice', 'notice']);
    await sql(`update environments set kind = 'production'`);
    const inProduction = await says('administrators', { passwords, config: { admin } });
    expect(inProduction.map(({ level }) => level)).toEqual(['warning', 'warning']);
    const [changed] = await says('administrators', { passwords, config: { admin: { ...admin, password: 'another password' } } });
    expect(changed?.subject).toBe('roles/administrator');
    await sql(`update users set status = 'blocked'`);
    expect((await says('administrators'))[0]?.level).toBe('problem');
  });

  test('a mail server that production lacks', async () => {
    expect(await says('mail')).toEqual(well('mail'));
    await sql(`update environments set kind = 'production'`);
    expect((await says('mail'))[0]).toMatchObject({ level: 'warning', subject: 'SMTP_URL' });
  });

  test('a sealed value that was altered', async () => {
    const { webhook } = await addWebhook(ctx, 'http://127.0.0.1:9/');
    const other = createSealer(randomBytes(32).toString('base64'));
    const forged = Buffer.concat([ctx.crypto.sealer.header, other.seal('x', `webhooks/${webhook.id}`).subarray(6)]);
    await ctx.db.knex('webhooks').update({ secret_sealed: forged });
    expect((await says('secret_key'))[0]).toMatchObject({
      level: 'problem',
      finding: 'A value in webhooks is opened by none of the keys.',
    });
  });
});

describe('the look itself', () => {
  test('PostgreSQL refuses what would change something (attack 34.716)', async () => {
    const writing = readOnly(ctx.db.knex, 1000, (trx) => trx.raw('create table made_by_a_look ()'));
    await expect(writing).rejects.toThrow(/read-only transaction/);
    await expect(readOnly(ctx.db.knex, 50, (trx) => trx.raw('select pg_sleep(5)'))).rejects.toThrow();
  });

  test('a check that fails or hangs is a warning of its own, and tells no text of the error (attack 34.711)', async () => {
    const user = await addUser(ctx, { email: 'ada@example.com', email_key: 'ada@example.com', password_hash: 'x' });
    expect(user.id).toBeTruthy();
    const config = { admin: { email: 'ada@example.com', password } };
    const failing = await says('administrators', { config, passwords: { verify: () => Promise.reject(new Error('the-secret')) } });
    expect(failing).toEqual([
      {
        level: 'warning',
        finding: 'The look at "Administrators" failed (Error).',
        fix: null,
        look: 'npm run -s doctor -- --check administrators',
        subject: null,
      },
    ]);
    const hanging = await says('administrators', { config, passwords: { verify: () => new Promise<boolean>(() => {}) } });
    expect(hanging[0]?.finding).toBe('The look at "Administrators" took longer than 5.0 s.');
  });

  test('all of it together ends in time and says something of every check', async () => {
    await running();
    const { status, checks: results } = await diagnose(installation());
    expect([...new Set(results.map(({ id }) => id))]).toEqual(Object.keys(checks));
    expect(['ok', 'warning', 'problem']).toContain(status);
    for (const { level, fix, look: closer, why } of results)
      expect([fix === null && closer === null, why === null]).toEqual(
        level === 'ok' || level === 'skipped' ? [true, true] : [false, false],
      );
  });
});

describe('what is printed', () => {
  // What touches a data directory is run by test/flows/doctor-fixes.test.ts.
  needsRoot(canChangeRoot)('each fix and each look, run as it stands, leaves every file as it was (attack 34.1031)', async () => {
    const alone = printed.size === 0;
    await says('loops');
    const found = [...printed.values()].filter(({ fix, look: closer }) => fix !== null || closer !== null);
    const root = new ThrowAwayRoot();
    cleanups.push(() => root.remove());
    const commands = found.flatMap(({ fix, look: closer }) => [fix, closer]).filter((text) => text !== null && !/^[A-Z_]+$/.test(text));
    for (const command of commands) expect([command, root.run(command as string).touched]).toEqual([command, []]);
    // Of all that the tests above have found; by its name alone it is one.
    expect(commands.length).toBeGreaterThanOrEqual(alone ? 1 : 30);
    // That a change would be seen.
    expect(root.run('chown -R "$(id -u):$(id -g)" /var/lib').touched).toEqual(['/var/lib', '/var/lib/others', '/var/lib/others/kept']);
  });
});
