// Pushed authorization requests (RFC 9126): judged where the client proves who it is, opened by a reference, answered once.
import * as oauth from 'oauth4webapi';
import { request as send } from 'undici';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { addClient, addEnvironment, addUser, password, type TestClient } from '../support/data.js';
import { authorizeGet, expectPage400, expectRedirectError } from '../support/authorize.js';
import { Browser, csrfOf, locationParameters, pkcePair } from '../support/browser.js';
import { oauthPost, redeem } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { createClientKey, unsignedJwt, type ClientKey } from '../support/signed-jwt.js';

const service = sharedService();
let client: TestClient;
let user: UserRow;
let browser: Browser;
let key: ClientKey;

beforeAll(async () => {
  const ctx = await service.context();
  key = await createClientKey('ES256');
  client = await addClient(ctx, { redirect_uris: ['https://app.example/cb'], jwks: { keys: [key.jwk] } });
  user = await addUser(ctx);
});
beforeEach(async () => {
  browser = await signedIn(service, user);
});

const { verifier, challenge } = pkcePair();
const fields = (extra: Record<string, string> = {}): Record<string, string> => ({
  response_type: 'code',
  redirect_uri: client.redirect_uris[0] as string,
  scope: 'openid',
  state: 'pushed',
  code_challenge: challenge,
  code_challenge_method: 'S256',
  ...extra,
});
const push = (extra: Record<string, string> = {}, by: TestClient = client) => oauthPost(service.url, '/oauth/par', by, fields(extra));
const pushed = async (extra: Record<string, string> = {}) => (await push(extra)).body['request_uri'] as string;
const query = (request_uri: string, extra: Record<string, string> = {}) =>
  new URLSearchParams({ client_id: client.id, request_uri, ...extra }).toString();
const open = (request_uri: string, extra: Record<string, string> = {}, by = browser) => authorizeGet(by, query(request_uri, extra));
async function expectUnusable(send: () => Promise<Response>): Promise<void> {
  const page = await expectPage400(service, send);
  expect(page).toContain('invalid_request_uri');
  expect(page.match(/Go back to the application/g)).toHaveLength(1);
}

test('the answer is 201 with a reference of 256 bits that is good for a minute and never cached; discovery names the endpoint (RFC 9126 2.2, 5)', async () => {
  const answer = await push();
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'no-store']);
  expect(answer.body).toEqual({
    request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[\w-]{43}$/) as string,
    expires_in: 60,
  });
  const metadata = (await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json()) as Record<string, unknown>;
  expect(metadata['pushed_authorization_request_endpoint']).toBe(`${service.url}/oauth/par`);
  expect(metadata['require_pushed_authorization_requests']).toBe(false);
});

test('a certified library pushes, is sent to the browser with two parameters, and redeems', async () => {
  const issuer = new URL(service.url);
  const insecure = { [oauth.allowInsecureRequests]: true };
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const theirs: oauth.Client = { client_id: client.id };
  const secret = oauth.ClientSecretBasic(client.client_secret);
  const par = await oauth.processPushedAuthorizationResponse(
    as,
    theirs,
    await oauth.pushedAuthorizationRequest(as, theirs, secret, new URLSearchParams({ client_id: client.id, ...fields() }), insecure),
  );
  const answer = await open(par.request_uri);
  const callback = new URL(answer.headers.get('location') ?? '');
  const parameters = oauth.validateAuthResponse(as, theirs, callback, 'pushed');
  const uri = client.redirect_uris[0] as string;
  const response = await oauth.authorizationCodeGrantRequest(as, theirs, secret, parameters, uri, verifier, insecure);
  const tokens = await oauth.processAuthorizationCodeResponse(as, theirs, response);
  expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(user.id);
});

