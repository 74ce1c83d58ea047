// Sealing anew after a change of SECRET_KEY: everything, nothing else, and whatever happens meanwhile.
import { createCipheriv, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/config.js';
import { closeDeps, createDeps, prepareDatabase } from '../../../src/process/service.js';
import { defaultContext } from '../../../src/domain/configuration/bootstrap.js';
import { transaction, type Context, type Deps } from '../../../src/domain/context.js';
import { queueMail } from '../../../src/domain/mail/mail.js';
import { createResealMemory } from '../../../src/domain/secret-key/reseal.js';
import { pendingCount, secretKeyStatus } from '../../../src/domain/secret-key/status.js';
import { secretKeyPass } from '../../../src/jobs/secret-keys.js';
import { createLogStream, rotateStreamSecret } from '../../../src/domain/log-streams/log-streams.js';
import { rotateSecret } from '../../../src/domain/webhooks/webhooks.js';
import { observeStatements } from '../../support/statements.js';
import { samlKeys } from '../../../src/domain/saml-certificates/saml-certificates.js';
import { insertPasswordHashKey } from '../../../src/db/tables/password_hash_keys.js';
import { insertIdempotencyKey } from '../../../src/db/tables/idempotency_keys.js';
import { countSealedByKey, sealedColumns } from '../../../src/db/tables/sealed_columns.js';
import { announceSecretKeys, removeSecretKeyHolder } from '../../../src/db/tables/secret_keys.js';
import { endProviderToken } from '../../../src/db/tables/provider_tokens.js';
import { providerSecretAad } from '../../../src/domain/connections/connections.js';
import { signalStreamAad } from '../../../src/domain/signals/streams.js';
import { linkIdentity } from '../../../src/domain/connections/identities.js';
import { insertTransmitterStream } from '../../../src/db/tables/transmitter_streams.js';
import { answerSsoFlow, insertSsoFlow } from '../../../src/db/tables/sso_flows.js';
import { createSealer, keyIdOf, type Sealer } from '../../../src/lib/seal.js';
import { addConnection, providerSecret } from '../../support/connections.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTotp } from '../../../src/domain/authenticators/enrolment.js';
import { startSignIn } from '../../../src/domain/sessions/half-sign-ins.js';
import { addApproval } from '../../support/approvals.js';
import { addClient, addUser } from '../../support/data.js';
import { addProviderGrant, addProviderToken } from '../../support/provider-tokens.js';
import { addSignalStream } from '../../support/signals.js';
import { addWebhook } from '../../support/webhooks.js';

type Process = { deps: Deps; log: string[]; id: string; pass(signal?: AbortSignal): Promise<boolean>; leave(): Promise<void> };

const key = () => randomBytes(32).toString('base64');
const keyOf = (secret: string) => createSealer(secret).key_id;
let stopObserving = (): void => undefined;
let database: TestDatabase;
let k1: string;
let k2: string;
const open: Process[] = [];

/** A process with its keys, but without its loops. */
async function start(secretKey: string, ...previous: string[]): Promise<Process> {
  const log: string[] = [];
  const config = readConfig(previous.length > 0 ? { SECRET_KEY_PREVIOUS: previous.join() } : {});
  const logger = pino({ base: null }, { write: (line: string) => void log.push(line) });
  const deps = createDeps(config, logger, { url: database.url, directUrl: database.url, secretKey });
  await prepareDatabase(deps, database.url);
  const id = randomUUID();
  const memory = createResealMemory();
  const process = {
    deps,
    log,
    id,
    pass: (signal?: AbortSignal) => secretKeyPass(deps, id, { memory, ...(signal && { signal }) }),
    leave: () => removeSecretKeyHolder(deps.db.knex, id),
  };
  open.push(process);
  return process;
}

type Event = { event: string; key_id?: string; pending?: number; resealed?: number; values?: number; may_go_at?: string; msg: string };
const events = ({ log }: Process, name?: string) =>
  log
    .map((line) => JSON.parse(line) as Event)
    .filter(({ event }) => event?.startsWith('secret_key.') && (name === undefined || event === name));

/** Something in every sealed column, sealed by the process. */
async function fill({ deps }: Process, mails = 3): Promise<Context> {
  const ctx = await defaultContext(deps);
  const hook = await addWebhook(ctx, 'http://127.0.0.1:9/');
  await transaction(ctx, (tx) => rotateSecret(tx, hook.webhook.id));
  const given = {
    name: 'SIEM',
    url: 'http://127.0.0.1:9/',
    format: 'native',
    sources: ['security_events'],
    authorization: 'Bearer siem',
  } as const;
  const { stream } = await transaction(ctx, (tx) => createLogStream(tx, given));
  await transaction(ctx, (tx) => rotateStreamSecret(tx, stream.id));
  const connection = await addConnection(ctx, { token_storage: true });
  const signals_token_sealed = ctx.crypto.sealer.seal('token', providerSecretAad(connection.id));
  await ctx.db.knex('connections').where({ id: connection.id }).update({ signals_token_sealed });
  const now = ctx.clock.now();
  await samlKeys(ctx);
  const state_digest = randomBytes(32);
  await insertSsoFlow(ctx.scope, {
    state_digest,
    browser_digest: randomBytes(32),
    connection_id: connection.id,
    content_sealed: ctx.crypto.sealer.seal('{}', `sso_flows/${connection.id}`),
    expires_at: new Date(now.getTime() + 600_000),
  });
  const answer_sealed = ctx.crypto.sealer.seal('{}', `sso_flows/${connection.id}`);
  await answerSsoFlow(ctx.scope, { state_digest, connection_id: connection.id, answer_sealed }, now);
  const key_id = randomUUID();
  await insertPasswordHashKey(ctx.scope, {
    id: key_id,
    key_sealed: ctx.crypto.sealer.seal('{}', `password_hash_keys/${key_id}`),
    created_at: now,
  });
  const user = await addUser(ctx);
  await startTotp(ctx, { user_id: user.id, name: 'Phone' });
  const account = { connection_id: connection.id, generation: 1, subject: 's', email: null, claims: {} };
  const client = await addClient(ctx);
  await addProviderGrant(ctx, client.id, connection.id);
  const signals = await addSignalStream(ctx, client.id);
  const authorization_sealed = ctx.crypto.sealer.seal('Bearer x', signalStreamAad(signals.id));
  await ctx.db.knex('signal_streams').where({ id: signals.id }).update({ authorization_sealed });
  await insertTransmitterStream(ctx.scope, {
    connection_id: connection.id,
    stream_id: 'kept',
    issuer: 'https://transmitter.example',
    receiver_url: 'https://here.example',
    audience: ['us'],
    configuration_endpoint: 'https://transmitter.example/streams',
    signals_token_sealed: ctx.crypto.sealer.seal('x', providerSecretAad(connection.id)),
    created_at: now,
  });
  await addApproval(ctx, client.id, user.id);
  for (const subject of ['kept', 'to be revoked']) {
    const identity = await linkIdentity(ctx, user.id, { ...account, subject });
    const id = await addProviderToken(ctx, { identity, client_id: client.id });
    if (subject === 'kept') continue;
    await ctx.db.knex('provider_tokens').where({ id }).update({ revocation_endpoint: 'http://127.0.0.1:9/revoke' });
    await endProviderToken(ctx.scope, { id, user_id: null, now });
  }
  await startSignIn(ctx, {
    user_id: user.id,
    stage: 'verify',
    proofs: [],
    provider_account: { account, provider: 'Corp', by_word: false },
  });
  const digest = randomBytes(32);
  await insertIdempotencyKey(ctx.scope, {
    digest,
    fingerprint: randomBytes(32),
    reply_sealed: ctx.crypto.sealer.seal('{}', `idempotency_keys/${digest.toString('hex')}`),
    created_at: now,
  });
  const origin = { ip_address: null, user_agent: null };
  for (let i = 0; i < mails; i++)
    await queueMail(ctx, {
      template: 'password_changed',
      to: `${i}@example.com`,
      locale: null,
      model: { reset_url: 'http://localhost' },
      origin,
    });
  return ctx;
}

/** Every sealed value that there is, with its AAD. */
async function allSealed({ db: { knex } }: Deps) {
  const found: { column: string; aad: never; sealed: Buffer; row: Record<string, unknown> }[] = [];
  for (const { table, column, aadColumn, aadTable = table } of sealedColumns) {
    const rows = (await knex(table).whereNotNull(column)) as Record<string, unknown>[];
    for (const { [column]: sealed, ...row } of rows) {
      const where = row[aadColumn] as string | Buffer;
      const name = `${aadTable}/${typeof where === 'string' ? where : where.toString('hex')}`;
      if ((sealed as Buffer).length > 0) found.push({ column: `${table}.${column}`, aad: name as never, sealed: sealed as Buffer, row });
    }
  }
  return found;
}

/** Rows that were updated come in another order. */
const opened = async (deps: Deps, sealer: Sealer) => (await allSealed(deps)).map(({ sealed, aad }) => sealer.open(sealed, aad)).sort();

/** As releases before values named their key sealed it. */
function sealUnnamed(secretKey: string, plain: string, aad: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(hkdfSync('sha256', Buffer.from(secretKey, 'base64'), '', 'seal', 32)), iv);
  cipher.setAAD(Buffer.from(aad));
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]);
}

