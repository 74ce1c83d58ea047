// What makes a DPoP proof good (RFC 9449 4.3, 8, 11.1): each refusal at the token endpoint, nonces, and replays on every replica.
import { generateKeyPairSync } from 'node:crypto';
import { exportJWK } from 'jose';
import { request as send } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { proofAlgorithms } from '../../src/domain/dpop/proof.js';
import { addClient, addEnvironment, addGrant, addResource, type TestClient } from '../support/data.js';
import { createProofKey, type ProofKey } from '../support/dpop.js';
import { basic, claimsOf, oauthPost, type TokenAnswer } from '../support/oauth.js';
import { startTestService, type TestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';
import { unsignedJwt } from '../support/signed-jwt.js';

const service = sharedService();
let replica: TestService;
let client: TestClient;
let api: ApiResourceRow;
let key: ProofKey;
let htu: string;

beforeAll(async () => {
  const ctx = await service.context();
  client = await addClient(ctx, { grant_types: ['client_credentials'] });
  api = await addResource(ctx);
  await addGrant(ctx, client, api);
  key = await createProofKey('ES256', () => service.clock.now().getTime());
  htu = `${service.url}/oauth/token`;
  const database = { url: service.databaseUrl, secretKey: service.secretKey };
  // Another process with the same BASE_URL behind the same balancer.
  replica = await startTestService({ BASE_URL: service.url }, { database, clock: service.clock });
});
afterAll(() => replica?.stop());

const ask = (dpop: string | null, at = service.url, by: TestClient = client): Promise<TokenAnswer> =>
  oauthPost(at, '/oauth/token', by, { grant_type: 'client_credentials', resource: api.identifier }, dpop === null ? {} : { dpop });
const portOf = (one: TestService) => `http://127.0.0.1:${one.config.port}`;
const stored = async () => Number((await service.deps.db.knex('dpop_proofs').count('* as count'))[0]?.['count']);

/** 400 with a nonce for the next proof, and nothing given. */
function expectRefused(answer: TokenAnswer, error = 'invalid_dpop_proof', says = /./): void {
  expect([answer.status, answer.body['error'], answer.body['access_token']]).toEqual([400, error, undefined]);
  expect(answer.body['error_description']).toMatch(says);
  expect(answer.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/);
}

/** A client of another environment, and how it asks for a token there: by status, body and nonce. */
async function elsewhere(slug: string) {
  const ctx = await addEnvironment(service.deps, slug);
  const theirs = await addClient(ctx, { grant_types: ['client_credentials'] });
  await addGrant(ctx, theirs, await addResource(ctx, { identifier: api.identifier }));
  const { base_url } = ctx.environment;
  const there = async (dpop: string): Promise<[number, unknown, string]> => {
    const answer = await send(`${service.url}/oauth/token`, {
      method: 'POST',
      headers: { host: new URL(base_url).host, authorization: basic(theirs), dpop, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: api.identifier }).toString(),
    });
    return [answer.statusCode, await answer.body.json(), String(answer.headers['dpop-nonce'])];
  };
  return { there, address: `${base_url}/oauth/token` };
}

describe('a good proof', () => {
  test.each(proofAlgorithms)('signed with %s binds the token to its key', async (alg) => {
    const own = await createProofKey(alg);
    const { status, body, headers } = await ask(await own.proof({ htu }));
    expect([status, body['token_type'], claimsOf(body.access_token)['cnf']]).toEqual([200, 'DPoP', { jkt: own.jkt }]);
    expect(headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/);
  });

  test('may name the address in another form: query, fragment, case and port do not count (RFC 9449 4.3)', async () => {
    const { host } = new URL(service.url);
    for (const other of [`${htu}?x=1#y`, `HTTP://${host.toUpperCase()}/oauth/token`, `${service.url}/oauth/%74oken`])
      expect((await ask(await key.proof({ htu: other }))).status).toBe(200);
  });

  test('may bear exp and nbf that say otherwise, and a jti of 256 characters', async () => {
    const claims = { exp: 1, nbf: 4_000_000_000, jti: 'j'.repeat(256) };
    expect((await ask(await key.proof({ htu }, claims))).status).toBe(200);
  });

  test('may be a minute old or ten seconds ahead', async () => {
    const now = Math.floor(service.clock.now().getTime() / 1000);
    for (const iat of [now - 55, now + 8]) expect((await ask(await key.proof({ htu }, { iat }))).status).toBe(200);
  });

  test('without one the token is a bearer token, and the answer says nothing of nonces', async () => {
    const { body, headers } = await ask(null);
    expect([body['token_type'], claimsOf(body.access_token)['cnf'], headers.get('dpop-nonce')]).toEqual(['Bearer', undefined, null]);
  });
});

