// Introspection and userinfo over a real streaming standby: it answers as long as it is known to be at most a second behind.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { transaction, type Context } from '../../src/domain/context.js';
import { accessTokenValue, seedAccessToken } from '../../src/domain/tokens/access-token.js';
import { createReplica } from '../../src/db/postgres/replica.js';
import { observeStatements } from '../support/statements.js';
import { insertUser } from '../../src/db/tables/users.js';
import { uuidv7 } from '../../src/lib/random.js';
import { Browser } from '../support/browser.js';
import { addClient, addGrant, addResource, addUser, password, type TestClient } from '../support/data.js';
import { authorizeCode, oauthPost, redeem, tokenRequest, type TokenAnswer } from '../support/oauth.js';
import { startTestService, type TestService } from '../support/service.js';
import { startPrimaryWithStandby, type PrimaryWithStandby } from '../support/standby.js';
import { eventually } from '../support/webhooks.js';

let servers: PrimaryWithStandby;
let service: TestService;
let ctx: Context;
let client: TestClient;
let machine: TestClient;
let browser: Browser;
/** Statements that look tokens up and reached the primary. */
let stopObserving: (() => void) | undefined;
let ofPrimary = 0;

const lookUps = /from access_tokens t|as token\s+left join users/;

beforeAll(async () => {
  servers = await startPrimaryWithStandby();
  const secretKey = randomBytes(32).toString('base64');
  service = await startTestService(
    { DATABASE_URL: servers.url, DATABASE_REPLICA_URL: servers.standbyUrl, SECRET_KEY: secretKey },
    { database: { url: servers.url, secretKey } },
  );
  ctx = await service.context();
  client = await addClient(ctx);
  machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'] });
  for (const token_format of ['jwt', 'opaque'] as const) {
    await addGrant(ctx, machine, await addResource(ctx, { identifier: `https://${token_format}.example`, token_format }));
  }
  const user = await addUser(ctx);
  browser = new Browser(service.url);
  await browser.login(user.email, password);
  stopObserving = observeStatements((text) => void (ofPrimary += lookUps.test(text) ? 1 : 0));
});
afterAll(async () => {
  stopObserving?.();
  await service?.stop();
  await servers?.stop();
});

const machineToken = async (format: 'jwt' | 'opaque') =>
  (await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: `https://${format}.example` })).body.access_token;
const userTokens = async () => (await redeem(service.url, client, await authorizeCode(browser, client))).body;
const revoke = (token: string, as = client) => oauthPost(service.url, '/oauth/revoke', as, { token });

async function introspect(token: string): Promise<TokenAnswer['body']> {
  const answer = await oauthPost(service.url, '/oauth/introspect', client, { token });
  expect(answer.status).toBe(200);
  return answer.body;
}
const isActive = async (token: string) => (await introspect(token))['active'] === true;

/** How often look-ups ended with the result. */
async function counted(result: string): Promise<number> {
  const { values } = await (
    service.deps.metrics.registry.getSingleMetric('database_replica_lookups_total') as unknown as {
      get(): Promise<{ values: { labels: { result: string }; value: number }[] }>;
    }
  ).get();
  return values.find(({ labels }) => labels.result === result)?.value ?? 0;
}

/** Introspects until one of the look-ups ended with the result, and says what that one answered. */
const lookedUp = (token: string, result: string) =>
  eventually(async () => {
    const before = await counted(result);
    const body = await introspect(token);
    return (await counted(result)) > before ? body : null;
  });

/** The standby has replayed what is committed now. */
async function caughtUp(): Promise<void> {
  const [noted] = await servers.ask('primary', 'select pg_current_wal_flush_lsn()::text as lsn');
  await eventually(async () => {
    const [row] = await servers.ask('standby', `select pg_last_wal_replay_lsn() >= '${String(noted?.['lsn'])}' as reached`);
    return row?.['reached'] === true;
  });
}

