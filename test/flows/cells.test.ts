// Cells: a host of none of a cell's environments, and an environment that is held because it moves to another cell (specification 24.1, 24.2).
import { beforeAll, describe, expect, test } from 'vitest';
import { digestTables, listMovedTables } from '../../src/db/cells/moved-tables.js';
import { transaction, type Context } from '../../src/domain/context.js';
import { queueMail } from '../../src/domain/mail/mail.js';
import { noOrigin } from '../../src/domain/origin.js';
import { accountDeletionPass } from '../../src/jobs/account-deletions.js';
import { flushClientUse } from '../../src/domain/clients/use.js';
import { flushDailyStats } from '../../src/jobs/daily-stats.js';
import { domainCheckPass } from '../../src/jobs/domain-checks.js';
import { numberEventsOnce } from '../../src/jobs/event-feed.js';
import { janitorPass } from '../../src/jobs/janitor.js';
import { rotationPass } from '../../src/jobs/key-rotation.js';
import { samlMetadataPass } from '../../src/jobs/saml-metadata.js';
import { signalPollsPass } from '../../src/jobs/signal-polls.js';
import { unusedAuthorizationPass } from '../../src/jobs/unused-authorizations.js';
import { unusedClientPass } from '../../src/jobs/unused-clients.js';
import { unusedLogoPass } from '../../src/jobs/unused-logos.js';
import { userImportPass } from '../../src/process/user-imports.js';
import { addClient, addEnvironment } from '../support/data.js';
import { onConnection } from '../support/database.js';
import { fromAddress } from '../support/from-address.js';
import { manage, startManagedService } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { startReceiver } from '../support/receiver.js';
import { shared, sharedService } from '../support/shared-service.js';
import { startTestService, type TestService } from '../support/service.js';
import { addWebhook, emitRoles, eventually } from '../support/webhooks.js';

const inCell = sharedService(() => startTestService({ CELL: 'north' }));
const alone = sharedService(() => startManagedService());
const acme = shared(() => addEnvironment(inCell.deps, 'acme'));

const ask = (service: TestService, host: string | null, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fromAddress('127.0.0.1', `${service.url}${path}`, { method, headers: { ...(host !== null && { host }), ...headers } });
const hostOf = ({ environment }: Context) => new URL(environment.base_url).host;
const discovery = '/.well-known/openid-configuration';

describe('a host of none of the cell’s environments', () => {
  const stranger = 'stranger.example';

  test('is answered 421 in the dialect of each surface, never by the default environment (attack 62.1840)', async () => {
    for (const path of [discovery, '/oauth/jwks']) {
      const { status, text } = await ask(inCell, stranger, path);
      expect([path, status, JSON.parse(text).error]).toEqual([path, 421, 'misdirected_request']);
    }
    const token = await ask(inCell, stranger, '/oauth/token', {}, 'POST');
    expect([token.status, JSON.parse(token.text).error]).toEqual([421, 'misdirected_request']);
    const api = await ask(inCell, stranger, '/api/users');
    expect([api.status, api.headers['content-type'], JSON.parse(api.text).errors[0].code]).toEqual([
      421,
      'application/vnd.api+json',
      'misdirected_request',
    ]);
    const scim = await ask(inCell, stranger, '/scim/v2/x/Users');
    expect([scim.status, JSON.parse(scim.text).status]).toEqual([421, '421']);
    for (const path of ['/login', '/dashboard', '/docs', '/', '/logos/x.png', '/dev/mailbox', '/saml/metadata', '/setup/x']) {
      const page = await ask(inCell, stranger, path, { accept: 'text/html', 'accept-language': 'de' });
      expect([path, page.status, page.text.includes('Diese Adresse wird anderswo bedient.')]).toEqual([path, 421, true]);
    }
    expect((await ask(inCell, `other.${new URL(inCell.url).host}`, discovery)).status).toBe(421);
  });

  test('leaves health, readiness and metrics alone, and each environment at its own hosts', async () => {
    for (const path of ['/healthz', '/readyz']) expect((await ask(inCell, stranger, path)).status).toBe(200);
    expect((await ask(inCell, null, '/metrics')).status).toBe(200);
    expect(JSON.parse((await ask(inCell, null, discovery)).text).issuer).toBe(inCell.url);
    expect(JSON.parse((await ask(inCell, hostOf(acme), discovery)).text).issuer).toBe(acme.environment.base_url);
  });

  test('is the default environment’s where there are no cells', async () =>
    expect(JSON.parse((await ask(alone, stranger, discovery)).text).issuer).toBe(alone.url));
});

describe('an environment that is held', () => {
  const hold = (ctx: Context, held_at: Date | null, moved_at: Date | null = null) =>
    ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ held_at, moved_at });

  test('is answered 503 with Retry-After at every surface until it is let go, and no other is (attack 62.1841)', async () => {
    const ctx = await addEnvironment(inCell.deps, 'held');
    const paths = [discovery, '/oauth/jwks', '/api/users', '/login', '/dashboard', '/oauth/userinfo', '/scim/v2/x/Users'];
    const statuses = () => Promise.all(paths.map(async (path) => (await ask(inCell, hostOf(ctx), path)).status));
    expect((await statuses()).includes(503)).toBe(false);
    await hold(ctx, new Date());
    await expect.poll(statuses, { timeout: 5000 }).toEqual(paths.map(() => 503));
    expect((await ask(inCell, hostOf(ctx), '/oauth/jwks')).headers['retry-after']).toBe('3');
    expect((await ask(inCell, null, discovery)).status).toBe(200);
    await hold(ctx, null);
    await expect.poll(async () => (await ask(inCell, hostOf(ctx), discovery)).status, { timeout: 5000 }).toBe(200);
  });

  test('that has moved is answered 503 for a minute, then 421, also where there are no cells', async () => {
    const ctx = await addEnvironment(alone.deps, 'moved');
    await hold(ctx, new Date(), new Date());
    await expect.poll(async () => (await ask(alone, hostOf(ctx), discovery)).status, { timeout: 5000 }).toBe(503);
    await hold(ctx, new Date(), new Date(Date.now() - 60_000));
    await expect.poll(async () => (await ask(alone, hostOf(ctx), discovery)).status, { timeout: 5000 }).toBe(421);
  });

  test('has its deliveries and mail wait, and others have theirs', async () => {
    const receiver = await startReceiver();
    try {
      const [held, other] = [await addEnvironment(alone.deps, 'waits'), await addEnvironment(alone.deps, 'goes')];
      for (const ctx of [held, other]) await addWebhook(ctx, `${receiver.url}/${ctx.environment.slug}`, { events: ['role.created'] });
      await hold(held, new Date());
      await eventually(async () => (await ask(alone, hostOf(held), discovery)).status === 503);
      for (const ctx of [held, other]) await emitRoles(ctx, 3);
      const mail = { template: 'password_changed', to: 'ada@example.com', locale: null, origin: noOrigin } as const;
      for (const ctx of [held, other])
        await transaction(ctx, (tx) => queueMail(tx, { ...mail, model: { reset_url: 'https://x.example' } }));
      const mailed = async ({ db, environment }: Context) =>
        (await db.knex('mails').where({ environment_id: environment.id }).first('status')).status;
      const paths = () => receiver.posts.map(({ path }) => path);
      await eventually(async () => paths().filter((path) => path === '/goes').length === 3);
      await expect.poll(() => mailed(other)).toBe('sent');
      expect(paths()).not.toContain('/waits');
      expect(await mailed(held)).toBe('pending');
      await hold(held, null);
      await eventually(async () => paths().filter((path) => path === '/waits').length === 3);
      await expect.poll(() => mailed(held)).toBe('sent');
    } finally {
      await receiver.close();
    }
  });
});

