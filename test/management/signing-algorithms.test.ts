// What an environment signs with: keys of each algorithm, what clients and API resources choose of them, and what verifies.
import { createHash } from 'node:crypto';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import { beforeAll, describe, expect, test } from 'vitest';
import { rotationPass } from '../../src/jobs/key-rotation.js';
import { signerFor } from '../../src/domain/signing-keys/signing-keys.js';
import { signJwt } from '../../src/domain/tokens/formats/jwt.js';
import { addClient, addGrant, addResource, addUser } from '../support/data.js';
import { manage, managementToken, type Document } from '../support/management.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { signedIn } from '../support/signed-in.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const day = 86_400_000;
const all = ['RS256', 'ES256', 'PS256', 'EdDSA'];
let environment: string;

const setAlgorithms = (signing_algorithms: string[]) => api.update('environments', environment, { signing_algorithms });
const firstError = (answer: { body: Document }) => answer.body['errors'][0] as Document;
const published = async () => ((await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: Document[] }).keys;
const primaries = async () =>
  ((await api.get('/signing_keys?filter[status]=primary')).body['data'] as Document[])
    .map((key) => key['attributes'].algorithm as string)
    .sort();

const service = sharedManagedService();
const api = shared(() => manage(service.url));

beforeAll(async () => {
  environment = (await service.context()).environment.id;
});

test('an environment signs with RS256 alone, until it is given more: each algorithm comes with a primary key', async () => {
  expect(await primaries()).toEqual(['RS256']);
  const changed = await setAlgorithms(all);
  expect([changed.status, changed.body['data'].attributes.signing_algorithms]).toEqual([200, all]);
  expect(await primaries()).toEqual([...all].sort());
  expect((await published()).map(({ alg, kty, crv }) => [alg, kty, crv])).toEqual(
    expect.arrayContaining([
      ['RS256', 'RSA', undefined],
      ['PS256', 'RSA', undefined],
      ['ES256', 'EC', 'P-256'],
      ['EdDSA', 'OKP', 'Ed25519'],
    ]),
  );
  expect((await published()).every((key) => key['d'] === undefined && key['use'] === 'sig')).toBe(true);
  const metadata = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Document;
  expect(metadata['id_token_signing_alg_values_supported']).toEqual(all);
  expect(metadata['userinfo_signing_alg_values_supported']).toEqual(all);
});

describe.each(all)('signed with %s', (algorithm) => {
  test('ID tokens, access tokens, userinfo, as the client and the API resource choose; ours and others verify them', async () => {
    const ctx = await service.context();
    const algorithms = { id_token_signed_response_alg: algorithm as 'ES256', userinfo_signed_response_alg: algorithm as 'ES256' };
    const client = await addClient(ctx, { ...algorithms, grant_types: ['authorization_code', 'client_credentials'] });
    const resource = await addResource(ctx, {
      identifier: `https://${algorithm}.example`,
      token_format: 'jwt',
      signing_alg: algorithm as 'ES256',
    });
    await addGrant(ctx, client, resource);
    const user = await addUser(ctx);
    const browser = await signedIn(service, user);
    const tokens = (await redeem(service.url, client, await authorizeCode(browser, client))).body;
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.url));
    const options = { issuer: service.url, algorithms: [algorithm], clockTolerance: 60, currentDate: service.clock.now() };

    const { payload } = await jwtVerify(tokens.id_token as string, keys, { ...options, audience: client.id });
    const hash = createHash(algorithm === 'EdDSA' ? 'sha512' : 'sha256')
      .update(tokens.access_token)
      .digest();
    expect(payload['at_hash']).toBe(hash.subarray(0, hash.length / 2).toString('base64url'));
    const userinfo = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expect((await jwtVerify(await userinfo.text(), keys, { ...options, audience: client.id })).payload.sub).toBe(user.id);

    const own = (await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: resource.identifier })).body
      .access_token;
    expect(decodeProtectedHeader(own)).toMatchObject({ alg: algorithm, typ: 'at+jwt' });
    await jwtVerify(own, keys, { ...options, audience: resource.identifier });
    expect((await oauthPost(service.url, '/oauth/introspect', client, { token: own })).body).toMatchObject({
      active: true,
      client_id: client.id,
    });
  });

  test('another algorithm in the header of the same key is refused (RFC 8725 3.1) (attack 8.400)', async () => {
    const ctx = await service.context();
    const client = await addClient(ctx, { grant_types: ['client_credentials'] });
    const signer = await signerFor(ctx, algorithm as 'ES256');
    const now = Math.floor(service.clock.now().getTime() / 1000);
    const claims = {
      iss: service.url,
      sub: client.id,
      client_id: client.id,
      aud: service.url,
      scope: '',
      iat: now,
      nbf: now,
      exp: now + 60,
    };
    for (const other of all.filter((one) => one !== algorithm)) {
      const [, body, tail] = (await signJwt(ctx, signer, 'at+jwt', claims)).split('.') as [string, string, string];
      const head = Buffer.from(JSON.stringify({ alg: other, typ: 'at+jwt', kid: signer.kid })).toString('base64url');
      expect((await oauthPost(service.url, '/oauth/introspect', client, { token: `${head}.${body}.${tail}` })).body).toEqual({
        active: false,
      });
    }
  });
});

