// Two processes, three rotations of SECRET_KEY in the order that docs/how-to/operations.md gives, tokens and webhooks all the while: no request fails.
import { createHmac, randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKnex } from '../../src/db/connection/knex.js';
import { countSealedByKey } from '../../src/db/tables/sealed_columns.js';
import { createSealer } from '../../src/lib/seal.js';
import { Browser } from '../support/browser.js';
import { programArguments } from '../support/compiled.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { Api, managementClient } from '../support/management.js';
import { authorizeCode, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { openContext } from '../support/standalone.js';

const keys = Array.from({ length: 4 }, () => randomBytes(32).toString('base64'));
const keyAt = (index: number) => keys[index] as string;
const idOf = (index: number) => createSealer(keyAt(index)).key_id;

let database: TestDatabase;
let receiver: Receiver;
let base: string;
let client: TestClient;
let refresh_token: string;
const replicas: Replica[] = [];
const log: string[][] = [];
/** Secret by the path that its webhook posts to. */
const secrets = new Map<string, string>();
const failures: string[] = [];
let rounds = 0;
let inRound: Promise<void> = Promise.resolve();
let over = false;

/** Starts a successor, hands it the place, lets requests to the old one finish and ends it: as a balancer's rolling deployment does. */
async function replace(place: number, secretKey: string, previous: string): Promise<void> {
  const settings = { BASE_URL: base, SECRET_KEY_PREVIOUS: previous, MANAGEMENT_CLIENT_ID: managementClient.id };
  const started = await startReplica(database.url, secretKey, { ...settings, MANAGEMENT_CLIENT_SECRET: managementClient.client_secret });
  log.push(started.log);
  const old = replicas[place];
  replicas[place] = started;
  await inRound;
  expect(await old?.end('SIGTERM')).toBe(old && 0);
}

const must = (what: string, right: boolean, detail: unknown) => void (right || failures.push(`${what}: ${JSON.stringify(detail)}`));
const urlOf = (place: number) => (replicas[place] as Replica).url;

/** Everything once, each step at another process than the one before. */
async function round(number: number): Promise<void> {
  const [one, other] = number % 2 === 0 ? [urlOf(0), urlOf(1)] : [urlOf(1), urlOf(0)];
  for (const url of [one, other]) must('readyz', (await fetch(`${url}/readyz`)).status === 200, url);
  const token = await tokenRequest(one, managementClient, { grant_type: 'client_credentials', resource: `${base}/api` });
  must('token', token.status === 200, token.body);
  const jwks = createLocalJWKSet((await (await fetch(`${other}/.well-known/jwks.json`)).json()) as JSONWebKeySet);
  await jwtVerify(token.body.access_token, jwks).catch((error: unknown) => must('signature', false, String(error)));
  const standing = await oauthPost(other, '/oauth/introspect', managementClient, { token: token.body.access_token });
  must('introspection', standing.status === 200 && standing.body['active'] === true, standing.body);
  const renewed = await tokenRequest(one, client, { grant_type: 'refresh_token', refresh_token });
  must('refresh', renewed.status === 200, renewed.body);
  const again = await tokenRequest(other, client, { grant_type: 'refresh_token', refresh_token });
  must('refresh, repeated', again.status === 200 && again.body.refresh_token === renewed.body.refresh_token, again.body);
  refresh_token = renewed.body.refresh_token ?? refresh_token;
  const role = { data: { type: 'role', attributes: { name: `role ${number}` } } };
  const send = { method: 'POST', body: JSON.stringify(role) };
  const headers = {
    authorization: `Bearer ${token.body.access_token}`,
    'content-type': 'application/vnd.api+json',
    'idempotency-key': `round ${number}`,
  };
  for (const url of [one, other]) {
    const made = await fetch(`${url}/api/roles`, { ...send, headers });
    must('role', made.status === 201, await made.text());
  }
}

async function traffic(): Promise<void> {
  while (!over) {
    inRound = round(rounds).catch((error: unknown) => must('round', false, String(error)));
    await inRound;
    rounds += 1;
  }
}

/** Waits until so much has been asked in the present state of things. */
async function moreRounds(count: number): Promise<void> {
  const until = rounds + count;
  await expect.poll(() => rounds, { timeout: 120_000 }).toBeGreaterThanOrEqual(until);
}

async function addWebhook(place: number, name: string): Promise<void> {
  const api = new Api(urlOf(place), await tokenAt(place));
  const made = await api.create('webhooks', { name, url: `${receiver.url}/${name}`, events: ['role.created'] });
  secrets.set(`/${name}`, String(made['attributes'].signing_secret));
}

const tokenAt = async (place: number) =>
  (await tokenRequest(urlOf(place), managementClient, { grant_type: 'client_credentials', resource: `${base}/api` })).body.access_token;

/** The log lines of an event, of all processes that there have been. */
const logged = (event: string, key_id: string) =>
  log.flat().filter((line) => line.includes(`"${event}"`) && line.includes(`"key_id":"${key_id}"`));

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  base = `http://localhost:${await freePort()}`;
  const opened = await openContext(database.url, keyAt(0), { BASE_URL: base });
  const user = await addUser(opened.ctx);
  client = await addClient(opened.ctx, { first_party: true, token_endpoint_auth_method: 'none', application_type: 'spa' });
  await opened.close();
  const next = keys.slice(1).join();
  await Promise.all([replace(0, keyAt(0), next), replace(1, keyAt(0), next)]);
  const browser = new Browser(urlOf(0));
  await browser.login(user.email, password);
  const { body } = await redeem(urlOf(1), client, await authorizeCode(browser, client, { scope: 'openid offline_access' }));
  refresh_token = body.refresh_token ?? '';
  await addWebhook(0, 'first');
}, 120_000);
afterAll(async () => {
  over = true;
  await inRound;
  killReplicas();
  await receiver?.close();
  await database?.drop();
});

