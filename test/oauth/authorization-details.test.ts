// Rich authorization requests (RFC 9396): what is asked for beyond scopes, allowed one by one, carried by tokens, and never widened.
import * as client from 'openid-client';
import { beforeAll, describe, expect, test } from 'vitest';
import { deleteDetailType, updateDetailType } from '../../src/db/tables/authorization_detail_types.js';
import { withdrawConsent } from '../../src/domain/grants/authorizations.js';
import { transaction } from '../../src/domain/context.js';
import { tokenExchangeGrantType } from '../../src/lib/grant-types.js';
import { accounts, addType, paymentFields, paymentSentence } from '../support/authorization-details.js';
import { authorizeGet, authorizeQuery, expectRedirectError, s256 } from '../support/authorize.js';
import { csrfOf, locationParameters, type Browser } from '../support/browser.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';
import { createClientKey } from '../support/signed-jwt.js';
import { pkcePair } from '../support/browser.js';

const service = sharedService();
const ctx = contextOf(service);
const types = ['payment', 'archive'];
const grant_types = ['authorization_code', 'refresh_token', 'client_credentials', tokenExchangeGrantType];
const bank = shared(() => addResource(ctx, { identifier: 'https://bank.example', token_format: 'jwt' }));
const other = shared(() => addResource(ctx, { identifier: 'https://other.example', token_format: 'opaque' }));
const shop = shared(() => addClient(ctx, { grant_types, authorization_details_types: [...types, 'errand'], first_party: false }));
const stranger = shared(() => addClient(ctx, { first_party: false }));
const own = shared(() => addClient(ctx, { grant_types, authorization_details_types: types }));
const user = shared(() => addUser(ctx));
const key = shared(() => createClientKey('ES256'));
let browser: Browser;

beforeAll(async () => {
  await addType(ctx, bank, 'payment', { fields: paymentFields, sentence: paymentSentence });
  await addType(ctx, bank, 'archive', { fields: [accounts], sentence: { en: 'Read statements of {accounts}' }, remember: true });
  await addType(ctx, other, 'errand', { fields: [accounts], sentence: { en: 'Go to {accounts}' } });
  for (const resource of [bank, other]) {
    await addGrant(ctx, own, resource, ['read'], 'user', {
      token_exchange: 'delegation',
      subject_audiences: [bank.identifier, other.identifier],
    });
    await addGrant(ctx, own, resource, ['read']);
  }
  browser = await signedIn(service, user);
});

const payment = { type: 'payment', amount: { currency: 'EUR', amount: '123.50' }, payee: 'Muster GmbH' };
const archive = { type: 'archive', accounts: ['DE01', 'DE02'] };
const json = JSON.stringify;
const { verifier, challenge } = pkcePair();
const parameters = (details: unknown, more: Record<string, string | undefined> = {}) => ({
  resource: bank.identifier,
  scope: 'openid read',
  ...s256(challenge),
  authorization_details: typeof details === 'string' ? details : json(details),
  ...more,
});
const ask = (by: TestClient, details: unknown, more: Record<string, string | undefined> = {}, who = browser) =>
  authorizeGet(who, authorizeQuery(by, parameters(details, more)));

async function answer(page: Response, ticked: number[], who = browser): Promise<Response> {
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const boxes = Object.fromEntries(ticked.map((index) => [`detail_${index}`, 'on']));
  return who.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'allow', ...boxes });
}

const codeIn = (response: Response) => ({
  code: locationParameters(response).get('code') ?? '',
  verifier,
  redirect_uri: shop.redirect_uris[0] ?? '',
});
const tokensFor = async (by: TestClient, details: unknown[], ticked = details.map((_one, index) => index), more = {}) =>
  (await redeem(service.url, by, codeIn(await answer(await ask(by, details, more), ticked)))).body;
const refresh = (by: TestClient, refresh_token: string | undefined, details?: unknown) =>
  tokenRequest(service.url, by, { grant_type: 'refresh_token', refresh_token: refresh_token ?? '', ...(details !== undefined && { authorization_details: json(details) }) }); // prettier-ignore
const introspect = async (by: TestClient, token: string) => (await oauthPost(service.url, '/oauth/introspect', by, { token })).body;

