// Signed request objects by value (OIDC Core 6.1, RFC 9101): processed or refused, never ignored.
import { beforeAll, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { authorizeGet, authorizeQuery, expectPage400, expectRedirectError } from '../support/authorize.js';
import { Browser, locationParameters } from '../support/browser.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { claimsOf, redeem } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { createClientKey, unsignedJwt, type ClientKey } from '../support/signed-jwt.js';

const service = sharedService();
let client: TestClient;
let user: UserRow;
let browser: Browser;
let keys: Record<'RS256' | 'ES256' | 'PS256', ClientKey>;

beforeAll(async () => {
  const ctx = await service.context();
  keys = { RS256: await createClientKey('RS256'), ES256: await createClientKey('ES256'), PS256: await createClientKey('PS256') };
  const redirect_uris = ['https://app.example/cb', 'https://app.example/inside'];
  client = await addClient(ctx, { redirect_uris, jwks: { keys: Object.values(keys).map((key) => key.jwk) } });
  user = await addUser(ctx);
  browser = await signedIn(service, user);
});

const ask = (request: string, extra: Record<string, string | undefined> = {}, by = browser) =>
  authorizeGet(by, authorizeQuery(client, { request, ...extra }));
const refused = async (error: string, request: string | Promise<string>) => {
  const value = await request;
  await expectRedirectError(service, client, error, () => ask(value));
};

describe('processed', () => {
  test.each(['RS256', 'ES256', 'PS256'] as const)('%s: what it says wins over the query', async (alg) => {
    const inside = {
      client_id: client.id,
      response_type: 'code',
      redirect_uri: 'https://app.example/inside',
      state: 'inside',
      nonce: 'n-inside',
      scope: 'openid email',
    };
    const answer = await ask(await keys[alg].sign({ ...inside, iss: client.id, aud: service.url }), { nonce: 'n-outside' });
    expect(answer.headers.get('location')?.startsWith('https://app.example/inside?')).toBe(true);
    expect(locationParameters(answer).get('state')).toBe('inside');
    const code = locationParameters(answer).get('code') ?? '';
    const tokens = await redeem(
      service.url,
      client,
      { code, verifier: '', redirect_uri: 'https://app.example/inside' },
      { code_verifier: '' },
    );
    expect(tokens.body['scope']).toBe('openid email');
    expect(claimsOf(tokens.body.id_token as string)['nonce']).toBe('n-inside');
  });

  test('numbers and objects are taken as the parameters they stand for', async () => {
    const answer = await ask(await keys.RS256.sign({ max_age: 10_000, claims: { userinfo: { name: null } } }));
    expect(locationParameters(answer).has('code')).toBe(true);
    await refused('unmet_authentication_requirements', keys.RS256.sign({ claims: { id_token: { acr: { essential: true, value: '9' } } } }));
  });

  test('a redirect URI that is only inside is enough', async () => {
    const answer = await ask(await keys.RS256.sign({ redirect_uri: 'https://app.example/inside' }), {
      redirect_uri: 'https://evil.example/',
    });
    expect(answer.headers.get('location')?.startsWith('https://app.example/inside?code=')).toBe(true);
  });

  test('it is still in force after a sign-in that takes longer than it lives', async () => {
    const stranger = new Browser(service.url);
    const exp = Math.floor(service.clock.now().getTime() / 1000) + 30;
    const toLogin = await ask(await keys.RS256.sign({ state: 'inside', exp }), {}, stranger);
    const return_to = locationParameters(toLogin).get('return_to') ?? '';
    service.clock.advance(60_000);
    const back = await stranger.login(user.email, password, return_to);
    const answer = locationParameters(await stranger.get(back.headers.get('location') ?? ''));
    expect([answer.get('state'), answer.has('code')]).toEqual(['inside', true]);
  });
});

describe('refused', () => {
  test('unsigned: request_not_supported', async () => {
    for (const alg of ['none', 'NONE']) await refused('request_not_supported', unsignedJwt({ state: 'x' }, { alg }));
  });

  test('a wrong key, HMAC, garbage, another type, that of assertions too (attack 63.1866)', async () => {
    await refused('invalid_request_object', (await createClientKey('RS256', 'RS256-1')).sign({}));
    await refused('invalid_request_object', 'a.b.c');
    await refused('invalid_request_object', keys.RS256.sign({}, { typ: 'at+jwt' }));
    await refused('invalid_request_object', keys.RS256.sign({}, { typ: 'client-authentication+jwt' }));
    const keyless = await addClient(await service.context());
    const value = await keys.RS256.sign({});
    await expectRedirectError(service, keyless, 'invalid_request_object', () =>
      authorizeGet(browser, authorizeQuery(keyless, { request: value })),
    );
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['of another client', () => ({ iss: 'someone' })],
    ['for another issuer', () => ({ aud: 'https://other.example' })],
    ['with another client_id', () => ({ client_id: 'someone' })],
    ['with another response_type', () => ({ response_type: 'token' })],
    ['expired', () => ({ exp: 1 })],
    ['not valid yet', () => ({ nbf: 9_999_999_999 })],
    ['that is a client assertion', () => ({ sub: client.id })],
    ['that holds another', () => ({ request: 'a.b.c' })],
    ['with a list for a parameter', () => ({ scope: ['openid'] })],
  ])('%s', async (_name, claims) => refused('invalid_request_object', keys.RS256.sign(claims())));

  test('a refusal goes to no address that is not registered: unsigned with a good one inside', async () => {
    const request = unsignedJwt({ redirect_uri: 'https://app.example/cb' });
    await expectPage400(service, () => ask(request, { redirect_uri: 'https://evil.example/' }));
  });

  test('who is not signed in is told after sign-in, with the same error', async () => {
    const stranger = new Browser(service.url);
    const toLogin = await ask(await keys.RS256.sign({ iss: 'someone' }), {}, stranger);
    const return_to = locationParameters(toLogin).get('return_to') ?? '';
    const back = await stranger.login(user.email, password, return_to);
    await expectRedirectError(service, client, 'invalid_request_object', () => stranger.get(back.headers.get('location') ?? ''));
  });

  test('request_uri and registration', async () => {
    for (const [name, error] of [['request_uri', 'request_uri_not_supported'], ['registration', 'registration_not_supported']] as const) {
      await expectRedirectError(service, client, error, () => authorizeGet(browser, authorizeQuery(client, { [name]: 'x' })));
    } // prettier-ignore
  });
});
