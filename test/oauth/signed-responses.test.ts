// Answers that are signed: of the authorization endpoint (JARM), and of introspection (RFC 9701).
import { decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { csrfOf, locationParameters, pkcePair, type Browser } from '../support/browser.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { authorizeCode, claimsOf, oauthPost, redeem } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const insecure = { [oauth.allowInsecureRequests]: true };
let client: TestClient;
let signing: TestClient;
let user: UserRow;
let browser: Browser;
let as: oauth.AuthorizationServer;

beforeAll(async () => {
  const ctx = await service.context();
  await ctx.db.knex('environments').update({ signing_algorithms: ['RS256'] });
  client = await addClient(ctx, { redirect_uris: ['https://app.example/cb'] });
  signing = await addClient(ctx, { redirect_uris: ['https://signing.example/cb'], authorization_signed_response_alg: 'RS256' });
  user = await addUser(ctx);
  browser = await signedIn(service, user);
  const issuer = new URL(service.url);
  as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
});

const ask = (one: TestClient, extra: Record<string, string | undefined> = {}) => authorizeGet(browser, authorizeQuery(one, extra));
const readAnswer = (one: TestClient, location: string) =>
  oauth.validateJwtAuthResponse(as, { client_id: one.id }, new URL(location), 'st-1', insecure);

describe('JARM', () => {
  test.each(['jwt', 'query.jwt'])(
    'response_mode %s: one parameter, which a certified library verifies and redeems',
    async (response_mode) => {
      const { verifier, challenge } = pkcePair();
      const answer = await ask(client, { response_mode, code_challenge: challenge, code_challenge_method: 'S256' });
      expect([...locationParameters(answer).keys()]).toEqual(['response']);
      const parameters = await readAnswer(client, answer.headers.get('location') ?? '');
      const redirect_uri = client.redirect_uris[0] as string;
      const tokens = await redeem(service.url, client, { code: parameters.get('code') as string, verifier, redirect_uri });
      expect(tokens.status).toBe(200);
    },
  );

  test('response_mode fragment and fragment.jwt: in the fragment, nothing in the query, errors too (specification 5.2.1)', async () => {
    for (const application_type of ['spa', 'native'] as const) {
      const app = await addClient(await service.context(), {
        application_type,
        token_endpoint_auth_method: 'none',
        require_pkce: true,
        first_party: true,
      });
      const { verifier, challenge } = pkcePair();
      const asked = { code_challenge: challenge, code_challenge_method: 'S256' };
      const plain = new URL((await ask(app, { response_mode: 'fragment', ...asked })).headers.get('location') ?? '');
      const said = new URLSearchParams(plain.hash.slice(1));
      expect([plain.search, said.get('state'), said.get('iss')]).toEqual(['', 'st-1', service.url]);
      const redirect_uri = app.redirect_uris[0] as string;
      expect((await redeem(service.url, app, { code: said.get('code') as string, verifier, redirect_uri })).status).toBe(200);
      const refused = new URL((await ask(app, { response_mode: 'fragment' })).headers.get('location') ?? '');
      expect([refused.search, new URLSearchParams(refused.hash.slice(1)).get('error')]).toEqual(['', 'invalid_request']);
      const signed = new URL((await ask(app, { response_mode: 'fragment.jwt', ...asked })).headers.get('location') ?? '');
      expect([signed.search, [...new URLSearchParams(signed.hash.slice(1)).keys()]]).toEqual(['', ['response']]);
    }
    const refused = await ask(client, { response_mode: 'fragment' });
    expect(locationParameters(refused).get('error_description')).toContain('single-page and native clients');
  });

  test('it says who signed, for whom, and is good for five minutes', async () => {
    const response = locationParameters(await ask(client, { response_mode: 'jwt' })).get('response') as string;
    expect(claimsOf(response)).toEqual({
      code: expect.any(String) as string,
      state: 'st-1',
      iss: service.url,
      aud: client.id,
      exp: Math.floor(service.clock.now().getTime() / 1000) + 300,
    });
  });

  test('form_post.jwt: the page posts the one field', async () => {
    const answer = await ask(client, { response_mode: 'form_post.jwt' });
    const html = await answer.text();
    expect([answer.status, [...html.matchAll(/<input type="hidden" name="(\w+)"/g)].map((match) => match[1])]).toEqual([200, ['response']]);
  });

  test('errors are signed too', async () => {
    const answer = await ask(client, { response_mode: 'jwt', response_type: 'token' });
    const failed = await readAnswer(client, answer.headers.get('location') ?? '').catch((error: unknown) => error);
    expect(failed).toMatchObject({ error: 'unsupported_response_type' });
  });

  test.each([
    ['no response_mode', {}],
    ['an error', { scope: 'a"b' }],
    ['prompt=none without a way', { prompt: 'none', max_age: '0' }],
  ])('a client that has its answers signed gets nothing else: %s (attack 31.561)', async (_name, extra) => {
    service.clock.advance(2000);
    expect([...locationParameters(await ask(signing, extra)).keys()]).toEqual(['response']);
  });

  test.each(['query', 'form_post'])('it is refused response_mode %s, in a signed answer (attack 31.561)', async (response_mode) => {
    const answer = await ask(signing, { response_mode });
    const body = await answer.text();
    const response =
      response_mode === 'query' ? locationParameters(answer).get('response') : /name="response" value="([^"]+)"/.exec(body)?.[1];
    expect(claimsOf(response as string)).toMatchObject({ error: 'invalid_request', aud: signing.id, state: 'st-1' });
  });

  test('the consent page says no in a signed answer (attack 31.561)', async () => {
    const ctx = await service.context();
    const third = await addClient(ctx, {
      first_party: false,
      authorization_signed_response_alg: 'RS256',
      redirect_uris: ['https://third.example/cb'],
    });
    const html = await (await ask(third)).text();
    const request = /name="request" value="([^"]+)"/.exec(html)?.[1] as string;
    const denied = await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'deny' });
    expect(claimsOf(locationParameters(denied).get('response') as string)).toMatchObject({ error: 'access_denied', aud: third.id });
  });

  test('discovery says so, and what it is signed with', () => {
    expect(as.response_modes_supported).toEqual(['query', 'fragment', 'form_post', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt']);
    expect(as.authorization_signing_alg_values_supported).toEqual(['RS256']);
    expect(as.introspection_signing_alg_values_supported).toEqual(['RS256']);
  });
});