/** Runs `work` once, right before the next statement that replaces values of the table. */
function beforeReplacing(table: string, work: () => Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const knex = open[0]?.deps.db.knex;
    const client = knex?.client as { acquireConnection(): Promise<unknown> };
    stopObserving = observeStatements((text) => {
      if (!text.includes(`update ${table} t set`)) return;
      stopObserving();
      const acquire = client.acquireConnection.bind(client);
      // The statement waits for a connection: meanwhile somebody else is faster.
      client.acquireConnection = async () => {
        client.acquireConnection = acquire;
        await work();
        resolve();
        return acquire();
      };
    });
  });
}

beforeEach(async () => {
  database = await createTestDatabase();
  [k1, k2] = [key(), key()];
});
afterEach(async () => {
  stopObserving();
  for (const { deps } of open.splice(0)) await closeDeps(deps);
  await database.drop();
});

test('the list of sealed columns is what the schema has: no column of bytes is forgotten', async () => {
  const { deps } = await start(k1);
  const { rows } = await deps.db.knex.raw<{ rows: { name: string }[] }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and (udt_name in ('bytea', '_bytea') or column_name ~ 'sealed') order by 1`,
  );
  // Bytes that are not sealed are digests, by their name; what requests are counted by; and images, which everybody sees.
  const open = ['rate_limits.key', 'logos.image', 'user_import_chunks.data'];
  const sealed = rows.map(({ name }) => name).filter((name) => !/\.(\w+_)?(digests?|fingerprint)$/.test(name) && !open.includes(name));
  expect(sealed).toEqual(sealedColumns.map(({ table, column }) => `${table}.${column}`).sort());
});

describe('after a change of the key', () => {
  test('every value is sealed anew and nothing else changes; then the log says that the old key may go', async () => {
    const first = await start(k1);
    await fill(first);
    expect(await first.pass()).toBe(false);
    await first.leave();
    const second = await start(k2, k1);
    const before = await allSealed(second.deps);
    const plain = await opened(second.deps, second.deps.crypto.sealer);
    expect(new Set(before.map(({ column }) => column))).toEqual(new Set(sealedColumns.map(({ table, column }) => `${table}.${column}`)));
    expect(before.map(({ sealed }) => keyIdOf(sealed))).toEqual(before.map(() => keyOf(k1)));

    expect(await second.pass()).toBe(false);
    const after = await allSealed(second.deps);
    expect(after.map(({ sealed }) => keyIdOf(sealed))).toEqual(after.map(() => keyOf(k2)));
    expect(await opened(second.deps, createSealer(k2))).toEqual(plain);
    expect(plain).toContain(providerSecret);
    const withoutOther = (rows: typeof after) =>
      rows.map(({ column, row }) => [column, Object.entries(row).filter(([name]) => !name.endsWith('sealed'))]);
    expect(withoutOther(after)).toEqual(withoutOther(before));

    expect(events(second, 'secret_key.resealing')).toMatchObject([{ key_id: keyOf(k2), pending: before.length }]);
    expect(events(second, 'secret_key.resealed')).toMatchObject([{ resealed: before.length, pending: 0 }]);
    const [unused] = events(second, 'secret_key.unused').filter(({ key_id }) => key_id === keyOf(k1));
    expect(unused?.msg).toContain(`nothing is sealed with key ${keyOf(k1)} any more`);
    const day = 86_400_000;
    expect(Math.abs(new Date(unused?.may_go_at ?? 0).getTime() - (Date.now() + day))).toBeLessThan(60_000);
    const [target, earlier] = await secretKeyStatus(second.deps);
    expect([target, earlier]).toMatchObject([
      { id: keyOf(k2), seals: true, may_go_at: null },
      { id: keyOf(k1), seals: false, pending_count: 0, may_go_at: new Date(unused?.may_go_at ?? 0) },
    ]);
    expect(await second.deps.metrics.render()).toContain('\nsealed_rows_pending 0\n');

    // From now on a pass reads a few rows, and no sealed column.
    const texts: string[] = [];
    stopObserving = observeStatements((text) => void texts.push(text));
    await second.pass();
    expect(texts.filter((text) => text.includes('sealed'))).toEqual([]);
    // The old key is needed no more.
    await second.leave();
    expect(await opened((await start(k2)).deps, createSealer(k2))).toEqual(plain);
  });

  test('values of before they named their key, under whichever listed one', async () => {
    const first = await start(k1);
    await fill(first);
    const plain = await opened(first.deps, first.deps.crypto.sealer);
    for (const { table, column, key: name, aadColumn, aadTable = table } of sealedColumns) {
      for (const row of (await first.deps.db.knex(table).whereNotNull(column)) as Record<string, unknown>[]) {
        const where = row[aadColumn] as string | Buffer;
        const at = `${aadTable}/${typeof where === 'string' ? where : where.toString('hex')}`;
        const sealed = sealUnnamed(k1, first.deps.crypto.sealer.open(row[column] as Buffer, at as never), at);
        await first.deps.db
          .knex(table)
          .where({ [name]: row[name] as string })
          .update({ [column]: sealed });
      }
    }
    expect(await countSealedByKey(first.deps.db.knex)).toEqual(new Map([['unnamed', plain.length]]));
    const second = await start(k2, k1);
    // Processes of the release before may be at work, which know no other form.
    await second.pass();
    expect(await countSealedByKey(second.deps.db.knex)).toEqual(new Map([['unnamed', plain.length]]));
    await second.deps.db
      .knex('secret_keys')
      .where({ id: 'unnamed' })
      .update({ created_at: second.deps.db.knex.raw("now() - interval '61 minutes'") });
    await second.pass();
    expect(await countSealedByKey(second.deps.db.knex)).toEqual(new Map([[keyOf(k2), plain.length]]));
    expect(await opened(second.deps, createSealer(k2))).toEqual(plain);
    expect(events(second, 'secret_key.unused').map(({ msg }) => msg)).toContain('every sealed value names its key now');
  });

  test('what somebody changes meanwhile stays as it was changed', async () => {
    const first = await start(k1);
    const ctx = await fill(first);
    const second = await start(k2, k1);
    open.unshift(second);
    const sealed = ctx.crypto.sealer.seal('changed', `connections/${(await second.deps.db.knex('connections').first('id')).id}`);
    const changed = beforeReplacing('connections', () =>
      first.deps.db.knex('connections').update({ provider_client_secret_sealed: sealed }),
    );
    await second.pass();
    await changed;
    expect((await second.deps.db.knex('connections').first()).provider_client_secret_sealed).toEqual(sealed);
    expect((await countSealedByKey(second.deps.db.knex)).get(keyOf(k1))).toBe(1);
    expect(events(second, 'secret_key.unused').filter(({ key_id }) => key_id === keyOf(k1))).toEqual([]);
    await second.pass();
    expect((await countSealedByKey(second.deps.db.knex)).get(keyOf(k1))).toBeUndefined();
    open.shift();
  });

  test('a row that somebody holds is left for the next pass; nobody waits', async () => {
    const first = await start(k1);
    await fill(first);
    const second = await start(k2, k1);
    const held = await first.deps.db.knex.transaction();
    await held('webhooks').update({ name: 'Held' });
    const started = performance.now();
    await second.pass();
    expect(performance.now() - started).toBeLessThan(4_000);
    expect((await countSealedByKey(second.deps.db.knex)).get(keyOf(k1))).toBe(2);
    await held.commit();
    await second.pass();
    expect([...(await countSealedByKey(second.deps.db.knex)).keys()]).toEqual([keyOf(k2)]);
    expect((await second.deps.db.knex('webhooks').first()).name).toBe('Held');
  });

  test('a pass that is stopped half-way leaves everything open to whoever has both keys; the next one goes on', async () => {
    const first = await start(k1);
    // The approval brings a mail of its own.
    await fill(first, 449);
    const second = await start(k2, k1);
    const plain = await opened(second.deps, second.deps.crypto.sealer);
    const stop = new AbortController();
    stopObserving = observeStatements((text) => {
      if (text.includes('update mails t set')) stop.abort();
    });
    expect(await second.pass(stop.signal)).toBe(false);
    const counts = await countSealedByKey(second.deps.db.knex);
    expect(counts.get(keyOf(k1))).toBe(250);
    expect(await opened(second.deps, second.deps.crypto.sealer)).toEqual(plain);
    expect(pendingCount(await secretKeyStatus(second.deps))).toBe(250);
    expect(await second.deps.metrics.render()).toContain('\nsealed_rows_pending 250\n');
    expect(events(second, 'secret_key.unused').filter(({ key_id }) => key_id === keyOf(k1))).toEqual([]);
    stopObserving();
    await second.pass();
    expect(await opened(second.deps, createSealer(k2))).toEqual(plain);
  });

  test('two processes at once: each value is sealed anew once', async () => {
    const first = await start(k1);
    await fill(first, 300);
    const [one, other] = [await start(k2, k1), await start(k2, k1)];
    const total = (await allSealed(one.deps)).length;
    await Promise.all([one.pass(), other.pass()]);
    const resealed = [one, other].flatMap((process) => events(process, 'secret_key.resealed').map((event) => event.resealed ?? 0));
    expect(resealed.reduce((sum, count) => sum + count, 0)).toBe(total);
    expect(await countSealedByKey(one.deps.db.knex)).toEqual(new Map([[keyOf(k2), total]]));
  });
});

describe('while processes with different keys are at work', () => {
  test('the one whose key is older seals nothing anew; its key is needed until it has ended', async () => {
    const first = await start(k1, k2);
    await fill(first);
    await first.pass();
    const second = await start(k2, k1);
    await second.pass();
    const total = (await allSealed(second.deps)).length;
    expect(await countSealedByKey(second.deps.db.knex)).toEqual(new Map([[keyOf(k2), total]]));
    await first.pass();
    expect(await countSealedByKey(second.deps.db.knex)).toEqual(new Map([[keyOf(k2), total]]));
    await fill(first);
    await second.pass();
    expect([...(await countSealedByKey(second.deps.db.knex)).keys()]).toEqual([keyOf(k2)]);
    const unused = () => events(second, 'secret_key.unused').filter(({ key_id }) => key_id === keyOf(k1));
    expect(unused()).toEqual([]);
    await first.leave();
    await second.pass();
    expect(unused()).toHaveLength(1);
    // Killed processes leave their row behind: after a minute and a half it counts no longer.
    await announceSecretKeys(first.deps.db.knex, { id: first.id, sealing_key: keyOf(k1), opening_keys: [keyOf(k1), keyOf(k2)] });
    await second.pass();
    expect(unused()).toHaveLength(1);
    await first.deps.db
      .knex('secret_key_holders')
      .where({ id: first.id })
      .update({ seen_at: first.deps.db.knex.raw("now() - interval '91 seconds'") });
    await second.pass();
    expect(unused()).toHaveLength(2);
  });

  test('nothing is sealed anew while one of them could not open it: the log names what to do', async () => {
    const first = await start(k1);
    await fill(first);
    await first.pass();
    const second = await start(k2, k1);
    const counts = await countSealedByKey(second.deps.db.knex);
    expect(await second.pass()).toBe(false);
    expect(await second.pass()).toBe(false);
    expect(await countSealedByKey(second.deps.db.knex)).toEqual(counts);
    // Said once, not at every pass.
    expect(events(second, 'secret_key.waiting').map(({ msg }) => msg)).toEqual([
      expect.stringContaining('add it to their SECRET_KEY_PREVIOUS'),
    ]);
    await first.leave();
    await second.pass();
    expect([...(await countSealedByKey(second.deps.db.knex)).keys()]).toEqual([keyOf(k2)]);
  });

  test('the next key, listed beforehand, is not called unused for good, and nothing is sealed with it', async () => {
    const first = await start(k1, k2);
    await fill(first);
    await first.pass();
    expect(events(first, 'secret_key.unused').map(({ msg }) => msg)).not.toContainEqual(expect.stringContaining('taken out'));
    expect([...(await countSealedByKey(first.deps.db.knex)).keys()]).toEqual([keyOf(k1)]);
  });

  test('a key that is taken back is the newest again once no process seals with the later one', async () => {
    const first = await start(k1, k2);
    await fill(first);
    await first.pass();
    const second = await start(k2, k1);
    await second.pass();
    await second.leave();
    await first.pass();
    expect([...(await countSealedByKey(first.deps.db.knex)).keys()]).toEqual([keyOf(k2)]);
    await first.deps.db
      .knex('secret_keys')
      .where({ id: keyOf(k2) })
      .update({ sealing_seen_at: first.deps.db.knex.raw("now() - interval '11 minutes'") });
    await first.pass();
    expect([...(await countSealedByKey(first.deps.db.knex)).keys()]).toEqual([keyOf(k1)]);
  });
});

test('values that no key opens are counted and named, hold nothing else up, and no key is called unused for them', async () => {
  const first = await start(k1);
  await fill(first);
  const lost = createSealer(key());
  const [mail] = (await first.deps.db.knex('mails').select('id')) as { id: string }[];
  await first.deps.db
    .knex('mails')
    .where({ id: mail?.id })
    .update({ sealed: lost.seal('x', `mails/${mail?.id}`) });
  const second = await start(k2, k1);
  await second.pass();
  const counts = await countSealedByKey(second.deps.db.knex);
  expect(counts).toEqual(
    new Map([
      [keyOf(k2), (await allSealed(second.deps)).length - 1],
      [lost.key_id, 1],
    ]),
  );
  expect(events(second, 'secret_key.missing')).toMatchObject([{ key_id: lost.key_id, values: 1 }]);
  // The tables aren't walked through for them at every pass; a process that starts, perhaps with the key, tries at once.
  await second.pass();
  expect(events(second, 'secret_key.resealing')).toHaveLength(1);
  const third = await start(k2, k1);
  await third.pass();
  expect(events(third, 'secret_key.missing')).toHaveLength(1);
  expect(await secretKeyStatus(second.deps)).toContainEqual({
    id: lost.key_id,
    seals: false,
    has_sealed: false,
    pending_count: 1,
    may_go_at: null,
  });
});