test('three rotations, one process after the other, and no request fails (attack 24.248)', async () => {
  const asking = traffic();
  await moreRounds(2);
  for (const next of [1, 2, 3]) {
    // Both open what the next key seals (it is in SECRET_KEY_PREVIOUS already); now one process after the other seals with it. The key before
    // the present one, of which the log has said that nothing needs it, goes.
    const others = [keyAt(next - 1), ...keys.slice(next + 1)].join();
    await replace(0, keyAt(next), others);
    await addWebhook(0, `of-the-new-key-${next}`);
    await addWebhook(1, `of-the-old-key-${next}`);
    await moreRounds(3);
    await replace(1, keyAt(next), others);
    await expect.poll(() => logged('secret_key.unused', idOf(next - 1)).length, { timeout: 120_000 }).toBeGreaterThan(0);
  }
  await replace(0, keyAt(3), '');
  await moreRounds(2);
  over = true;
  await asking;
  expect(failures).toEqual([]);

  // Every event arrived at every webhook that there was then, signed with the secret that was told once, whichever key has sealed it since.
  const events = (path: string) => new Set(receiver.posts.filter((post) => post.path === path).map(({ event_id }) => event_id));
  await receiver.until(() => events('/first').size === rounds);
  expect(secrets.size).toBe(7);
  for (const [path, secret] of secrets) expect([path, events(path).size > 0, secret.startsWith('whsec_')]).toEqual([path, true, true]);
  for (const post of receiver.posts) {
    const signature = createHmac('sha256', secrets.get(post.path) ?? '')
      .update(post.body)
      .digest('hex');
    expect(post.headers['x-service-signature']).toBe(`sha256=${signature}`);
  }

  const knex = createKnex({ url: database.url, poolMax: 1 });
  expect([...(await countSealedByKey(knex)).keys()]).toEqual([idOf(3)]);
  await knex.destroy();
  const status = spawnSync(process.execPath, [...(await programArguments('programs/rekey')), '--status'], {
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url, SECRET_KEY: keyAt(3), BASE_URL: base, LOG_LEVEL: 'silent' },
    encoding: 'utf8',
  });
  expect([status.status, status.stderr]).toEqual([0, '']);
  expect(status.stdout.split('\n')[0]).toMatch(new RegExp(`^key ${idOf(3)} seals; `));
  for (const earlier of [0, 1, 2]) expect(status.stdout).toContain(`nothing is sealed with key ${idOf(earlier)} any more; it may go at `);
}, 600_000);