test('what stands beside the reference counts for nothing (RFC 9126 4, RFC 9101 5) (attack 26.451)', async () => {
  const answer = await open(await pushed(), {
    redirect_uri: 'https://evil.example/',
    scope: 'openid email',
    state: 'mine',
    prompt: 'none',
  });
  const location = answer.headers.get('location') ?? '';
  expect(location.startsWith('https://app.example/cb?')).toBe(true);
  expect(locationParameters(answer).get('state')).toBe('pushed');
  const code = locationParameters(answer).get('code') as string;
  const tokens = await redeem(service.url, client, { code, verifier, redirect_uri: client.redirect_uris[0] as string });
  expect(tokens.body['scope']).toBe('openid');
});

describe('a reference', () => {
  test('is answered with one code: a second time, and by two at once, it is a page (attack 26.452)', async () => {
    const request_uri = await pushed();
    const answers = await Promise.all([open(request_uri), open(request_uri), open(request_uri)]);
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(2);
    await expectUnusable(() => open(request_uri));
  });

  test('may be opened twice before it is answered', async () => {
    const stranger = new Browser(service.url);
    const request_uri = await pushed();
    for (const _time of [1, 2]) expect((await open(request_uri, {}, stranger)).headers.get('location')).toMatch(/^\/login\?/);
    expect(locationParameters(await open(request_uri)).has('code')).toBe(true);
  });

  test('expires after a minute, unless the sign-in that it began takes longer', async () => {
    const [late, begun] = [await pushed(), await pushed({ state: 'begun' })];
    const stranger = new Browser(service.url);
    const return_to = locationParameters(await open(begun, {}, stranger)).get('return_to') ?? '';
    service.clock.advance(61_000);
    await expectUnusable(() => open(late));
    await expectUnusable(() => open(begun));
    const back = await stranger.login(user.email, password, return_to);
    const answer = locationParameters(await stranger.get(back.headers.get('location') ?? ''));
    expect([answer.get('state'), answer.has('code')]).toEqual(['begun', true]);
    expect((await stranger.get(back.headers.get('location') ?? '')).status).toBe(400);
  });

  test('of another client, or of another environment, unknown, or sent twice is a page (attack 26.453)', async () => {
    const other = await addClient(await service.context(), { redirect_uris: ['https://other.example/cb'] });
    const request_uri = await pushed();
    await expectUnusable(() => authorizeGet(browser, new URLSearchParams({ client_id: other.id, request_uri }).toString()));
    await expectUnusable(() => open(`${request_uri}x`));
    await expectUnusable(() => authorizeGet(browser, `${query(request_uri)}&request_uri=${encodeURIComponent(request_uri)}`));
    const second = await addEnvironment(service.deps, 'staging');
    await addClient(second, { id: client.id, redirect_uris: client.redirect_uris });
    const elsewhere = await send(`${service.url}/oauth/authorize?${query(request_uri)}`, {
      headers: { host: new URL(second.environment.issuer).host },
    });
    expect([elsewhere.statusCode, elsewhere.headers['location']]).toEqual([400, undefined]);
    await elsewhere.body.dump();
    expect(locationParameters(await open(request_uri)).has('code')).toBe(true);
  });

  test('goes through the consent page', async () => {
    const third = await addClient(await service.context(), { first_party: false, redirect_uris: ['https://third.example/cb'] });
    const answer = await push({ redirect_uri: 'https://third.example/cb' }, third);
    const asked = await authorizeGet(
      browser,
      new URLSearchParams({ client_id: third.id, request_uri: answer.body['request_uri'] as string }).toString(),
    );
    const html = await asked.text();
    const request = /name="request" value="([^"]+)"/.exec(html)?.[1] as string;
    const allowed = await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'allow' });
    expect(locationParameters(allowed).has('code')).toBe(true);
    expect((await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'allow' })).status).toBe(400);
  });
});