/** The state lasts from a second after `since` on, over some more introspections. */
async function deadFor(token: string, since: number): Promise<void> {
  await eventually(async () => performance.now() - since >= 1000);
  for (let i = 0; i < 20; i++) expect(await isActive(token)).toBe(false);
}

test.each(['jwt', 'opaque'] as const)('a machine token, %s: the replica answers, and the primary is not asked', async (format) => {
  const token = await machineToken(format);
  await caughtUp();
  await lookedUp(token, 'served');
  expect(await lookedUp(token, 'served')).toMatchObject({ active: true, client_id: machine.id, scope: 'read write' });
  // Of ten, all: unless the machine stalls just then.
  await expect.poll(async () => {
    const asked = ofPrimary;
    const served = await counted('served');
    for (let i = 0; i < 10; i++) expect(await isActive(token)).toBe(true);
    return [ofPrimary - asked, (await counted('served')) - served];
  }).toEqual([0, 10]); // prettier-ignore
});

test('metrics tell how far it is behind', async () => {
  const metrics = await service.deps.metrics.registry.metrics();
  const [, seconds] = /^database_replica_behind_seconds\{used_for="look_ups"\} (\S+)$/m.exec(metrics) ?? [];
  expect(Number(seconds)).toBeGreaterThan(0);
});

test("a user's token", async () => {
  const { access_token } = await userTokens();
  await caughtUp();
  expect(await lookedUp(access_token, 'served')).toMatchObject({ active: true, client_id: client.id });
});