describe('the page', () => {
  test('says each detail by the sentence of its type, in the language of the person, never as JSON; values are isolated', async () => {
    const html = await (await ask(shop, [payment, archive])).text();
    expect(html).toContain('Pay \u2068€123.50\u2069 to \u2068Muster GmbH\u2069 on –');
    expect(html).toContain('Read statements of \u2068DE01\u2069 and \u2068DE02\u2069');
    expect(html).not.toContain('&#34;amount');
    const german = await (await ask(shop, [{ ...payment, on: '2026-12-24' }, archive], { ui_locales: 'de' })).text();
    expect(german).toContain(
      'lang="de" dir="ltr">\u2068123,50\u00a0€\u2069 am \u206824. Dezember 2026\u2069 an \u2068Muster GmbH\u2069 zahlen',
    );
    expect(german).toContain('lang="en" dir="ltr">Read statements');
  });

  test('escapes what a value holds', async () => {
    const html = await (await ask(shop, [{ ...payment, payee: '<img src=x> {amount} & Co' }])).text();
    expect(html).toContain('&lt;img src=x&gt; {amount} &amp; Co');
    expect(html).not.toContain('<img src=x>');
  });

  test('comes every time, of first-party clients too, and prompt=none is consent_required', async () => {
    for (const by of [own, shop]) {
      expect((await tokensFor(by, [payment])).authorization_details).toEqual([payment]);
      expect(await (await ask(by, [payment])).text()).toContain('id="consent"');
      await expectRedirectError(service, by, 'consent_required', () => ask(by, [payment], { prompt: 'none' }));
    }
  });

  test('gives what was ticked alone: in the token answer, the JWT, and at introspection (attack 58.1787)', async () => {
    const tokens = await tokensFor(shop, [payment, archive], [1]);
    expect(tokens.authorization_details).toEqual([archive]);
    expect(claimsOf(tokens.access_token)['authorization_details']).toEqual([archive]);
    expect((await introspect(shop, tokens.access_token))['authorization_details']).toEqual([archive]);
    expect((await introspect(shop, tokens.refresh_token ?? ''))['authorization_details']).toEqual([archive]);
    expect((await tokensFor(shop, [payment], [])).authorization_details).toEqual([]);
    expect((await tokensFor(shop, [payment], [1, 5])).authorization_details).toEqual([]);
  });

  test('remembers the same detail of a type that is remembered, until the permission is withdrawn', async () => {
    const by = await addClient(ctx, { authorization_details_types: types, first_party: false });
    const detail = { type: 'archive', accounts: ['DE07'] };
    expect((await tokensFor(by, [detail], [])).authorization_details).toEqual([]);
    expect((await ask(by, [detail])).status).toBe(200);
    await tokensFor(by, [detail]);
    const again = await ask(by, [detail], { prompt: 'none' });
    expect((await redeem(service.url, by, codeIn(again))).body['authorization_details']).toEqual([detail]);
    expect((await ask(by, [{ ...detail, accounts: ['DE08'] }])).status).toBe(200);
    expect(await (await browser.get('/account/applications')).text()).toContain('Read statements of \u2068DE07\u2069');
    await transaction(ctx, (tx) => withdrawConsent(tx, user.id, by.id));
    expect((await ask(by, [detail])).status).toBe(200);
  });
});

