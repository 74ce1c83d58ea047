import { expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { addClient, addGrant, addResource, type TestClient } from '../support/data.js';
import { oauthPost, tokenRequest } from '../support/oauth.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { setEnvironment } from '../support/signed-in.js';

const service = sharedService(() => startTestService({ RATE_LIMITS: 'on' }));
const ctx = contextOf(service);
const resource = shared(() => addResource(ctx));

const machine = async (token_rate_limit: number | null = null): Promise<TestClient> => {
  const client = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'], token_rate_limit });
  await addGrant(ctx, client, resource);
  return client;
};
const ask = (client: TestClient) => tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: resource.identifier });

test('the eleventh token request of a minute is 429 in OAuth JSON with Retry-After; another client is not concerned', async () => {
  const client = await machine();
  for (let i = 0; i < 10; i++) expect((await ask(client)).status).toBe(200);
  const refused = await ask(client);
  expect([refused.status, refused.body.error]).toEqual([429, 'rate_limited']);
  expect(refused.body['error_description']).toContain('token_rate_limit');
  const wait = Number(refused.headers.get('retry-after'));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(60);
  expect(refused.headers.get('ratelimit-limit')).toBe('10');
  expect((await ask(await machine())).status).toBe(200);
});

test('a raised limit counts only what authenticates: guesses at the secret run into the ordinary limit', async () => {
  const client = await machine(1000);
  for (let i = 0; i < 30; i++) expect((await ask(client)).status).toBe(200);
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) statuses.push((await ask({ ...client, client_secret: 'cs_wrong' })).status);
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10);
  expect(statuses.at(-1)).toBe(429);
});

test.each(['/oauth/introspect', '/oauth/revoke'])(
  'wrong secrets at %s count as at the token endpoint; right ones never do (attack 6.255)',
  async (path) => {
    const client = await machine();
    const ours = () => oauthPost(service.url, path, client, { token: 'at_unknown' });
    const guess = (where: string) => oauthPost(service.url, where, { ...client, client_secret: 'cs_wrong' }, { token: 'at_unknown' });
    for (let i = 0; i < 15; i++) expect((await ours()).status).toBe(200);
    for (let i = 0; i < 7; i++) expect((await guess(path)).status).toBe(401);
    for (let i = 0; i < 3; i++) expect((await guess('/oauth/token')).status).toBe(401);
    const refused = await guess(path);
    expect([refused.status, refused.body.error]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    // The right secret too, which would else tell the guesser that it is the right one.
    expect([(await ours()).status, (await ask(client)).status]).toEqual([429, 429]);
    expect((await oauthPost(service.url, path, await machine(), { token: 'at_unknown' })).status).toBe(200);
  },
);

test('a request that is wrong in another way is no guess', async () => {
  const client = await machine();
  for (let i = 0; i < 12; i++) {
    const twice = await oauthPost(service.url, '/oauth/introspect', client, { token: 'at_unknown', client_secret: 'cs_wrong' });
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_request']);
  }
  expect((await oauthPost(service.url, '/oauth/introspect', client, { token: 'at_unknown' })).status).toBe(200);
});

test('made-up client ids share one window', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) {
    const answer = await oauthPost(
      service.url,
      '/oauth/token',
      { id: `nobody-${i}`, client_secret: 'x' },
      { grant_type: 'client_credentials' },
    );
    statuses.push(answer.status);
  }
  expect(statuses.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => 401));
  expect(statuses.slice(10)).toEqual([429, 429]);
});

test('the sixth registration of a client from one address in a minute is 429', async () => {
  await setEnvironment(service, { client_registration_policy: 'open' });
  service.clock.advance(120_000);
  const register = async () => {
    const body = JSON.stringify({ redirect_uris: ['https://app.example/cb'] });
    const { status } = await fetch(`${service.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    return status;
  };
  for (let i = 0; i < 5; i++) expect(await register()).toBe(201);
  expect(await register()).toBe(429);
});

test('the eleventh sign-in of a minute is 429, as a page and as JSON, whatever address is forged', async () => {
  const browser = new Browser(service.url);
  for (let i = 0; i < 10; i++) {
    const answer = await browser.postJson(
      '/login',
      { email: `a${i}@example.com`, password: 'wrong password' },
      { 'x-forwarded-for': `10.0.0.${i}` },
    );
    expect(answer.status).toBe(401);
  }
  const json = await browser.postJson('/login', { email: 'b@example.com', password: 'wrong password' });
  expect([json.status, ((await json.json()) as { error: string }).error]).toEqual([429, 'rate_limited']);
  const page = await browser.post('/login', { email: 'b@example.com', password: 'wrong password' }, { accept: 'text/html' });
  expect(page.status).toBe(429);
  expect(page.headers.get('content-type')).toContain('text/html');
  expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
});