const askUserinfo = (token: string) => fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${token}` } });

test('userinfo: the replica answers, and knows a revoked token within a second', async () => {
  const { id } = await addUser(ctx, { email: 'info@example.com' });
  const signedIn = new Browser(service.url);
  await signedIn.login('info@example.com', password);
  const { access_token } = (await redeem(service.url, client, await authorizeCode(signedIn, client))).body;
  await caughtUp();
  await expect.poll(async () => {
    const [asked, served] = [ofPrimary, await counted('served')];
    const answer = await askUserinfo(access_token);
    expect([answer.status, (await answer.json()).sub]).toEqual([200, id]);
    return [ofPrimary - asked, (await counted('served')) - served];
  }).toEqual([0, 1]); // prettier-ignore
  await revoke(access_token);
  const since = performance.now();
  await eventually(async () => performance.now() - since >= 1000);
  expect((await askUserinfo(access_token)).status).toBe(401);
});

test('the Management API and refresh ask the primary', async () => {
  const { access_token, refresh_token } = await userTokens();
  await caughtUp();
  await lookedUp(access_token, 'served');
  const served = await counted('served');
  const api = await fetch(`${service.url}/api/users`, { headers: { authorization: `Bearer ${access_token}` } });
  expect([401, 403]).toContain(api.status);
  const refreshed = await tokenRequest(service.url, client, { grant_type: 'refresh_token', refresh_token: refresh_token as string });
  expect(refreshed.status).toBe(200);
  expect(await counted('served')).toBe(served);
});

test('what the replica does not have yet is looked up on the primary: tokens of this moment are active', async () => {
  const known = await machineToken('jwt');
  const now = ctx.clock.now();
  const { password_hash } = await addUser(ctx);
  const userJwt = (sub: string) =>
    accessTokenValue(ctx, {
      seed: seedAccessToken(ctx),
      format: 'jwt',
      sub,
      client_id: client.id,
      scope: 'openid',
      audience: ctx.environment.issuer,
      algorithm: 'RS256',
      lifetime: 600,
      issued_at: now,
    });
  // Again, should the machine be so slow that trust runs out in between.
  await eventually(async () => {
    await lookedUp(known, 'served');
    await servers.ask('standby', 'select pg_wal_replay_pause()');
    try {
      const id = uuidv7(ctx.clock.now().getTime());
      const email = `${id}@example.com`;
      await insertUser(ctx.scope, { id, email, email_key: email, password_hash, created_at: now, updated_at: now });
      const missing = await counted('missing');
      for (const token of [await machineToken('opaque'), await userJwt(id)]) expect(await isActive(token)).toBe(true);
      return (await counted('missing')) === missing + 2;
    } finally {
      await servers.ask('standby', 'select pg_wal_replay_resume()');
    }
  });
  for (const nobodys of [`at_${'A'.repeat(43)}`, await userJwt(uuidv7(now.getTime()))]) {
    expect(await lookedUp(nobodys, 'missing')).toEqual({ active: false });
  }
});

test.each(['jwt', 'opaque'] as const)('a revoked machine token, %s, is inactive within a second and stays so', async (format) => {
  const token = await machineToken(format);
  await caughtUp();
  await lookedUp(token, 'served');
  expect((await revoke(token, machine)).status).toBe(200);
  const revokedAt = performance.now();
  await deadFor(token, revokedAt);
});

test('with the grant of a code, its access token dies on the replica too', async () => {
  const { access_token, refresh_token } = await userTokens();
  await caughtUp();
  await lookedUp(access_token, 'served');
  await revoke(refresh_token as string);
  const revokedAt = performance.now();
  await deadFor(access_token, revokedAt);
  await caughtUp();
  expect(await lookedUp(access_token, 'served')).toEqual({ active: false });
});

test('replay pauses: within a second the primary is asked, which knows of revocations; replay goes on: the replica is asked again', async () => {
  const [token, other] = [await machineToken('jwt'), await machineToken('jwt')];
  await caughtUp();
  await lookedUp(token, 'served');
  await servers.ask('standby', 'select pg_wal_replay_pause()');
  await eventually(async () => {
    const [row] = await servers.ask('standby', 'select pg_get_wal_replay_pause_state() as state');
    return row?.['state'] === 'paused';
  });
  // Nothing new, nothing missed: a paused standby is trusted as long as it knows all there is. This it doesn't know.
  await revoke(token, machine);
  const revokedAt = performance.now();
  await deadFor(token, revokedAt);
  expect(await lookedUp(other, 'untrusted')).toMatchObject({ active: true });
  const served = await counted('served');
  for (let i = 0; i < 10; i++) expect([await isActive(token), await isActive(other)]).toEqual([false, true]);
  expect(await counted('served')).toBe(served);
  expect(service.log.some((line) => line.includes('replica.unused'))).toBe(true);
  await servers.ask('standby', 'select pg_wal_replay_resume()');
  expect(await lookedUp(token, 'served')).toEqual({ active: false });
});

test('the replica is gone, whatever it was doing: nothing fails; it is back: it is asked again', async () => {
  const token = await machineToken('opaque');
  await caughtUp();
  await lookedUp(token, 'served');
  const stopping = servers.stopStandby();
  let over = false;
  void stopping.finally(() => (over = true));
  while (!over) expect(await isActive(token)).toBe(true);
  await stopping;
  expect(await lookedUp(token, 'untrusted')).toMatchObject({ active: true });
  await revoke(token, machine);
  expect(await isActive(token)).toBe(false);
  await servers.startStandby();
  const next = await machineToken('jwt');
  expect(await lookedUp(next, 'served')).toMatchObject({ active: true });
});

test('a server that is no standby of this primary is never trusted', async () => {
  const { deps } = service;
  const itself = createReplica({ urls: [servers.url], primary: deps.db.knex, metrics: deps.metrics, logger: deps.logger });
  for (let i = 0; i < 3; i++) await itself.check();
  expect(await itself.lookUp({ name: 'test.one', text: 'select 1 as one', values: [] })).toBeNull();
  await itself.close();
});

test('a change belongs to its transaction, whose scope knows no replica', async () =>
  transaction(ctx, async (tx) => expect(tx.scope.replica).toBeUndefined()));
