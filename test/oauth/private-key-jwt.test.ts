// private_key_jwt (RFC 7523, OIDC Core 9): what proves a client, and all that doesn't.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { janitorPass } from '../../src/jobs/janitor.js';
import { addClient, addGrant, addResource, type TestClient } from '../support/data.js';
import { oauthPost } from '../support/oauth.js';
import { startRelyingParty, type RelyingParty } from '../support/relying-party.js';
import { startTestService, type TestService } from '../support/service.js';
import { createClientKey, unsignedJwt, type ClientKey } from '../support/signed-jwt.js';

const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const resource = 'https://api.example/notes';

let service: TestService;
let party: RelyingParty;
let keys: Record<'RS256' | 'ES256' | 'PS256' | 'EdDSA' | 'Ed25519', ClientKey>;
let client: TestClient;

async function machine(row: Parameters<typeof addClient>[1]): Promise<TestClient> {
  const ctx = await service.context();
  const added = await addClient(ctx, {
    application_type: 'machine',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'private_key_jwt',
    secret_digest: null,
    ...row,
  });
  const [api] = await service.deps.db.knex('api_resources').where({ identifier: resource });
  await addGrant(ctx, added, api as never);
  return added;
}

beforeAll(async () => {
  [service, party] = [await startTestService(), await startRelyingParty()];
  await addResource(await service.context());
  keys = {
    RS256: await createClientKey('RS256'),
    ES256: await createClientKey('ES256'),
    PS256: await createClientKey('PS256'),
    EdDSA: await createClientKey('EdDSA'),
    Ed25519: await createClientKey('Ed25519'),
  };
  client = await machine({ jwks: { keys: Object.values(keys).map((key) => key.jwk) } });
});
afterAll(async () => {
  await service?.stop();
  await party?.close();
});