describe('a request is refused with invalid_authorization_details', () => {
  const nested = `[{"type":"payment","payee":${'['.repeat(3000)}${']'.repeat(3000)}}]`;
  const cases: [string, unknown][] = [
    ['that is no JSON', '[{'],
    ['that is no list', payment],
    ['of nothing', []],
    ['of more than ten objects', Array.from({ length: 11 }, () => payment)],
    ['of more than 8 KiB', [{ ...archive, accounts: Array.from({ length: 900 }, (_one, index) => `DE${index}-0000`) }]],
    ['of what is no object', [payment, 1]],
    ['without a type', [{ payee: 'x' }]],
    ['of an unknown type (attack 58.1780)', [{ type: 'transfer' }]],
    ['of a type of another resource (attack 58.1780)', [{ type: 'errand', accounts: ['x'] }]],
    ['named like what every object has (attack 58.1781)', [{ type: '__proto__' }]],
    ['with a field named so (attack 58.1781)', `[{"type":"payment","__proto__":{"amount":1},"payee":"x"}]`],
    ['with an inherited field (attack 58.1781)', [{ ...payment, constructor: 'x' }]],
    ['with an unknown field', [{ ...payment, urgent: true }]],
    ['without a required field', [{ type: 'payment', payee: 'x' }]],
    ['of a deep nesting (attack 58.1782)', nested],
    ['of a huge amount (attack 58.1782)', [{ ...payment, amount: { currency: 'EUR', amount: '9'.repeat(400) } }]],
    ['of an amount that no text says (attack 58.1782)', [{ ...payment, amount: { currency: 'EUR', amount: 1e300 } }]],
    ['of an amount beyond max', [{ ...payment, amount: { currency: 'EUR', amount: '500.01' } }]],
    ['of an amount in another currency than that of max (attack 58.1791)', [{ ...payment, amount: { currency: 'KWD', amount: '499' } }]],
    ['of a negative amount', [{ ...payment, amount: { currency: 'EUR', amount: '-1' } }]],
    ['of no currency', [{ ...payment, amount: { currency: 'XXQ', amount: '1' } }]],
    ['of more than an amount', [{ ...payment, amount: { currency: 'EUR', amount: '1', note: 'x' } }]],
    ['with invisible characters (attack 58.1783)', [{ ...payment, payee: 'Muster\u200bGmbH' }]],
    ['with bidirectional controls (attack 58.1783)', [{ ...payment, payee: 'Muster \u202eHbmG' }]],
    ['with an isolate that ends ours (attack 58.1783)', [{ ...payment, payee: 'x\u2069 to y' }]],
    ['with a line break (attack 58.1783)', [{ ...payment, payee: 'x\ny' }]],
    ['of a day that there is not', [{ ...payment, on: '2026-02-30' }]],
    ['of too many members', [{ ...archive, accounts: ['a', 'b', 'c', 'd'] }]],
    ['of the same member twice', [{ ...archive, accounts: ['a', 'a'] }]],
    ['of no member', [{ ...archive, accounts: [] }]],
  ];
  test.for(cases)('%s', async ([, details]) => {
    await expectRedirectError(service, shop, 'invalid_authorization_details', () => ask(shop, details));
    const pushed = await oauthPost(service.url, '/oauth/par', shop, { response_type: 'code', redirect_uri: shop.redirect_uris[0] ?? '', ...parameters(details) }); // prettier-ignore
    expect([pushed.status, pushed.body.error]).toEqual([400, 'invalid_authorization_details']);
    const own_token = await tokenRequest(service.url, own, { grant_type: 'client_credentials', resource: bank.identifier, authorization_details: typeof details === 'string' ? details : json(details) }); // prettier-ignore
    expect(own_token.status).toBe(400);
    expect(['invalid_authorization_details', 'invalid_request']).toContain(own_token.body.error);
  });

  test('of a type that the client may not ask for, without a resource, and of a disabled type (attack 58.1780)', async () => {
    const refused = (by: TestClient, details: unknown, more = {}) =>
      expectRedirectError(service, by, 'invalid_authorization_details', () => ask(by, details, more));
    await refused(stranger, [payment]);
    await refused(shop, [payment], { resource: undefined });
    const type = await addType(ctx, bank, 'gone', { fields: [accounts], sentence: { en: '{accounts}' } });
    const by = await addClient(ctx, { authorization_details_types: ['gone'], first_party: false });
    const detail = { type: 'gone', accounts: ['x'] };
    const tokens = await tokensFor(by, [detail]);
    await updateDetailType(ctx.scope, type.id, { status: 'disabled' });
    await refused(by, [detail]);
    expect((await introspect(by, tokens.access_token))['authorization_details']).toEqual([]);
    expect((await refresh(by, tokens.refresh_token)).body['authorization_details']).toEqual([]);
    service.clock.advance(1000);
    await deleteDetailType(ctx.scope, type.id);
    await addType(ctx, bank, 'gone', { fields: [accounts], sentence: { en: 'Something else: {accounts}' } });
    expect((await introspect(by, tokens.access_token))['authorization_details']).toEqual([]);
    expect((await refresh(by, tokens.refresh_token)).body['authorization_details']).toEqual([]);
  });
});

