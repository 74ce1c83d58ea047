import { beforeAll, expect, test } from 'vitest';
import { Browser, locationParameters, pkcePair } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { eventsOf, subscribe } from '../support/events.js';
import { codeIn, lastMailTo } from '../support/mailbox.js';
import { claimsOf, redeem } from '../support/oauth.js';
import { shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const client = shared(async () => addClient(await service.context(), { allowed_origins: ['https://app.example'] }));

beforeAll(async () => {
  await subscribe(service, ['*']);
});

async function step(browser: Browser, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await browser.postJson(path, body);
  const json = (await answer.json()) as Record<string, unknown>;
  expect([path, answer.status < 300, json]).toEqual([path, true, json]);
  return json;
}

/** Where an authorization request of the application goes on after sign-in. */
async function pendingRequest(browser: Browser): Promise<{ return_to: string; verifier: string }> {
  const { verifier, challenge } = pkcePair();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: 'https://app.example/cb',
    scope: 'openid profile email',
    state: 'some state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const answer = await browser.get(`/oauth/authorize?${query}`);
  return { return_to: locationParameters(answer).get('return_to') ?? '', verifier };
}

test('an application with its own UI registers, signs out, recovers and signs in by JSON alone, and gets its code each time', async () => {
  const browser = new Browser(service.url, { origin: 'https://app.example' });
  const email = 'grace@example.com';
  const finish = async (redirect_to: unknown, verifier: string) => {
    const answer = await browser.get(String(redirect_to));
    const code = locationParameters(answer).get('code') ?? '';
    const tokens = await redeem(service.url, client, { code, verifier, redirect_uri: 'https://app.example/cb' });
    expect(tokens.status).toBe(200);
    return claimsOf(tokens.body.id_token ?? '');
  };

  const first = await pendingRequest(browser);
  const { registration_id } = await step(browser, '/register', { email });
  const code = codeIn(await lastMailTo(service.url, email));
  const { registration_token } = await step(browser, '/register/verify', { registration_id, code });
  const registered = await step(browser, '/register/complete', {
    registration_token,
    first_name: 'Grace',
    last_name: 'Hopper',
    password: 'seven brown foxes at dawn',
    return_to: first.return_to,
  });
  const user = registered['user'] as { id: string };
  expect(await finish(registered['redirect_to'], first.verifier)).toMatchObject({ sub: user.id, amr: ['otp', 'pwd'] });
  const events = await eventsOf(service, user.id);
  expect(events.map((event) => event.event)).toEqual(['user.registered']);
  expect(events[0]?.data).toMatchObject({ email, registration_method: 'email_otp', connection_id: null, client_id: client.id });

  await step(browser, '/logout', {});
  expect((await browser.get('/account', { accept: 'application/json' })).status).toBe(401);
  const { reset_id } = await step(browser, '/password/forgot', { email });
  const reset = { reset_id, code: codeIn(await lastMailTo(service.url, email)), password: 'nine quiet herons by the lake' };
  await step(browser, '/password/reset', reset);
  const second = await pendingRequest(browser);
  const signedIn = await step(browser, '/login', { email, password: 'nine quiet herons by the lake', return_to: second.return_to });
  expect(await finish(signedIn['redirect_to'], second.verifier)).toMatchObject({ sub: user.id, amr: ['pwd'] });
});

test('a return path that leads elsewhere is ignored', async () => {
  const browser = new Browser(service.url);
  const email = 'astray@example.com';
  const { registration_id } = await step(browser, '/register', { email });
  const code = codeIn(await lastMailTo(service.url, email));
  const { registration_token } = await step(browser, '/register/verify', { registration_id, code });
  const fields = { registration_token, first_name: 'A', last_name: 'B', password: 'seven brown foxes at dawn' };
  expect((await step(browser, '/register/complete', { ...fields, return_to: '//evil.example/' }))['redirect_to']).toBe('/account');
});

test("a first-party client's own UI may call from its own origin with the session cookie; no other origin may, and no page is shown to it", async () => {
  const ctx = await service.context();
  await addClient(ctx, { allowed_origins: ['https://ui.example'], first_party: true });
  await addClient(ctx, { allowed_origins: ['https://guest.example'], first_party: false });
  const preflight = (path: string, origin: string) =>
    fetch(service.url + path, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
    });
  const cors = ({ headers }: Response) =>
    ['origin', 'credentials'].map((name) => headers.get(`access-control-allow-${name}`)).concat(headers.get('vary'));
  for (const path of ['/login', '/logout', '/register', '/register/verify', '/password/reset', '/account', '/account/password']) {
    const own = await preflight(path, 'https://ui.example');
    expect([path, own.status, ...cors(own)]).toEqual([path, 204, 'https://ui.example', 'true', 'Origin']);
    expect(own.headers.get('access-control-allow-headers')).toContain('Content-Type');
    for (const origin of ['https://guest.example', 'https://evil.example', 'null', 'https://ui.example.evil'])
      expect([path, ...cors(await preflight(path, origin))]).toEqual([path, null, null, 'Origin']);
  }

  const json = { 'content-type': 'application/json', accept: 'application/json' };
  const person = new Browser(service.url);
  const user = await addUser(ctx);
  await person.login(user.email, password);
  const rename = async (origin: string) =>
    (
      await fetch(`${service.url}/account/profile`, {
        method: 'POST',
        headers: { ...json, origin, cookie: [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        body: '{"first_name":"Eve"}',
      })
    ).status;
  // A JSON body is no excuse: what a browser lets through in error is still another client's.
  expect([await rename('https://guest.example'), await rename('https://ui.example')]).toEqual([403, 200]);
  const attempt = (origin: string) =>
    fetch(`${service.url}/login`, { method: 'POST', headers: { ...json, origin }, body: '{"email":"no@example.com","password":"no"}' });
  const refused = await attempt('https://ui.example');
  expect([refused.status, ...cors(refused)]).toEqual([401, 'https://ui.example', 'true', 'Origin']);
  expect(cors(await attempt('https://guest.example'))).toEqual([null, null, 'Origin']);
  const account = await fetch(`${service.url}/account`, { headers: { origin: 'https://ui.example', accept: 'application/json' } });
  expect([account.status, ...cors(account).slice(0, 2)]).toEqual([401, 'https://ui.example', 'true']);

  for (const path of ['/login', '/register', '/password/forgot', '/account'])
    for (const accept of ['text/html', ...(path === '/account' ? [] : ['application/json'])]) {
      const page = await fetch(service.url + path, { headers: { origin: 'https://ui.example', accept }, redirect: 'manual' });
      expect([path, page.headers.get('access-control-allow-origin')]).toEqual([path, null]);
    }
});