describe('introspection as a JWT', () => {
  let token: string;
  beforeAll(async () => {
    token = (await redeem(service.url, client, await authorizeCode(browser, client))).body.access_token;
  });
  const introspect = async (one: TestClient, accept: string | null) => {
    const response = await fetch(`${service.url}/oauth/introspect`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${one.id}:${one.client_secret}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
        ...(accept === null ? {} : { accept }),
      },
      body: new URLSearchParams({ token }).toString(),
    });
    return { type: response.headers.get('content-type'), text: await response.text() };
  };

  test('a certified library asks for it and verifies it', async () => {
    const theirs: oauth.Client = { client_id: client.id };
    const secret = oauth.ClientSecretBasic(client.client_secret);
    const response = await oauth.introspectionRequest(as, theirs, secret, token, { ...insecure, requestJwtResponse: true });
    const claims = await oauth.processIntrospectionResponse(as, theirs, response);
    await oauth.validateApplicationLevelSignature(as, response, insecure);
    expect(claims).toMatchObject({ active: true, sub: user.id, client_id: client.id });
  });

  test('its type is its own, and it says exactly who, for whom, when and what (RFC 9701 5)', async () => {
    const { type, text } = await introspect(client, 'application/token-introspection+jwt');
    expect(type).toBe('application/token-introspection+jwt');
    expect(decodeProtectedHeader(text)).toMatchObject({ alg: 'RS256', typ: 'token-introspection+jwt' });
    const claims = claimsOf(text);
    expect(Object.keys(claims).sort()).toEqual(['aud', 'iat', 'iss', 'token_introspection']);
    expect([claims['iss'], claims['aud']]).toEqual([service.url, client.id]);
  });

  test('what is not active is exactly that', async () => {
    token = 'at_unknown';
    expect(claimsOf((await introspect(client, 'application/token-introspection+jwt')).text)['token_introspection']).toEqual({
      active: false,
    });
  });

  test('a client that registered it gets it, unless it asks for JSON', async () => {
    const one = await addClient(await service.context(), { introspection_signed_response_alg: 'RS256' });
    for (const [accept, type] of [
      [null, 'application/token-introspection+jwt'],
      ['*/*', 'application/token-introspection+jwt'],
      ['application/json', 'application/json'],
    ] as const)
      expect((await introspect(one, accept)).type).toBe(type);
    expect((await introspect(client, '*/*')).type).toBe('application/json');
  });
});

test('neither is an access token, or a hint about a session (attack 31.562)', async () => {
  const answer = locationParameters(await ask(client, { response_mode: 'jwt' })).get('response') as string;
  const response = await fetch(`${service.url}/oauth/introspect`, {
    method: 'POST',
    headers: {
      accept: 'application/token-introspection+jwt',
      authorization: `Basic ${Buffer.from(`${client.id}:${client.client_secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ token: answer }).toString(),
  });
  const introspection = await response.text();
  for (const jwt of [answer, introspection]) {
    expect((await oauthPost(service.url, '/oauth/introspect', client, { token: jwt })).body).toEqual({ active: false });
    const hinted = await ask(client, { id_token_hint: jwt, prompt: 'none' });
    expect(locationParameters(hinted).get('error')).not.toBeNull();
  }
});
