// The authorization endpoint against bad input (docs/security.md, attacks of section 1).
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { authorizeGet, authorizeQuery, expectPage400, expectRedirectError, sideEffects } from '../support/authorize.js';
import { Browser, csrfOf, locationParameters } from '../support/browser.js';
import { addClient, addEnvironment, addResource, addUser, password, type TestClient } from '../support/data.js';
import { authorizeCode, claimsOf, redeem } from '../support/oauth.js';
import { startRelyingParty } from '../support/relying-party.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { processorMs } from '../support/processor-time.js';

const service = sharedService();
let client: TestClient;
let user: UserRow;
let browser: Browser;

beforeAll(async () => {
  const ctx = await service.context();
  [client, user] = [await addClient(ctx), await addUser(ctx, { email: 'ada@example.com' })];
  browser = await signedIn(service, user);
});

const ask = (extra: Record<string, string | undefined>, suffix = '') => authorizeGet(browser, authorizeQuery(client, extra) + suffix);
const refused = (error: string, extra: Record<string, string | undefined>, suffix = '') =>
  expectRedirectError(service, client, error, () => ask(extra, suffix));

/** A request that `fetch` wouldn't send. */
async function raw(method: string, path: string): Promise<{ status: number; allow: string | undefined }> {
  const request = httpRequest(new URL(path, service.url), { method }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  return { status: response.statusCode ?? 0, allow: response.headers.allow };
}

describe('bad requests', () => {
  test('a request without response_type is refused (attack 1.1)', async () => {
    await refused('invalid_request', { response_type: undefined });
    await refused('unsupported_response_type', { response_type: 'token' });
  });

  test('an unknown, disabled or missing client_id gets a page, never a redirect (attack 1.3)', async () => {
    const disabled = await addClient(await service.context(), { status: 'disabled' });
    for (const client_id of ['nobody', disabled.id, undefined]) await expectPage400(service, () => ask({ client_id }));
  });

  test('the page about a client that nobody knows is no part of a sign-in, and keeps its window to itself (specification 11.3.2)', async () => {
    const policy = async (change: Record<string, string>) => (await ask(change)).headers.get('cross-origin-opener-policy');
    expect(await policy({ client_id: 'nobody' })).toBe('same-origin');
    expect(await policy({ redirect_uri: 'https://elsewhere.example/cb' })).toBe(null);
  });

  test('a request without redirect_uri gets a page, though one is registered (attack 1.4)', async () =>
    expectPage400(service, () => ask({ redirect_uri: undefined })));

  test('client_id or redirect_uri twice gets a page; state, scope or code_challenge twice a redirect with the error (attack 1.6)', async () => {
    await expectPage400(service, () => ask({}, `&client_id=${client.id}`));
    await expectPage400(service, () => ask({}, '&redirect_uri=https://app.example/cb'));
    await refused('invalid_request', {}, '&scope=email');
    await refused('invalid_request', {}, '&code_challenge=a&code_challenge=b');
    await expectRedirectError(service, client, 'invalid_request', () => ask({}, '&state=other'), null);
  });

  test('a repeated parameter is refused after sign-in, too (attack 1.6)', async () => {
    const stranger = new Browser(service.url);
    const toLogin = await authorizeGet(stranger, `${authorizeQuery(client)}&scope=email`);
    const return_to = locationParameters(toLogin).get('return_to') ?? '';
    const back = await stranger.login(user.email, password, return_to);
    await expectRedirectError(service, client, 'invalid_request', () => stranger.get(back.headers.get('location') ?? ''));
  });

  test('parameters in brackets count as absent (attack 1.7)', async () => {
    await expectPage400(service, () => ask({ redirect_uri: undefined }, '&redirect_uri[]=https://app.example/cb'));
    await expectPage400(service, () => ask({ client_id: undefined }, `&client_id[x]=${client.id}`));
    const answer = await ask({ scope: undefined }, '&scope[0]=openid');
    expect(locationParameters(answer).get('code')).toMatch(/^ac_/);
  });

  test('request_uri is refused and never fetched (attack 1.9)', async () => {
    const canary = await startRelyingParty();
    await refused('request_uri_not_supported', { request_uri: `${canary.origin}/x` });
    expect(canary.arrived).toEqual([]);
    await canary.close();
  });

  test('without a session the way leads to our own login, and an edited handle nowhere (attack 1.10)', async () => {
    const stranger = new Browser(service.url);
    const response = await authorizeGet(stranger, authorizeQuery(client));
    expect([response.status, response.headers.get('location')?.startsWith('/login?')]).toEqual([303, true]);
    const handle = locationParameters(response).get('return_to') ?? '';
    const at = handle.length - 20;
    const edited = handle.slice(0, at) + (handle[at] === 'A' ? 'B' : 'A') + handle.slice(at + 1);
    await expectPage400(service, () => browser.get(edited));
    await expectPage400(service, () => browser.get('/oauth/authorize/resume'));
  });

  test('prompt=none without a session is login_required (attack 1.12)', async () => {
    const query = authorizeQuery(client, { prompt: 'none' });
    await expectRedirectError(service, client, 'login_required', () => authorizeGet(new Browser(service.url), query));
  });

  test('malformed prompt and max_age are refused; max_age=1 asks for a new sign-in (attack 1.13)', async () => {
    await refused('invalid_request', { prompt: 'none login' });
    await refused('invalid_request', { prompt: 'always' });
    for (const max_age of ['-1', 'abc', '1.5', '1e3']) await refused('invalid_request', { max_age });
    const before = claimsOf((await redeem(service.url, client, await authorizeCode(browser, client))).body.id_token as string);
    service.clock.advance(2_500);
    const toLogin = await ask({ max_age: '1' });
    const return_to = locationParameters(toLogin).get('return_to') ?? '';
    expect(toLogin.headers.get('location')?.startsWith('/login?')).toBe(true);
    const back = await browser.submit(toLogin.headers.get('location') ?? '', { email: user.email, password, return_to });
    const code = locationParameters(await browser.get(back.headers.get('location') ?? '')).get('code') ?? '';
    const answer = await redeem(
      service.url,
      client,
      { code, verifier: '', redirect_uri: client.redirect_uris[0] ?? '' },
      { code_verifier: '' },
    );
    expect(claimsOf(answer.body.id_token as string)['auth_time']).toBeGreaterThan(before['auth_time'] as number);
  });

  test('a scope of 100 kB or of ten thousand words is refused at once (attack 1.15)', async () => {
    const words = Array.from({ length: 10_000 }, (_, index) => index.toString(36)).join(' ');
    for (const scope of ['a'.repeat(100_000), words]) {
      const ms = await processorMs(async () => {
        const answers = [
          await ask({ scope }).then((response) => response.status),
          (await browser.post('/oauth/authorize', Object.fromEntries(new URLSearchParams(authorizeQuery(client, { scope }))))).status,
          (await authorizeGet(new Browser(service.url), authorizeQuery(client, { scope }))).status,
        ];
        for (const status of answers) expect([303, 400, 413, 414, 431]).toContain(status);
      });
      expect(ms).toBeLessThan(3_000);
    }
    await refused('invalid_request', { scope: words.slice(0, 6_000) });
  });

  test('a resource that is unknown, relative, has a fragment or is of another environment is refused (attack 1.16)', async () => {
    const ctx = await service.context();
    await addResource(ctx);
    await addResource(await addEnvironment(service.deps, 'staging'), { identifier: 'https://api.example/staging' });
    for (const resource of ['https://api.example/other', '/notes', 'https://api.example/notes#x', 'https://api.example/staging']) {
      await refused('invalid_target', { resource });
    }
    expect(locationParameters(await ask({ resource: 'https://api.example/notes', scope: 'openid read' })).has('code')).toBe(true);
  });

  test('what an error page shows is escaped, and its policy allows nothing inline (attack 1.18)', async () => {
    const response = await ask({ client_id: '<svg onload=alert(1)>', error_description: '<svg onload>', error_hint: '<script>' });
    expect(await response.text()).not.toMatch(/<svg onload|<script>/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
    expect(response.headers.get('content-security-policy')).not.toContain('unsafe');
  });

  test('other methods are 405 with Allow, and HEAD mints nothing (attack 1.19)', async () => {
    const before = await sideEffects(service);
    for (const method of ['HEAD', 'PUT', 'DELETE', 'TRACE', 'PATCH']) {
      expect(await raw(method, `/oauth/authorize?${authorizeQuery(client)}`)).toEqual({ status: 405, allow: 'GET, POST' });
    }
    const head = await browser.request(`/oauth/authorize?${authorizeQuery(client)}`, { method: 'HEAD' });
    expect([head.status, await sideEffects(service)]).toEqual([405, before]);
  });

  test('no page of the flow can be framed (attack 1.21)', async () => {
    const foreign = await addClient(await service.context(), { first_party: false });
    const pages = [
      await ask({ client_id: 'nobody' }),
      await new Browser(service.url).get('/login'),
      await authorizeGet(browser, authorizeQuery(foreign)),
      await browser.get('/oauth/logout'),
      await ask({ response_mode: 'form_post' }),
    ];
    for (const page of pages) {
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(page.headers.get('x-frame-options')).toBe('DENY');
    }
  });

  test('the redirect after credentials is a 303 (attack 1.22)', async () => {
    expect((await new Browser(service.url).login(user.email, password)).status).toBe(303);
    const foreign = await addClient(await service.context(), { first_party: false });
    const page = await (await authorizeGet(browser, authorizeQuery(foreign))).text();
    const request = /name="request" value="([^"]+)"/.exec(page)?.[1] ?? '';
    expect((await browser.post('/oauth/consent', { _csrf: csrfOf(page), request, decision: 'allow' })).status).toBe(303);
  });

  test('answers that carry a code are not stored and send no Referer (attack 1.24)', async () => {
    for (const response of [await ask({}), await ask({ response_mode: 'form_post' })]) {
      expect([response.headers.get('referrer-policy'), response.headers.get('cache-control')]).toEqual(['no-referrer', 'no-store']);
    }
    const html = await (await ask({ response_mode: 'form_post' })).text();
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(assets.filter((address) => !address.startsWith('/') && !address.startsWith('#'))).toEqual([]);
  });

  test('a thousand codes are distinct, of 256 bits, without order or content (attack 1.25)', async () => {
    const codes: string[] = [];
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => ask({ prompt: 'none' })));
      codes.push(...answers.map((answer) => locationParameters(answer).get('code') ?? ''));
    }
    expect(new Set(codes).size).toBe(1_000);
    for (const code of codes) expect(code).toMatch(/^ac_[\w-]{43}$/);
    expect(codes).not.toEqual([...codes].sort());
    const bytes = codes.map((code) => Buffer.from(code.slice(3), 'base64url'));
    for (let place = 0; place < 32; place++) expect(new Set(bytes.map((one) => one[place])).size).toBeGreaterThan(200);
  });

  test('iss is in every answer, and is the issuer of discovery (attack 1.27)', async () => {
    const discovery = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Record<string, unknown>;
    expect(discovery['authorization_response_iss_parameter_supported']).toBe(true);
    for (const answer of [await ask({}), await ask({ response_type: 'x' })])
      expect(locationParameters(answer).get('iss')).toBe(discovery['issuer']);
  });
});
