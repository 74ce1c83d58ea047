import { connect } from 'node:net';
import { request as send } from 'undici';
import { describe, expect, test } from 'vitest';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { Browser } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService(() =>
  startTestService({ RATE_LIMITS: 'on', RATE_LIMIT_TOKEN: '500/60', TRUST_PROXY: '1', METRICS_TOKEN: metricsToken }),
);
const ctx = contextOf(service);
const client = shared(() => addClient(ctx, { first_party: true }));
const user = shared(() => addUser(ctx));
const browser = shared(() => signedIn(service, user));
const metricsToken = 'a token for the metrics';

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('values that nothing can be made of are the sender’s fault, never a failure (no 5xx)', () => {
  test.each([5, true, {}, ['a'], null, 'x\0y', '\ud800', 'x'.repeat(5000)])('a client assertion whose sub is %j', async (sub) => {
    for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke']) {
      const answer = await oauthPost(service.url, path, null, {
        token: 'x',
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: `${part({ alg: 'RS256' })}.${part({ sub })}.AAAA`,
      });
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
    }
  });

  test.each(['a\0b', ' allowed origins', ' ', 'é', '\u2028', 'x'.repeat(300), '%'])('a client_id of %j', async (id) => {
    // Browsers' origins are looked up, and remembered, before the client is.
    const headers = { origin: 'https://app.example' };
    const secret = await oauthPost(service.url, '/oauth/token', { id, client_secret: 'x' }, { grant_type: 'refresh_token' }, headers);
    expect([secret.status, secret.body.error]).toEqual([401, 'invalid_client']);
    expect((await authorizeGet(browser, authorizeQuery(client, { client_id: id }))).status).toBe(400);
  });

  test.each([
    '{"userinfo":{"a\\u0000":null}}',
    '{"userinfo":{"a\\ud800":null}}',
    '{"userinfo":{"email":"\\udc00"},"id_token":{"\\ud800":0}}',
  ])('claims=%s: what userinfo does not know is left out', async (claims) => {
    const response = await authorizeGet(browser, authorizeQuery(client, { claims }));
    expect(response.status).toBe(303);
    const code = new URL(response.headers.get('location') ?? '').searchParams.get('code') ?? '';
    const redirect_uri = client.redirect_uris[0] ?? '';
    expect((await tokenRequest(service.url, client, { grant_type: 'authorization_code', code, redirect_uri })).status).toBe(200);
  });

  test('a number or a name that the database can not hold', async () => {
    for (const body of ['{"email":1e400,"password":"x"}', '{"email":"a@b.example","password":"x","\\ud800":1}']) {
      const response = await browser.request('/login', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
      expect([400, 401]).toContain(response.status);
    }
  });
});

describe('other sites', () => {
  /** What a browser sends for another site's form: no SameSite cookie. */
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };

  test("a form of another site takes nobody's session cookie away (logout CSRF, attack 13.147)", async () => {
    const victim = new Browser(service.url);
    const attacker = await signedIn(service, user);
    const page = await (await attacker.get('/oauth/logout')).text();
    const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
    expect(request).not.toBe('');
    const answers = [
      await victim.post('/oauth/logout/confirm', { decision: 'logout', request }, foreign),
      await victim.post('/oauth/logout', { state: 'x'.repeat(4000), ui_locales: 'x'.repeat(6000) }, foreign),
      await victim.get('/oauth/logout', { 'sec-fetch-site': 'cross-site' }),
    ];
    for (const answer of answers) expect(answer.headers.getSetCookie()).toEqual([]);
  });

  test('a browser that comes with the cookie of a session that has ended loses it', async () => {
    const own = await signedIn(service, user);
    await service.deps.db.knex('sessions').update({ revoked_at: new Date() }).where({ user_id: user.id });
    await own.get('/oauth/logout');
    expect(own.cookies.has('idp_session')).toBe(false);
    await browser.login(user.email, password);
  });
});

describe('who asks, and by which name', () => {
  test('metrics are for this machine, whatever a header says (attack 18.216)', async () => {
    const status = async (headers: Record<string, string>) => (await fetch(`${service.url}/metrics`, { headers })).status;
    expect(await status({})).toBe(200);
    expect(await status({ 'x-forwarded-for': '127.0.0.1' })).toBe(401);
    expect(await status({ 'x-forwarded-for': '203.0.113.9' })).toBe(401);
    expect(await status({ forwarded: 'for=127.0.0.1' })).toBe(401);
    expect(await status({ 'x-forwarded-for': '203.0.113.9', authorization: 'Bearer a token for the metric' })).toBe(401);
    expect(await status({ 'x-forwarded-for': '203.0.113.9', authorization: `Bearer ${metricsToken}` })).toBe(200);
  });

  test('paths in another case or with more slashes lead nowhere (attack 15.180)', async () => {
    const paths = [
      '/OAUTH/token',
      '/oauth/TOKEN',
      '//oauth/token',
      '/LOGIN',
      '/Register',
      '/Account',
      '/Auth/sso/callback',
      '/API/users',
      '/api/USERS',
    ];
    for (const path of [...paths, '/Dashboard', '/DEV/mailbox', '/.well-known/OPENID-configuration', '/oauth/%74oken']) {
      const { statusCode, body } = await send(service.url + path, { method: 'POST' });
      await body.dump();
      expect([path, [401, 404].includes(statusCode)]).toEqual([path, true]);
      expect([path, path.toLowerCase().startsWith('/api') || statusCode === 404]).toEqual([path, true]);
    }
  });

  test.each([
    ['/login', 'text/html'],
    ['/.well-known/openid-configuration', 'application/json'],
    ['/oauth/userinfo', 'application/json'],
    ['/api/users', 'application/vnd.api+json'],
  ])('two Host fields on %s are refused, however many others stand between (RFC 9112 3.2, attack 7.94)', async (path, type) => {
    const others = 'a:1\r\n'.repeat(2_100);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      socket.on('end', () => resolve(text)).on('error', reject);
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: ${new URL(service.url).host}\r\n${others}hOST: evil.example\r\nConnection: close\r\n\r\n`,
      );
    });
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.toLowerCase()).toContain(`content-type: ${type}`);
    expect(answer).not.toContain('evil.example');
  });

  test('another method named in a header is not tried (attack 15.180)', async () => {
    const headers = { 'x-http-method-override': 'DELETE', 'x-original-url': '/healthz', 'x-rewrite-url': '/healthz' };
    const answer = await redeem(service.url, client, { code: 'x', verifier: 'x'.repeat(43), redirect_uri: 'https://app.example/cb' });
    expect(answer.status).toBe(400);
    expect((await fetch(`${service.url}/oauth/token`, { headers })).status).toBe(405);
  });
});