describe('refused where it is pushed, in JSON', () => {
  test.each([
    ['a request_uri', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'invalid_request'],
    ['a redirect URI that is not registered', { redirect_uri: 'https://evil.example/' }, 'invalid_request'],
    ['no redirect URI', { redirect_uri: '' }, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a scope that is no list of words', { scope: 'a"b' }, 'invalid_scope'],
    ['an unknown resource', { resource: 'https://nowhere.example' }, 'invalid_target'],
    ['an unsigned request object', { request: unsignedJwt({ a: 1 }) }, 'request_not_supported'],
    ['a broken request object', { request: 'a.b.c' }, 'invalid_request_object'],
  ])('%s', async (_name, extra, error) => {
    const answer = await push(extra as Record<string, string>);
    expect([answer.status, answer.body.error]).toEqual([400, error]);
  });

  test('a wrong secret, no client, a client_id beside the credentials that is another: nobody pushes for others (attack 26.454)', async () => {
    const other = await addClient(await service.context());
    expect((await push({}, { ...client, client_secret: 'wrong' })).status).toBe(401);
    expect((await oauthPost(service.url, '/oauth/par', null, fields())).status).toBe(401);
    expect((await oauthPost(service.url, '/oauth/par', null, fields({ client_id: client.id }))).status).toBe(401);
    expect((await push({ client_id: other.id })).body.error).toBe('invalid_request');
  });
});

test('a public client pushes with its client_id', async () => {
  const spa = await addClient(await service.context(), { application_type: 'spa', token_endpoint_auth_method: 'none', require_pkce: true });
  expect((await push({ redirect_uri: spa.redirect_uris[0] as string }, spa)).status).toBe(201);
});

test('a request object that is pushed holds everything: what stands beside it is not taken (RFC 9126 3)', async () => {
  const inside = { iss: client.id, aud: service.url, ...fields({ state: 'inside' }) };
  const answer = await oauthPost(service.url, '/oauth/par', client, {
    request: await key.sign(inside),
    scope: 'openid email',
    state: 'outside',
  });
  expect(answer.status).toBe(201);
  const opened = locationParameters(await open(answer.body['request_uri'] as string));
  expect([opened.get('state'), opened.has('code')]).toEqual(['inside', true]);
});

test('where it is demanded, by the client or the environment, a plain request is refused (RFC 9126 5) (attack 26.455)', async () => {
  const ctx = await service.context();
  const strict = await addClient(ctx, { require_pushed_authorization_requests: true, redirect_uris: ['https://strict.example/cb'] });
  const plain = (one: TestClient) =>
    authorizeGet(
      browser,
      new URLSearchParams({ ...fields({ redirect_uri: one.redirect_uris[0] as string }), client_id: one.id }).toString(),
    );
  await expectRedirectError(service, strict, 'invalid_request', () => plain(strict), 'pushed');
  expect((await push({ redirect_uri: 'https://strict.example/cb' }, strict)).status).toBe(201);
  expect(locationParameters(await plain(client)).has('code')).toBe(true);
  await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ require_pushed_authorization_requests: true });
  service.deps.cache.clear();
  await expectRedirectError(service, client, 'invalid_request', () => plain(client), 'pushed');
  expect(locationParameters(await open(await pushed())).has('code')).toBe(true);
  await ctx.db.knex('environments').where({ id: ctx.environment.id }).update({ require_pushed_authorization_requests: false });
  service.deps.cache.clear();
});

test('CORS: an allowed origin may push from its page', async () => {
  const spa = await addClient(await service.context(), { token_endpoint_auth_method: 'none', allowed_origins: ['https://page.example'] });
  const answer = await oauthPost(service.url, '/oauth/par', spa, fields({ redirect_uri: spa.redirect_uris[0] as string }), {
    origin: 'https://page.example',
  });
  expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([201, 'https://page.example']);
});

test('nothing that a client proves itself with is stored with the request (attack 26.763)', async () => {
  const [assertion, client_secret] = ['assertion-of-a-platform', client.client_secret];
  const posted = { ...client, token_endpoint_auth_method: 'none' } as TestClient;
  const answer = await push({ client_id: client.id, client_secret, grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion, state: 'proven' }, posted); // prettier-ignore
  expect(answer.status).toBe(201);
  const rows = (await service.deps.db.knex('pushed_requests').select('parameters')) as { parameters: Record<string, string> }[];
  const stored = rows.find(({ parameters }) => parameters['state'] === 'proven');
  expect(Object.keys(stored?.parameters ?? {}).sort()).toEqual(['client_id', ...Object.keys(fields())].sort());
});
