// What callers see while the database is away, silent, or locked: the public documents go on, everything else says 503 in time.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { addClient, addGrant, addResource, type TestClient } from '../support/data.js';
import { startDatabaseProxy, type DatabaseProxy } from '../support/database-proxy.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { Api, managementToken, startManagedService } from '../support/management.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import type { TestService } from '../support/service.js';

let database: TestDatabase;
let proxy: DatabaseProxy;
let service: TestService;
let client: TestClient;
let api: Api;
let access_token: string;

const secretKey = Buffer.alloc(32, 7).toString('base64');
const documents = ['/.well-known/jwks.json', '/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  service = await startManagedService({ DATABASE_POOL_MAX: '5' }, { database: { url: proxy.url, secretKey } });
  const ctx = await service.context();
  client = await addClient(ctx, { grant_types: ['client_credentials'] });
  const resource = await addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' });
  await addGrant(ctx, client, resource);
  api = new Api(service.url, await managementToken(service.url));
  access_token = (await token()).body.access_token;
});
afterAll(async () => {
  await service.stop();
  proxy.close();
  await database.drop();
});

/** The service as it is when all is well: what the process remembers may be trusted again. */
async function wellAgain(): Promise<void> {
  proxy.pass();
  proxy.accept();
  await expect.poll(async () => (await fetch(`${service.url}/readyz`)).status, { timeout: 20_000 }).toBe(200);
  // An attempt to connect that began while the server was silent may still be under way.
  await expect.poll(async () => (await mustBeFresh()).map(({ answer }) => answer), { timeout: 20_000 }).toEqual([200, 200, 200]);
  const ages = () => Promise.all(documents.map(async (path) => (await fetch(service.url + path)).headers.get('age')));
  await expect.poll(ages, { timeout: 10_000 }).toEqual([null, null, null]);
}
afterEach(wellAgain);

const token = () => tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: 'https://opaque.example' });
const timed = async <T>(work: Promise<T>): Promise<{ answer: T; ms: number }> => {
  const began = performance.now();
  return { answer: await work, ms: performance.now() - began };
};

/** What must be fresh: a token, an introspection, a client's secret, a list. */
const mustBeFresh = () =>
  Promise.all([
    timed(token().then(({ status }) => status)),
    timed(oauthPost(service.url, '/oauth/introspect', client, { token: access_token }).then(({ status }) => status)),
    timed(api.get('/roles').then(({ status }) => status)),
  ]);

describe('JWKS and discovery', () => {
  test('are answered at once from memory, with the Age of what is remembered (RFC 9111 5.1)', async () => {
    await wellAgain();
    const before = await Promise.all(documents.map(async (path) => (await fetch(service.url + path)).text()));
    proxy.refuse();
    service.clock.advance(120_000);
    for (const [index, path] of documents.entries()) {
      const { answer, ms } = await timed(fetch(service.url + path));
      expect([path, answer.status, answer.headers.get('cache-control')]).toEqual([path, 200, 'public, max-age=300']);
      const age = Number(answer.headers.get('age'));
      expect(age).toBeGreaterThanOrEqual(120);
      expect(age).toBeLessThan(130);
      expect(await answer.text()).toBe(before[index]);
      expect(ms).toBeLessThan(500);
    }
    for (const { answer: status } of await mustBeFresh()) expect(status).toBe(503);
  });

  test('and after their max-age no longer', async () => {
    await wellAgain();
    proxy.refuse();
    service.clock.advance(301_000);
    for (const path of documents) {
      const { status, headers } = await fetch(service.url + path);
      expect([path, status, headers.get('retry-after')]).toEqual([path, 503, '5']);
    }
  });

  test('wait for nobody while the database is silent', async () => {
    await wellAgain();
    proxy.swallow();
    service.clock.advance(10_000);
    for (const path of documents) {
      const { answer, ms } = await timed(fetch(service.url + path));
      expect([path, answer.status]).toEqual([path, 200]);
      expect(ms).toBeLessThan(500);
    }
  });

  test('a withdrawn key is gone from memory: it is not told further', async () => {
    await wellAgain();
    const { environment } = await service.context();
    service.deps.cache.invalidate(environment.id, 'signing_keys');
    proxy.refuse();
    expect((await fetch(service.url + documents[0])).status).toBe(503);
    expect((await fetch(service.url + documents[1])).status).toBe(200);
  });
});

test('a silent database: 503 with Retry-After within ten seconds, for reads and writes (fault F08)', async () => {
  proxy.swallow();
  const page = timed(fetch(`${service.url}/login`, { headers: { cookie: `idp_session=${'x'.repeat(43)}` } }).then(({ status }) => status));
  for (const { answer: status, ms } of [...(await mustBeFresh()), await page]) {
    expect(status).toBe(503);
    expect(ms).toBeLessThan(15_000);
  }
}, 30_000);

const introspected = async (what: string, one: string) => {
  const { status, body } = await oauthPost(service.url, '/oauth/introspect', client, { token: one });
  return `${what} ${status} ${JSON.stringify(body['active'])}`;
};

test("while people's tables are locked, a client's own tokens and what it asks the Management API go on (fault F10)", async () => {
  await wellAgain();
  const own = await managementToken(service.url);
  const locking = new pg.Client({ connectionString: database.url });
  await locking.connect();
  await locking.query('begin; lock table users, sessions, roles, user_roles in access exclusive mode');
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => [
      timed(introspected('own', own)),
      timed(introspected('opaque', access_token)),
      timed(token().then(({ status }) => `token ${status}`)),
      timed(api.get('/webhooks').then(({ status }) => `webhooks ${status}`)),
    ]).flat(),
  );
  await locking.query('rollback');
  await locking.end();
  const good = ['own 200 true', 'opaque 200 true', 'token 200', 'webhooks 200'];
  expect(answers.filter(({ answer, ms }) => !good.includes(answer) || ms >= 8000)).toEqual([]);
}, 60_000);

test('one table locked, five connections, two hundred requests of it: each is answered within ten seconds, and others go on (fault F10)', async () => {
  await wellAgain();
  const locking = new pg.Client({ connectionString: database.url });
  await locking.connect();
  await locking.query('begin; lock table roles in access exclusive mode');
  const asked = Array.from({ length: 200 }, () => timed(api.get('/roles')));
  expect((await timed(fetch(service.url + documents[0]))).answer.status).toBe(200);
  const answers = await Promise.all(asked);
  await locking.query('rollback');
  await locking.end();
  for (const { answer, ms } of answers) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(ms).toBeLessThan(15_000);
  }
  await wellAgain();
  expect((await api.get('/roles')).status).toBe(200);
}, 60_000);