describe('within what was allowed', () => {
  const narrower = [
    [[payment]],
    [[{ ...payment, amount: { currency: 'EUR', amount: '10' } }]],
    [[{ type: 'archive', accounts: ['DE02'] }]],
    [[archive, payment]],
  ];
  const wider: [string, unknown][] = [
    ['a greater amount', [{ ...payment, amount: { currency: 'EUR', amount: '123.51' } }]],
    ['another currency', [{ ...payment, amount: { currency: 'KWD', amount: '100' } }]],
    ['another payee', [{ ...payment, payee: 'Mallory' }]],
    ['a day more', [{ ...payment, on: '2026-12-24' }]],
    ['a field less', [{ type: 'payment', amount: payment.amount }]],
    ['another member', [{ type: 'archive', accounts: ['DE02', 'DE03'] }]],
    ['no member', [{ type: 'archive', accounts: [] }]],
    ['the same twice', [payment, payment]],
    ['another type', [{ type: 'errand', accounts: ['DE01'] }]],
    ['a prototype', `[{"type":"archive","accounts":["DE01"],"__proto__":{}}]`],
    ['nothing', []],
    ['no JSON', '{'],
  ];

  test.for(narrower)(
    'a code and a refresh token give less where less is asked for, and the refresh token keeps all: %j',
    async ([less]) => {
      const grant = codeIn(await answer(await ask(shop, [payment, archive]), [0, 1]));
      const tokens = (await redeem(service.url, shop, grant, { authorization_details: json(less) })).body;
      expect(tokens.authorization_details).toEqual(less);
      expect(claimsOf(tokens.access_token)['authorization_details']).toEqual(less);
      const refreshed = await refresh(shop, tokens.refresh_token, less);
      expect(claimsOf(refreshed.body.access_token)['authorization_details']).toEqual(less);
      expect((await refresh(shop, tokens.refresh_token)).body['authorization_details']).toEqual([payment, archive]);
    },
  );

  test.for(wider)('details can not be widened: %s (attack 58.1784)', async ([, more]) => {
    const text = typeof more === 'string' ? more : json(more);
    const grant = codeIn(await answer(await ask(shop, [payment, archive]), [0, 1]));
    const refused = await redeem(service.url, shop, grant, { authorization_details: text });
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_authorization_details']);
    expect((await redeem(service.url, shop, grant)).body.error).toBe('invalid_grant');
    const { refresh_token, access_token } = await tokensFor(own, [payment, archive]);
    const renewed = await tokenRequest(service.url, own, { grant_type: 'refresh_token', refresh_token: refresh_token ?? '', authorization_details: text }); // prettier-ignore
    expect([renewed.status, renewed.body.error]).toEqual([400, 'invalid_authorization_details']);
    const exchanged = await tokenRequest(service.url, own, { grant_type: tokenExchangeGrantType, subject_token: access_token, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token', resource: bank.identifier, authorization_details: text }); // prettier-ignore
    expect([exchanged.status, exchanged.body.error]).toEqual([400, 'invalid_authorization_details']);
  });

  test('a token without details gets none later, by refresh or exchange (attack 58.1784)', async () => {
    const response = await authorizeGet(browser, authorizeQuery(own, parameters([payment], { authorization_details: undefined })));
    const { refresh_token, access_token } = (await redeem(service.url, own, codeIn(response))).body;
    expect(claimsOf(access_token)).not.toHaveProperty('authorization_details');
    expect((await refresh(own, refresh_token, [payment])).body.error).toBe('invalid_authorization_details');
    expect((await refresh(own, refresh_token)).body).not.toHaveProperty('authorization_details');
  });

  test('an exchange keeps them at the same API, tells another one none, and brings none back (attack 58.1785)', async () => {
    const { access_token } = await tokensFor(own, [payment, archive]);
    const exchange = (subject_token: string, resource: string, more = {}) =>
      tokenRequest(service.url, own, { grant_type: tokenExchangeGrantType, subject_token, subject_token_type: 'urn:ietf:params:oauth:token-type:access_token', resource, ...more }); // prettier-ignore
    const same = await exchange(access_token, bank.identifier, { authorization_details: json([payment]) });
    expect([same.body['authorization_details'], claimsOf(same.body.access_token)['authorization_details']]).toEqual([[payment], [payment]]);
    const elsewhere = (await exchange(access_token, other.identifier)).body;
    expect(elsewhere).not.toHaveProperty('authorization_details');
    expect(await introspect(own, elsewhere.access_token)).not.toHaveProperty('authorization_details');
    expect((await exchange(elsewhere.access_token, bank.identifier)).body['authorization_details']).toEqual([]);
  });
});

test('a client for itself asks at the token endpoint; an opaque token tells by introspection (RFC 9396 6)', async () => {
  const credentials = (by: TestClient, resource: string, details: unknown) =>
    tokenRequest(service.url, by, { grant_type: 'client_credentials', resource, authorization_details: json(details) });
  const { body } = await credentials(own, bank.identifier, [archive]);
  expect([body['authorization_details'], claimsOf(body.access_token)['authorization_details']]).toEqual([[archive], [archive]]);
  const runner = await addClient(ctx, { grant_types, authorization_details_types: ['errand'] });
  await addGrant(ctx, runner, other, ['read']);
  const errand = { type: 'errand', accounts: ['x'] };
  const opaque = (await credentials(runner, other.identifier, [errand])).body;
  expect((await introspect(runner, opaque.access_token))['authorization_details']).toEqual([errand]);
});

test('a signed request object bears them as a list (RFC 9396 2, RFC 9101 4)', async () => {
  const by = await addClient(ctx, { authorization_details_types: types, first_party: false, jwks: { keys: [key.jwk] } });
  const { authorization_details: _text, ...others } = parameters([payment]);
  const request = await key.sign({ iss: by.id, aud: service.url, authorization_details: [payment], ...others });
  const page = await authorizeGet(browser, authorizeQuery(by, { request, ...others }));
  expect(await page.text()).toContain('to \u2068Muster GmbH\u2069');
});

test('one that is nested deeper than a process can write is refused (attack 65.1894)', async () => {
  const by = await addClient(ctx, { authorization_details_types: types, first_party: false, jwks: { keys: [key.jwk] } });
  const { authorization_details: _text, ...others } = parameters([payment]);
  const claims = JSON.stringify({ iss: by.id, aud: service.url, ...others });
  for (const [name, deep] of [
    ['authorization_details', '['.repeat(5_500) + ']'.repeat(5_500)],
    ['claims', '{"a":'.repeat(5_500) + '1' + '}'.repeat(5_500)],
  ]) {
    const request = await key.signText(claims.replace(/}$/, `,"${name}":${deep}}`));
    const pushed = await oauthPost(service.url, '/oauth/par', by, { request, client_id: by.id });
    expect([name, pushed.status, pushed.body.error]).toEqual([name, 400, 'invalid_request_object']);
  }
});

test('both metadata documents name the types (RFC 9396 10, RFC 9728 2)', async () => {
  const document = async (path: string) => (await (await fetch(service.url + path)).json()) as Record<string, unknown>;
  const server = await document('/.well-known/oauth-authorization-server');
  expect(server['authorization_details_types_supported']).toEqual(expect.arrayContaining(['archive', 'errand', 'payment']));
  const at = async (id: string) => (await document(`/oauth/resources/${id}/metadata`))['authorization_details_types_supported'];
  expect(await at(other.id)).toEqual(['errand']);
  expect(await at((await addResource(ctx, { identifier: 'https://plain.example' })).id)).toBeUndefined();
});

describe('openid-client', () => {
  test.for(['authorize', 'par'])('asks for details by %s, and reads them in the token answer', async (way) => {
    const options = { execute: [client.allowInsecureRequests], algorithm: 'oauth2' as const };
    const config = await client.discovery(new URL(service.url), shop.id, shop.client_secret, undefined, options);
    expect(config.serverMetadata()['authorization_details_types_supported']).toContain('payment');
    const code_verifier = client.randomPKCECodeVerifier();
    const sent = {
      redirect_uri: shop.redirect_uris[0] ?? '',
      scope: 'read',
      resource: bank.identifier,
      ...s256(await client.calculatePKCECodeChallenge(code_verifier)),
      authorization_details: json([payment, archive]),
    };
    const url = way === 'par' ? await client.buildAuthorizationUrlWithPAR(config, sent) : client.buildAuthorizationUrl(config, sent);
    const answered = await answer(await browser.get(url.pathname + url.search), [0]);
    const callback = new URL(answered.headers.get('location') ?? '');
    const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier: code_verifier });
    expect(tokens.authorization_details).toEqual([payment]);
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(refreshed.authorization_details).toEqual([payment]);
  });
});