describe('a proof is refused', () => {
  const cases: [title: string, make: () => Promise<string>, says: RegExp][] = [
    ['for another method (attack 27.462)', () => key.proof({ htu, htm: 'GET' }), /htm/],
    ['for another address (attack 27.463)', () => key.proof({ htu: `${service.url}/oauth/userinfo` }), /htu/],
    ['for another service (attack 27.463)', () => key.proof({ htu: 'https://evil.example/oauth/token' }), /htu/],
    ['whose jwk holds the private key (attack 27.466)', async () => key.proof({ htu }, {}, { jwk: await exportJWK(key.privateKey) }), /public key/],
    ['whose jwk is symmetric (attack 27.466)', () => key.proof({ htu }, {}, { jwk: { kty: 'oct', k: 'AAAA' } }), /public key/],
    ['without jwk', () => key.proof({ htu }, {}, { jwk: undefined }), /jwk/],
    ['with the jwk of another key (attack 27.465)', async () => key.proof({ htu }, {}, { jwk: (await createProofKey()).jwk }), /signature/],
    ['signed with RS256 (attack 27.467)', async () => (await createProofKey('RS256')).proof({ htu }), /alg/],
    ['that is not signed (attack 27.468)', async () => `${unsignedJwt({ htu, htm: 'POST', jti: 'j', iat: Date.now() / 1000 }, { typ: 'dpop+jwt', alg: 'none', jwk: key.jwk })}AA`, /alg/],
    ['that is not signed, and ends there (attack 27.468)', async () => unsignedJwt({ htu, htm: 'POST', jti: 'j', iat: Date.now() / 1000 }, { typ: 'dpop+jwt', alg: 'none', jwk: key.jwk }), /one JWS/],
    ['of another type', () => key.proof({ htu }, {}, { typ: 'JWT' }), /typ/],
    ['with an extension (attack 27.479)', () => key.proof({ htu }, {}, { crit: ['b64'], b64: true }), /extension/],
    ['of more than 8 KiB (attack 27.479)', () => key.proof({ htu }, { pad: 'x'.repeat(8192) }), /longer/],
    ['without jti', () => key.proof({ htu }, { jti: undefined }), /jti/],
    ['with a jti of 257 characters', () => key.proof({ htu }, { jti: 'j'.repeat(257) }), /jti/],
    ['with an iat that is no number', () => key.proof({ htu }, { iat: 'now' }), /iat/],
    ['that is no JWS', async () => 'one.two.three', /read/],
  ]; // prettier-ignore
  test.each(cases)('%s', async (_title, make, says) => expectRefused(await ask(await make()), 'invalid_dpop_proof', says));

  test('with an RSA key whose exponent makes verifying dear (attack 27.479)', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = { ...publicKey.export({ format: 'jwk' }), e: publicKey.export({ format: 'jwk' }).n };
    expectRefused(await ask(await key.proof({ htu }, {}, { alg: 'ES256', jwk })), 'invalid_dpop_proof', /public key/);
  });

  test('when there are two headers, even if both are good (attack 27.469)', async () => {
    const dpop = [await key.proof({ htu }), await key.proof({ htu })];
    const answer = await send(`${service.url}/oauth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: basic(client), dpop },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: api.identifier }).toString(),
    });
    const body = (await answer.body.json()) as Record<string, string>;
    expect([answer.statusCode, body['error']]).toEqual([400, 'invalid_dpop_proof']);
  });

  test('in another environment, whose address it does not name (attack 27.477)', async () => {
    const { there, address } = await elsewhere('proofs');
    expect(await there(await key.proof({ htu }))).toMatchObject([400, { error: 'invalid_dpop_proof' }, expect.any(String)]);
    expect(await there(await key.proof({ htu: address }))).toMatchObject([200, { token_type: 'DPoP' }, expect.any(String)]);
  });

  test('and leaves nothing behind', async () => {
    const before = await stored();
    await ask(await key.proof({ htu, htm: 'GET' }));
    expect(await stored()).toBe(before);
  });
});

describe('a proof is good once', () => {
  test('on every replica: of several at once one gets a token (attack 27.461)', async () => {
    const proof = await key.proof({ htu });
    const answers = await Promise.all([service, replica, service, replica].map((one) => ask(proof, portOf(one))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefused(answer, 'invalid_dpop_proof', /used before/);
    expectRefused(await ask(proof, portOf(replica)), 'invalid_dpop_proof', /used before/);
  });

  test('also for an opaque token, and while webhooks want to know of it (attack 27.461)', async () => {
    const ctx = await service.context();
    const opaque = await addResource(ctx, { identifier: 'https://opaque.example', token_format: 'opaque' });
    await addGrant(ctx, client, opaque);
    const now = ctx.clock.now();
    const tokens = async (resource: ApiResourceRow) => {
      const proof = await key.proof({ htu });
      const fields = { grant_type: 'client_credentials', resource: resource.identifier };
      const one = await oauthPost(service.url, '/oauth/token', client, fields, { dpop: proof });
      const two = await oauthPost(service.url, '/oauth/token', client, fields, { dpop: proof });
      return [one.status, two.status, two.body['error_description']];
    };
    const once = [200, 400, 'the DPoP proof was used before'];
    expect(await tokens(opaque)).toEqual(once);
    const id = '01890000-0000-7000-8000-000000000002';
    const hook = {
      id,
      name: 'all',
      url: 'http://127.0.0.1:9/',
      events: ['token.issued'],
      secret_hint: 'AAAA',
      created_at: now,
      updated_at: now,
    };
    const secret_sealed = ctx.crypto.sealer.seal('whsec_AAAA', `webhooks/${id}`);
    await ctx.db.knex('webhooks').insert({ environment_id: ctx.environment.id, ...hook, secret_sealed });
    ctx.cache.invalidate(ctx.environment.id, 'webhooks');
    expect(await tokens(opaque)).toEqual(once);
    expect(await tokens(api)).toEqual(once);
    await ctx.db.knex('webhooks').where({ id }).delete();
    ctx.cache.invalidate(ctx.environment.id, 'webhooks');
  });

  test('for each key: another one may use the same jti', async () => {
    const jti = 'the same';
    expect((await ask(await key.proof({ htu }, { jti }))).status).toBe(200);
    expect((await ask(await (await createProofKey()).proof({ htu }, { jti }))).status).toBe(200);
    expectRefused(await ask(await key.proof({ htu }, { jti })), 'invalid_dpop_proof', /used before/);
  });
});

describe('a nonce', () => {
  const nonceOf = async (at = service.url) => (await ask(await key.proof({ htu }), at)).headers.get('dpop-nonce') as string;

  test('is asked for when iat is off, and a client whose clock is hours wrong is then served (attack 27.476)', async () => {
    const now = Math.floor(service.clock.now().getTime() / 1000);
    for (const iat of [now - 75, now + 20, now - 7200, now + 7200]) {
      expectRefused(await ask(await key.proof({ htu }, { iat })), 'use_dpop_nonce', /iat/);
      expect((await ask(await key.proof({ htu, nonce: await nonceOf() }, { iat }))).status).toBe(200);
    }
    expectRefused(await ask(await key.proof({ htu, nonce: await nonceOf() }, { iat: now - 90_000 })), 'invalid_dpop_proof', /day/);
  });

  test('is the same on every replica, and good for five to ten minutes (attack 27.476)', async () => {
    const nonce = await nonceOf(portOf(replica));
    expect((await ask(await key.proof({ htu, nonce }))).status).toBe(200);
    service.clock.advance(300_000);
    const proof = await key.proof({ htu, nonce });
    expect((await ask(proof)).status).toBe(200);
    // Remembered for as long as its nonce is good.
    service.clock.advance(1_000);
    expectRefused(await ask(proof), 'invalid_dpop_proof', /used before/);
    service.clock.advance(300_000);
    expectRefused(await ask(await key.proof({ htu, nonce })), 'use_dpop_nonce', /nonce/);
  });

  test('of another environment, or made up, is none (attack 27.476)', async () => {
    const { there, address } = await elsewhere('nonces');
    const [, , nonce] = await there(await key.proof({ htu: address }));
    for (const foreign of [nonce, 'made-up', ''])
      expectRefused(await ask(await key.proof({ htu, nonce: foreign })), 'use_dpop_nonce', /nonce/);
    expectRefused(await ask(await key.proof({ htu }, { nonce: 7 })), 'invalid_dpop_proof', /nonce/);
  });

  test('is compulsory where the environment demands it (attack 27.476)', async () => {
    const { id } = (await service.context()).environment;
    const demand = async (dpop_nonce: string) => {
      await service.deps.db.knex('environments').where({ id }).update({ dpop_nonce });
      service.deps.cache.clear();
    };
    await demand('required');
    const refused = await ask(await key.proof({ htu }));
    expectRefused(refused, 'use_dpop_nonce', /nonce/);
    expect((await ask(await key.proof({ htu, nonce: refused.headers.get('dpop-nonce') ?? '' }))).status).toBe(200);
    // Bearer tokens are another matter.
    expect((await ask(null)).status).toBe(200);
    await demand('optional');
  });
});

describe('a client or an API resource that takes bound tokens only', () => {
  test('gets none without a proof (attack 27.478)', async () => {
    const ctx = await service.context();
    const strict = await addClient(ctx, { grant_types: ['client_credentials'], dpop_bound_access_tokens: true });
    await addGrant(ctx, strict, api);
    expectRefused(await ask(null, service.url, strict), 'invalid_dpop_proof', /proof is needed/);
    expect((await ask(await key.proof({ htu }), service.url, strict)).body['token_type']).toBe('DPoP');
    const bound = await addResource(ctx, { identifier: 'https://bound.example', dpop_bound_access_tokens: true });
    await addGrant(ctx, client, bound);
    const fields = { grant_type: 'client_credentials', resource: bound.identifier };
    expectRefused(await oauthPost(service.url, '/oauth/token', client, fields), 'invalid_dpop_proof', /proof is needed/);
    expect((await oauthPost(service.url, '/oauth/token', client, fields, { dpop: await key.proof({ htu }) })).status).toBe(200);
  });
});
