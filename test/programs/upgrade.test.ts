// The release before and this one on one database, up and back, while clients go on with what they do: no request fails.
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { afterAll, expect } from 'vitest';
import { createKnex } from '../../src/db/connection/knex.js';
import { migrationNames, pendingMigrations } from '../../src/db/migrations/migrate.js';
import { Browser } from '../support/browser.js';
import type { TestClient } from '../support/data.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { buildRelease, earlierRelease } from '../support/earlier-release.js';
import { Api, managementClient } from '../support/management.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { needsHistory } from '../support/programs.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { migratedSchema, schemaOf } from '../support/table-contents.js';

const test = needsHistory();

const secretKey = randomBytes(32).toString('base64');
const person = { email: 'ada@example.com', password: 'a password for the upgrade' };
const failures: string[] = [];
let earlier: string | null = null;
let database: TestDatabase | undefined;
let receiver: Receiver | undefined;

afterAll(async () => {
  killReplicas();
  await receiver?.close();
  await database?.drop();
  if (earlier !== null) rmSync(dirname(earlier), { recursive: true, force: true });
});

const must = (what: string, right: boolean, detail: unknown) => void (right || failures.push(`${what}: ${JSON.stringify(detail)}`));

/** Who answers now, in turn; what the clients hold. */
type State = {
  targets: Replica[];
  readonly base: string;
  readonly client: TestClient;
  refresh_token: string;
  rounds: number;
  over: boolean;
};

const ownToken = (url: string, base: string) =>
  tokenRequest(url, managementClient, { grant_type: 'client_credentials', resource: `${base}/api` });

/** Everything once, each step at another process than the one before. */
async function round(state: State): Promise<void> {
  const urls = state.targets.map(({ url }) => url);
  const [one, other] = state.rounds % 2 === 0 ? [urls[0], urls.at(-1)] : [urls.at(-1), urls[0]];
  if (one === undefined || other === undefined) throw new Error('nobody answers');
  const token = await ownToken(one, state.base);
  must('token', token.status === 200, token.body);
  const jwks = createLocalJWKSet((await (await fetch(`${other}/.well-known/jwks.json`)).json()) as JSONWebKeySet);
  await jwtVerify(token.body.access_token, jwks).catch((error: unknown) => must('signature', false, String(error)));
  const standing = await oauthPost(other, '/oauth/introspect', managementClient, { token: token.body.access_token });
  must('introspection', standing.body['active'] === true, standing.body);
  const renewed = await tokenRequest(one, state.client, { grant_type: 'refresh_token', refresh_token: state.refresh_token });
  must('refresh', renewed.status === 200, renewed.body);
  state.refresh_token = renewed.body.refresh_token ?? state.refresh_token;
  const claims = await fetch(`${other}/oauth/userinfo`, { headers: { authorization: `Bearer ${renewed.body.access_token}` } });
  must('userinfo', claims.status === 200, await claims.text());
  const role = await new Api(one, token.body.access_token).create('roles', { name: `role ${state.rounds}` });
  const api = new Api(other, token.body.access_token);
  for (const path of [
    `/roles/${role['id']}`,
    '/users',
    '/clients',
    '/webhooks',
    '/sessions',
    '/audit_logs',
    '/signing_keys',
    '/environments',
  ])
    must(path, (await api.get(path)).status === 200, path);
  const browser = new Browser(one);
  const entered = await browser.login(person.email, person.password);
  must('sign-in', entered.status === 303, await entered.text());
  const redeemed = await redeem(other, state.client, await authorizeCode(browser, state.client));
  must('code', redeemed.status === 200, redeemed.body);
}

async function traffic(state: State): Promise<void> {
  while (!state.over) {
    await round(state).catch((error: unknown) => must('round', false, String(error)));
    state.rounds += 1;
  }
}

/** Waits for so many whole rounds with the processes that answer now. */
async function moreRounds(state: State, count: number): Promise<void> {
  // The one under way may have begun with others.
  const until = state.rounds + count + 1;
  await expect.poll(() => state.rounds, { timeout: 120_000 }).toBeGreaterThanOrEqual(until);
}

/** Takes a process out as a balancer does, and ends it when nobody asks it any more. */
async function takeOut(state: State, replica: Replica): Promise<void> {
  state.targets = state.targets.filter((one) => one !== replica);
  await moreRounds(state, 0);
  expect(await replica.end('SIGTERM')).toBe(0);
}

/** A person, a client that signs them in, and a webhook: made through the API of the release before. */
async function prepare(old: Replica, base: string, posts: string): Promise<State> {
  const api = new Api(old.url, (await ownToken(old.url, base)).body.access_token);
  await api.create('users', { ...person, email_verified: true, first_name: 'Ada', last_name: 'Lovelace' });
  const settings = { application_type: 'spa', token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] };
  const made = await api.create('clients', {
    name: 'Notes',
    ...settings,
    redirect_uris: ['https://app.example/cb'],
    first_party: true,
  });
  await api.create('webhooks', { name: 'roles', url: posts, events: ['role.created'] });
  const client = { ...(made['attributes'] as object), id: made['id'] as string } as TestClient;
  const browser = new Browser(old.url);
  await browser.login(person.email, person.password);
  const { body } = await redeem(old.url, client, await authorizeCode(browser, client, { scope: 'openid offline_access' }));
  return { targets: [old], base, client, refresh_token: body.refresh_token ?? '', rounds: 0, over: false };
}

test('an upgrade under load and the way back: both releases serve on the newer schema, and no request fails (specification 15.8.4)', async () => {
  earlier = buildRelease(earlierRelease() as string);
  database = await createEmptyDatabase();
  receiver = await startReceiver();
  const { url } = database;
  const base = `http://localhost:${await freePort()}`;
  const client = { MANAGEMENT_CLIENT_ID: managementClient.id, MANAGEMENT_CLIENT_SECRET: managementClient.client_secret };
  const settings = { BASE_URL: base, BREACHED_PASSWORDS_URL: 'off', ...client };
  const former = ['--enable-source-maps', join(earlier, 'dist', 'main.js')];
  const startFormer = () => startReplica(url, secretKey, settings, [], former);

  const old = await startFormer();
  const knex = createKnex({ url, poolMax: 1 });
  expect(await pendingMigrations(knex)).not.toEqual([]);
  const state = await prepare(old, base, receiver.url);
  const asking = traffic(state);
  await moreRounds(state, 1);
  const current = await startReplica(url, secretKey, settings);
  expect(await pendingMigrations(knex)).toEqual([]);
  expect(await knex('knex_migrations').orderBy('name').pluck('name')).toEqual(await migrationNames());
  expect(await schemaOf(url)).toEqual(await migratedSchema());
  state.targets = [old, current];
  await moreRounds(state, 1);
  await takeOut(state, old);
  await moreRounds(state, 0);
  // Back: the schema stays, the program goes.
  const back = await startFormer();
  state.targets = [current, back];
  await moreRounds(state, 1);
  await takeOut(state, current);
  await moreRounds(state, 0);
  state.over = true;
  await asking;
  expect(failures).toEqual([]);
  const { rounds } = state;
  await receiver.until((posts) => new Set(posts.map(({ event_id }) => event_id)).size === rounds);
  for (const { log } of [old, current, back]) expect(log.filter((line) => /"level":[56]0/.test(line))).toEqual([]);
  await knex.destroy();
}, 360_000);