describe('what a process has noted in memory', () => {
  const service = sharedService(() => startTestService({ BACKGROUND_WORK: 'off' }));

  test('is written once its environment is held, before nothing can be any more (attack 66.1902)', async () => {
    const ctx = await addEnvironment(service.deps, 'noted');
    const client = await addClient(ctx);
    const environment_id = ctx.environment.id;
    const at = service.clock.now();
    // What was noted of others is written before: the next pause has begun.
    await Promise.all([flushDailyStats(service.deps), flushClientUse(service.deps)]);
    service.deps.metrics.daily.add(environment_id, 'sign_ins', 'password', 3);
    service.deps.notes.clientUse.note(environment_id, client.id, at);
    await ctx.db
      .knex('environments')
      .where({ id: environment_id })
      .update({ held_at: ctx.db.knex.raw('clock_timestamp()') });
    const one = (table: string, column: string, key = {}) =>
      ctx.db
        .knex(table)
        .where({ environment_id, ...key })
        .first(column);
    await expect.poll(() => one('daily_stats', 'count')).toEqual({ count: 3 });
    await expect.poll(() => one('clients', 'last_used_at', { id: client.id })).toEqual({ last_used_at: at });
  });
});

describe('what goes by the clock', () => {
  const service = sharedService(() => startManagedService());
  let ctx: Context;
  beforeAll(async () => {
    await oneOfEach(service, await manage(service.url));
    ctx = await service.context();
  });

  const passes = async () => {
    const { deps } = service;
    await janitorPass(deps);
    await accountDeletionPass(deps);
    await domainCheckPass(deps);
    await rotationPass(deps);
    await samlMetadataPass(deps);
    await signalPollsPass(deps, new Map());
    await unusedAuthorizationPass(deps);
    await unusedClientPass(deps);
    await unusedLogoPass(deps);
    await numberEventsOnce(deps);
    await userImportPass(deps);
  };

  test('changes no row of a held environment, and does once it is let go (attack 62.1842)', async () => {
    const look = () =>
      onConnection(service.databaseUrl, async (client) => digestTables(client, await listMovedTables(client), ctx.environment.id));
    // For so long that what is noted in memory isn't written any more either.
    await ctx.db
      .knex('environments')
      .where({ id: ctx.environment.id })
      .update({ held_at: new Date(Date.now() - 5000) });
    await eventually(async () => (await ask(service, null, discovery)).status === 503);
    await emitRoles(ctx, 2);
    service.clock.advance(500 * 86_400_000);
    const before = await look();
    await passes();
    expect(await look()).toEqual(before);
    await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ held_at: null });
    await eventually(async () => (await ask(service, null, discovery)).status === 200);
    await passes();
    const after = await look();
    const changed = after.filter((one, index) => one.digest !== before[index]?.digest).map(({ name }) => name);
    expect(changed).toEqual(expect.arrayContaining(['audit_logs', 'sessions', 'signing_keys']));
  });
});