test('a certified library takes an ID token of EdDSA when it is told to (OIDC Registration 2)', async () => {
  const ctx = await service.context();
  const client = await addClient(ctx, { id_token_signed_response_alg: 'EdDSA' });
  const user = await addUser(ctx);
  const browser = await signedIn(service, user);
  const tokens = (await redeem(service.url, client, await authorizeCode(browser, client))).body;
  const issuer = new URL(service.url);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { [oauth.allowInsecureRequests]: true }));
  const theirs: oauth.Client = { client_id: client.id, id_token_signed_response_alg: 'EdDSA' };
  const answer = Response.json(tokens);
  const result = await oauth.processAuthorizationCodeResponse(as, theirs, answer, { requireIdToken: true });
  expect(oauth.getValidatedIdTokenClaims(result)?.sub).toBe(user.id);
  await oauth.validateApplicationLevelSignature(as, answer, { [oauth.allowInsecureRequests]: true });
});

test('what the environment does not sign with can not be chosen: clients, API resources, keys, registrations', async () => {
  const second = await api.create('environments', { name: 'Plain', slug: 'plain', kind: 'development' });
  expect(second['attributes'].signing_algorithms).toEqual(['RS256']);
  await setAlgorithms(['RS256', 'PS256', 'EdDSA', 'ES256']);
  const changed = await setAlgorithms(['ES256']);
  expect([changed.status, firstError(changed)['code'], firstError(changed)['source'].pointer]).toEqual([
    422,
    'invalid_value',
    '/data/attributes/signing_algorithms',
  ]);
});

test('an algorithm that is in use does not go; unused it does, and what it signed is good until it expires', async () => {
  const ctx = await service.context();
  await api.attempt('clients', { name: 'One' });
  const refused = await setAlgorithms(['RS256']);
  expect([refused.status, firstError(refused)['code']]).toEqual([409, 'signing_algorithm_in_use']);
  expect(await primaries()).toEqual([...all].sort());

  await ctx.db.knex('clients').update({ id_token_signed_response_alg: 'RS256', userinfo_signed_response_alg: null });
  const resource = await addResource(ctx, { identifier: 'https://last.example', token_format: 'jwt', signing_alg: 'ES256' });
  const client = await addClient(ctx, { grant_types: ['client_credentials'] });
  await addGrant(ctx, client, resource);
  const token = (await tokenRequest(service.url, client, { grant_type: 'client_credentials', resource: resource.identifier })).body
    .access_token;
  await ctx.db.knex('api_resources').update({ signing_alg: 'RS256' });
  expect((await setAlgorithms(['RS256'])).status).toBe(200);
  expect(await primaries()).toEqual(['RS256']);
  expect((await oauthPost(service.url, '/oauth/introspect', client, { token })).body['active']).toBe(true);
  for (const [path, type, attributes] of [
    ['/clients', 'client', { name: 'Two', id_token_signed_response_alg: 'ES256', redirect_uris: ['https://a.example/'] }],
    ['/api_resources', 'api_resource', { name: 'Two', identifier: 'https://two.example', signing_alg: 'EdDSA' }],
    ['/signing_keys', 'signing_key', { algorithm: 'PS256' }],
  ] as const) {
    const answer = await api.post(path, { data: { type, attributes } });
    expect([path, answer.status, firstError(answer)['code']]).toEqual([path, 422, 'signing_algorithm_unavailable']);
  }
});

test('keys of each algorithm change over apart from the others', async () => {
  await setAlgorithms(['RS256', 'ES256']);
  const made = await api.create('signing_keys', { algorithm: 'ES256' });
  expect(made['attributes']).toMatchObject({ algorithm: 'ES256', status: 'next' });
  expect((await api.attempt('signing_keys', { algorithm: 'ES256' })).status).toBe(409);
  const rsa = await api.create('signing_keys', {});
  expect(rsa['attributes']).toMatchObject({ algorithm: 'RS256', status: 'next' });
  expect((await api.patch(`/signing_keys/${made['id']}/activate`)).status).toBe(200);
  expect(await primaries()).toEqual(['ES256', 'RS256']);

  service.clock.advance(91 * day);
  const later = await manage(service.url);
  const done = await rotationPass(service.deps);
  expect(done.activated).toEqual([rsa['id']]);
  // ES256 here, and RS256 of the environment beside.
  expect(done.generated).toHaveLength(2);
  const next = ((await later.get('/signing_keys?filter[status]=next')).body['data'] as Document[]).map(
    (key) => key['attributes'].algorithm as string,
  );
  expect(next).toEqual(['ES256']);
});

test('a next key that an administrator deactivates while the rotation is at work never signs (attack 72.1970)', async () => {
  service.clock.advance(91 * day);
  const later = await manage(service.url);
  const [key] = (await later.get('/signing_keys?filter[status]=next&filter[algorithm]=ES256')).body['data'] as Document[];
  const next = key?.['id'] as string;
  const { crypto } = service.deps;
  let deactivated: number | null = null;
  const newKeyPair: typeof crypto.newKeyPair = async (algorithm) => {
    deactivated ??= (await later.patch(`/signing_keys/${next}/deactivate`)).status;
    return crypto.newKeyPair(algorithm);
  };
  await rotationPass({ ...service.deps, crypto: { ...crypto, newKeyPair } }).catch(() => undefined);
  expect(deactivated).toBe(200);
  expect((await later.get(`/signing_keys/${next}`)).body['data'].attributes.status).toBe('deactivated');
});

test('claims of a token are read whatever it is signed with', async () =>
  expect(claimsOf(await managementToken(service.url))['iss']).toBe(service.url));