const now = () => Math.floor(service.clock.now().getTime() / 1000);
const claims = (changes: Record<string, unknown> = {}, of = client) => ({
  iss: of.id,
  sub: of.id,
  aud: service.url,
  jti: randomUUID(),
  iat: now(),
  exp: now() + 60,
  ...changes,
});
const request = (client_assertion: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  oauthPost(
    service.url,
    '/oauth/token',
    null,
    { grant_type: 'client_credentials', resource, client_assertion_type, client_assertion, ...fields },
    headers,
  );

async function expectRefused(client_assertion: string, fields: Record<string, string> = {}): Promise<void> {
  const answer = await request(client_assertion, fields);
  expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
  expect(answer.headers.get('cache-control')).toBe('no-store');
}

describe('accepted', () => {
  test.each(['RS256', 'ES256', 'PS256', 'EdDSA', 'Ed25519'] as const)('signed with %s', async (alg) => {
    expect((await request(await keys[alg].sign(claims()))).status).toBe(200);
  });

  test('for the issuer, the token endpoint, or a list with one of them; with or without client_id; within 10 s of skew', async () => {
    for (const aud of [service.url, `${service.url}/oauth/token`, ['https://other.example', service.url]]) {
      expect((await request(await keys.RS256.sign(claims({ aud })))).status).toBe(200);
    }
    expect((await request(await keys.RS256.sign(claims()), { client_id: client.id })).status).toBe(200);
    expect((await request(await keys.RS256.sign(claims({ iat: now() + 8, nbf: now() + 8 })))).status).toBe(200);
    expect((await request(await keys.RS256.sign(claims(), { typ: 'client-authentication+jwt' }))).status).toBe(200);
  });

  test('at introspection and revocation, too', async () => {
    const { body } = await request(await keys.RS256.sign(claims()));
    for (const path of ['/oauth/introspect', '/oauth/revoke']) {
      const fields = { token: body.access_token, client_assertion_type, client_assertion: await keys.RS256.sign(claims()) };
      expect((await oauthPost(service.url, path, null, fields)).status).toBe(200);
    }
  });
});

describe('refused', () => {
  test('the same jti twice, also at once: one passes', async () => {
    const assertion = await keys.RS256.sign(claims());
    const answers = await Promise.all(Array.from({ length: 10 }, () => request(assertion)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    await expectRefused(assertion);
  });

  test('a request object, which browsers carry: its type is another (RFC 9101 10.8, attack 63.1866)', async () => {
    for (const typ of ['oauth-authz-req+jwt', 'application/oauth-authz-req+jwt'])
      await expectRefused(await keys.RS256.sign(claims({ client_id: client.id, response_type: 'code' }), { typ }));
  });

  test('what a spent jti leaves is forgotten once it has expired', async () => {
    await request(await keys.RS256.sign(claims()));
    service.clock.advance(120_000);
    await janitorPass(service.deps);
    expect(await service.deps.db.knex('client_assertions').where('expires_at', '<', service.clock.now())).toEqual([]);
  });

  test.each<[string, () => Record<string, unknown>]>([
    ['another iss', () => ({ iss: 'someone' })],
    ['another sub', () => ({ sub: 'someone' })],
    ['another aud', () => ({ aud: 'https://other.example' })],
    ['an aud with a suffix', () => ({ aud: `${service.url}/` })],
    ['no aud', () => ({ aud: undefined })],
    ['no exp', () => ({ exp: undefined })],
    ['exp as text', () => ({ exp: String(now() + 60) })],
    ['exp past', () => ({ exp: now() - 11 })],
    ['exp in a day', () => ({ exp: now() + 86_400 })],
    ['nbf a minute ahead', () => ({ nbf: now() + 60 })],
    ['iat a minute ahead', () => ({ iat: now() + 60 })],
    ['no jti', () => ({ jti: undefined })],
    ['an endless jti', () => ({ jti: 'j'.repeat(600) })],
  ])('%s', async (_name, changes) => await expectRefused(await keys.RS256.sign(claims(changes()))));

  test('another key, alg none, HMAC with the public key, another type, a key in the header, an unknown crit', async () => {
    const stranger = await createClientKey('RS256', 'RS256-1');
    await expectRefused(await stranger.sign(claims()));
    for (const alg of ['none', 'None', 'nOnE']) await expectRefused(unsignedJwt(claims(), { alg }));
    const secret = Buffer.from(JSON.stringify(keys.RS256.jwk));
    await expectRefused(await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'RS256-1' }).sign(secret));
    await expectRefused(await keys.RS256.sign(claims(), { typ: 'at+jwt' }));
    await expectRefused(await stranger.sign(claims(), { jwk: stranger.jwk }));
    await expectRefused('not.a.jwt');
    await expectRefused(`${(await keys.RS256.sign(claims())).slice(0, -4)}AAAA`);
  });

  test('a client that authenticates otherwise, is disabled or unknown; a client_id that differs', async () => {
    const jwks = { keys: [keys.RS256.jwk] };
    const basic = await machine({ jwks, token_endpoint_auth_method: 'client_secret_basic' });
    const disabled = await machine({ jwks, status: 'disabled' });
    for (const of of [basic, disabled, { ...client, id: 'nobody' }]) await expectRefused(await keys.RS256.sign(claims({}, of)));
    await expectRefused(await keys.RS256.sign(claims()), { client_id: basic.id });
    const bySecret = await oauthPost(service.url, '/oauth/token', client, { grant_type: 'client_credentials', resource });
    expect([bySecret.status, bySecret.body.error]).toEqual([401, 'invalid_client']);
  });

  test('together with another method, of another type, or without the assertion', async () => {
    const assertion = await keys.RS256.sign(claims());
    const both = [await request(assertion, { client_secret: 'x' }), await request(assertion, {}, { authorization: 'Basic YTpi' })];
    for (const answer of both) expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    await expectRefused(assertion, { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer' });
    expect((await request('')).body.error).toBe('invalid_request');
  });
});

describe('jwks_uri', () => {
  test('is fetched once, again for an unknown kid, and not for every made-up one', async () => {
    const [first, second] = [await createClientKey('ES256', 'one'), await createClientKey('ES256', 'two')];
    let published = [first.jwk];
    party.answer = () => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify({ keys: published }) });
    const remote = await machine({ jwks_uri: `${party.origin}/keys-${randomUUID()}` });
    const fetched = () => party.arrived.filter((one) => remote.jwks_uri?.endsWith(one.path)).length;
    const send = async (key: ClientKey) => (await request(await key.sign(claims({}, remote)))).status;
    expect([await send(first), await send(first), fetched()]).toEqual([200, 200, 1]);
    published = [first.jwk, second.jwk];
    expect([await send(second), fetched()]).toEqual([200, 2]);
    for (let i = 0; i < 5; i++) expect(await send(await createClientKey('ES256', `made-up-${i}`))).toBe(401);
    expect(fetched()).toBeLessThanOrEqual(3);
  });

  test('a made-up kid takes the known keys from nobody while they can not be read; all who bring a new one at once are served', async () => {
    const [first, second] = [await createClientKey('ES256', 'one'), await createClientKey('ES256', 'two')];
    const publish =
      (...published: ClientKey[]) =>
      () => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify({ keys: published.map(({ jwk }) => jwk) }) });
    party.answer = publish(first);
    const remote = await machine({ jwks_uri: `${party.origin}/keys-${randomUUID()}` });
    const send = async (key: ClientKey) => (await request(await key.sign(claims({}, remote)))).status;
    expect(await send(first)).toBe(200);
    party.answer = () => ({ status: 500 });
    expect([await send(await createClientKey('ES256', 'made-up')), await send(first)]).toEqual([401, 200]);
    service.clock.advance(6_000);
    party.answer = publish(first, second);
    expect(await Promise.all([send(second), send(second), send(second)])).toEqual([200, 200, 200]);
  });

  test.each<[string, () => ReturnType<RelyingParty['answer']>]>([
    ['an error', () => ({ status: 500 })],
    ['no JSON', () => ({ body: '<html>' })],
    ['no keys', () => ({ body: '{}' })],
    ['a redirect', () => ({ status: 302, headers: { location: '/elsewhere' } })],
    ['too much', () => ({ body: JSON.stringify({ keys: [], padding: 'x'.repeat(200_000) }) })],
  ])('%s there: invalid_client', async (_name, answer) => {
    party.answer = answer;
    const remote = await machine({ jwks_uri: `${party.origin}/keys-${randomUUID()}` });
    await expectRefused(await keys.RS256.sign(claims({}, remote)));
    expect(party.arrived.some((one) => one.path === '/elsewhere')).toBe(false);
  });

  test('holds a key of another kind, or too many: those are not used', async () => {
    const [other, ours] = [await createClientKey('ES256', 'one'), await createClientKey('RS256', 'two')];
    const weak = { kty: 'RSA', kid: 'weak', e: 'Aw', n: ours.jwk.n as string };
    const publish = async (published: object[]) => {
      party.answer = () => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify({ keys: published }) });
      return machine({ jwks_uri: `${party.origin}/keys-${randomUUID()}` });
    };
    const mixed = await publish([weak, other.jwk, ours.jwk]);
    expect((await request(await ours.sign(claims({}, mixed)))).status).toBe(200);
    await expectRefused(await ours.sign(claims({}, mixed), { kid: 'weak' }));
    const many = await publish([...Array.from({ length: 10 }, (_, index) => ({ ...other.jwk, kid: String(index) })), ours.jwk]);
    await expectRefused(await ours.sign(claims({}, many)));
  });

  test('in a private network that is closed: never asked', async () => {
    const closed = await startTestService({ ALLOW_PRIVATE_NETWORK: 'off' });
    const path = `/keys-${randomUUID()}`;
    const remote = await addClient(await closed.context(), {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: party.origin + path,
      secret_digest: null,
    });
    const client_assertion = await keys.RS256.sign({ ...claims({}, remote), aud: closed.url });
    const fields = { grant_type: 'refresh_token', refresh_token: 'x', client_assertion_type, client_assertion };
    const answer = await oauthPost(closed.url, '/oauth/token', null, fields);
    expect([answer.status, answer.body.error, party.arrived.some((one) => one.path === path)]).toEqual([401, 'invalid_client', false]);
    await closed.stop();
  });
});
