// What a DPoP proof binds (RFC 9449 5, 7, 10): codes, access tokens, refresh tokens, and where they are presented.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { locationParameters, type Browser } from '../support/browser.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';
import { createProofKey, type ProofKey } from '../support/dpop.js';
import { managementClient } from '../support/management.js';
import { authorizeCode, claimsOf, oauthPost, type CodeGrant, type TokenAnswer } from '../support/oauth.js';
import { sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
let confidential: TestClient;
let spa: TestClient;
let user: UserRow;
let key: ProofKey;
let other: ProofKey;
let browser: Browser;
let tokenUrl: string;
let userinfoUrl: string;

beforeAll(async () => {
  const ctx = await service.context();
  confidential = await addClient(ctx);
  const redirect_uris = ['https://spa.example/cb'];
  spa = await addClient(ctx, {
    token_endpoint_auth_method: 'none',
    application_type: 'spa',
    redirect_uris,
    allowed_origins: ['https://spa.example'],
  });
  user = await addUser(ctx);
  const now = () => service.clock.now().getTime();
  [key, other] = [await createProofKey('ES256', now), await createProofKey('EdDSA', now)];
  tokenUrl = `${service.url}/oauth/token`;
  userinfoUrl = `${service.url}/oauth/userinfo`;
});
beforeEach(async () => {
  browser = await signedIn(service, user);
});

const at = (by: TestClient, fields: Record<string, string>, dpop: string | null): Promise<TokenAnswer> =>
  oauthPost(service.url, '/oauth/token', by, fields, dpop === null ? {} : { dpop });
const redeemed = (by: TestClient, { code, redirect_uri, verifier }: CodeGrant, dpop: string | null) =>
  at(by, { grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier }, dpop);
const proven = (holder = key) => holder.proof({ htu: tokenUrl });
const tokens = async (by = confidential, holder: ProofKey | null = key, parameters: Record<string, string> = {}) =>
  redeemed(by, await authorizeCode(browser, by, parameters), holder && (await proven(holder)));
const refreshed = async (by: TestClient, refresh_token: string | undefined, holder: ProofKey | null) =>
  at(by, { grant_type: 'refresh_token', refresh_token: refresh_token ?? '' }, holder && (await proven(holder)));
const introspected = async (token: string) => (await oauthPost(service.url, '/oauth/introspect', confidential, { token })).body;

/** GET with the token, by scheme and key. */
async function resource(
  url: string,
  token: string,
  scheme: 'DPoP' | 'Bearer',
  holder: ProofKey | null,
  claims: Record<string, unknown> = {},
) {
  const proof = holder && (await holder.proof({ htu: url, htm: 'GET', token }, claims));
  const answer = await fetch(url, { headers: { authorization: `${scheme} ${token}`, ...(proof === null ? {} : { dpop: proof }) } });
  const body = (await answer.json()) as Record<string, unknown>;
  return {
    status: answer.status,
    body,
    challenge: answer.headers.get('www-authenticate') ?? '',
    nonce: answer.headers.get('dpop-nonce'),
    proof,
  };
}

const formats = ['opaque', 'jwt'] as const;
const clientOf = async (access_token_format: 'opaque' | 'jwt') =>
  addClient(await service.context(), { access_token_format, redirect_uris: [`https://${access_token_format}.example/cb`] });

describe.each(formats)('an access token bound to a key (%s)', (format) => {
  let token: string;
  let bearer: string;
  beforeEach(async () => {
    const client = await clientOf(format);
    token = (await tokens(client)).body.access_token;
    bearer = (await tokens(client, null)).body.access_token;
  });

  test('says so in introspection (RFC 9449 6.2)', async () => {
    expect(await introspected(token)).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: key.jkt } });
    const plain = await introspected(bearer);
    expect([plain['token_type'], plain['cnf']]).toEqual(['Bearer', undefined]);
    if (format === 'jwt') expect(claimsOf(token)['cnf']).toEqual({ jkt: key.jkt });
  });

  test('is good at userinfo with a proof of the key, each once (attack 27.461)', async () => {
    const first = await resource(userinfoUrl, token, 'DPoP', key);
    expect([first.status, first.body['sub'], first.nonce?.length]).toEqual([200, user.id, 43]);
    const again = await fetch(userinfoUrl, { headers: { authorization: `DPoP ${token}`, dpop: first.proof ?? '' } });
    expect([again.status, ((await again.json()) as Record<string, string>)['error']]).toEqual([401, 'invalid_dpop_proof']);
  });

  test('is refused with the proof of another key, and with one for another token (attack 27.465) (attack 27.464)', async () => {
    for (const [holder, claims] of [
      [other, {}],
      [key, { ath: 'x' }],
      [key, { ath: undefined }],
    ] as const) {
      const answer = await resource(userinfoUrl, token, 'DPoP', holder, claims);
      expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_dpop_proof']);
      expect(answer.challenge).toMatch(
        /^Bearer realm="oauth", DPoP realm="oauth", error="invalid_dpop_proof", .*algs="ES256 PS256 EdDSA Ed25519"$/,
      );
    }
    const none = await resource(userinfoUrl, token, 'DPoP', null);
    expect([none.status, none.body['error']]).toEqual([401, 'invalid_dpop_proof']);
  });

  test('is refused as a bearer token, with a proof beside it or not, and in a body (attack 27.470)', async () => {
    for (const holder of [key, null]) {
      const answer = await resource(userinfoUrl, token, 'Bearer', holder);
      expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_token']);
      expect(answer.challenge).toMatch(/^Bearer realm="oauth", error="invalid_token", .*, DPoP realm="oauth", algs=/);
    }
    const body = new URLSearchParams({ access_token: token });
    const dpop = await key.proof({ htu: userinfoUrl, token });
    expect((await fetch(userinfoUrl, { method: 'POST', body, headers: { dpop } })).status).toBe(401);
  });

  test('is the only kind that Authorization: DPoP takes (attack 27.471)', async () => {
    const answer = await resource(userinfoUrl, bearer, 'DPoP', key);
    expect([answer.status, answer.body['error']]).toEqual([401, 'invalid_token']);
    expect((await resource(userinfoUrl, bearer, 'Bearer', null)).status).toBe(200);
  });

  test('proofs of strangers, and with tokens that are none, are not kept (attack 27.480)', async () => {
    const count = async () => Number((await service.deps.db.knex('dpop_proofs').count('* as count'))[0]?.['count']);
    const before = await count();
    await resource(userinfoUrl, token, 'DPoP', other);
    await resource(userinfoUrl, bearer, 'DPoP', key);
    await resource(userinfoUrl, `at_${'A'.repeat(43)}`, 'DPoP', key);
    expect(await count()).toBe(before);
  });

  test('can be revoked, and is dead then', async () => {
    const client = await clientOf(format);
    const mine = (await tokens(client)).body.access_token;
    await oauthPost(service.url, '/oauth/revoke', client, { token: mine });
    expect((await resource(userinfoUrl, mine, 'DPoP', key)).body['error']).toBe('invalid_token');
  });
});

test('without a token both schemes are offered (RFC 9449 7.2)', async () => {
  const answer = await fetch(userinfoUrl);
  expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
    401,
    'Bearer realm="oauth", DPoP realm="oauth", algs="ES256 PS256 EdDSA Ed25519"',
  ]);
});

test('the Management API takes bound tokens, of clients and of nobody else, with a proof for the very address (attack 27.463)', async () => {
  const fields = { grant_type: 'client_credentials', resource: `${service.url}/api` };
  const caller = { ...confidential, ...managementClient };
  const { body } = await at(caller, fields, await proven());
  const url = `${service.url}/api/roles`;
  const good = await resource(url, body.access_token, 'DPoP', key);
  expect([good.status, good.nonce?.length]).toEqual([200, 43]);
  const replay = await fetch(url, { headers: { authorization: `DPoP ${body.access_token}`, dpop: good.proof ?? '' } });
  expect([replay.status, (await replay.text()).includes('invalid_dpop_proof')]).toEqual([401, true]);
  const asked = await fetch(`${url}?page[size]=1`, {
    headers: { authorization: `DPoP ${body.access_token}`, dpop: await key.proof({ htu: url, htm: 'GET', token: body.access_token }) },
  });
  expect(asked.status).toBe(200);
  const elsewhere = { htu: `${service.url}/api/users`, htm: 'GET', token: body.access_token };
  const moved = await fetch(url, { headers: { authorization: `DPoP ${body.access_token}`, dpop: await key.proof(elsewhere) } });
  expect([moved.status, moved.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('error="invalid_dpop_proof"')]);
  expect((await resource(url, body.access_token, 'Bearer', null)).status).toBe(401);
});

describe('refresh tokens', () => {
  test('of a public client are bound: another key, or none, is invalid_grant, also while a retry is taken (attack 27.472)', async () => {
    const first = (await tokens(spa)).body.refresh_token;
    for (const holder of [other, null]) expect((await refreshed(spa, first, holder)).body['error']).toBe('invalid_grant');
    const second = await refreshed(spa, first, key);
    expect([second.status, second.body['token_type']]).toEqual([200, 'DPoP']);
    for (const holder of [other, null]) expect((await refreshed(spa, first, holder)).body['error']).toBe('invalid_grant');
    expect((await refreshed(spa, first, key)).body.refresh_token).toBe(second.body.refresh_token);
    for (const holder of [other, null])
      expect((await refreshed(spa, second.body.refresh_token, holder)).body['error']).toBe('invalid_grant');
    expect((await refreshed(spa, second.body.refresh_token, key)).status).toBe(200);
  });

  test('that were rotated long ago end their grant for whoever holds the key, and for nobody else (attack 27.472)', async () => {
    const first = (await tokens(spa)).body.refresh_token;
    const second = (await refreshed(spa, first, key)).body.refresh_token;
    service.clock.advance(31_000);
    expect((await refreshed(spa, first, other)).body['error']).toBe('invalid_grant');
    const third = await refreshed(spa, second, key);
    expect(third.status).toBe(200);
    expect((await refreshed(spa, first, key)).body['error']).toBe('invalid_grant');
    expect((await refreshed(spa, third.body.refresh_token, key)).body['error']).toBe('invalid_grant');
  });

  test('that came without a proof are bound from the first proof on', async () => {
    const first = (await tokens(spa, null)).body.refresh_token;
    const second = await refreshed(spa, first, key);
    expect(second.body['token_type']).toBe('DPoP');
    expect((await refreshed(spa, second.body.refresh_token, null)).body['error']).toBe('invalid_grant');
  });

  test('of a confidential client let it change its key; the access token follows', async () => {
    const first = await tokens();
    const second = await refreshed(confidential, first.body.refresh_token, other);
    expect(await introspected(second.body.access_token)).toMatchObject({ cnf: { jkt: other.jkt } });
    const third = await refreshed(confidential, second.body.refresh_token, null);
    expect(third.body['token_type']).toBe('Bearer');
    expect((await introspected(third.body.access_token))['cnf']).toBeUndefined();
  });

  test('with a proof that was used before nothing is rotated (attack 27.461)', async () => {
    const { body } = await tokens(spa);
    const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token ?? '' };
    const proof = await proven();
    const next = await at(spa, fields, proof);
    const again = await at(spa, { ...fields, refresh_token: next.body.refresh_token ?? '' }, proof);
    expect([next.status, again.status, again.body['error']]).toEqual([200, 400, 'invalid_dpop_proof']);
    expect((await refreshed(spa, next.body.refresh_token, key)).status).toBe(200);
  });
});

describe('codes', () => {
  test('a refused proof spends none, nor does one that was used before (attack 27.473)', async () => {
    const grant = await authorizeCode(browser, confidential);
    const used = await proven();
    expect((await redeemed(confidential, await authorizeCode(browser, confidential), used)).status).toBe(200);
    for (const proof of [used, await key.proof({ htu: userinfoUrl }), await key.proof({ htu: tokenUrl, htm: 'GET' }), 'no proof'])
      expect((await redeemed(confidential, grant, proof)).body['error']).toBe('invalid_dpop_proof');
    expect((await redeemed(confidential, grant, await proven())).status).toBe(200);
    // And a code that was spent is still known for that.
    expect((await redeemed(confidential, grant, await proven())).body['error']).toBe('invalid_grant');
  });

  test('bound by dpop_jkt take a proof of that key only (attack 27.474)', async () => {
    for (const holder of [other, null]) {
      const grant = await authorizeCode(browser, spa, { dpop_jkt: key.jkt });
      expect((await redeemed(spa, grant, holder && (await proven(holder)))).body['error']).toBe('invalid_grant');
      expect((await redeemed(spa, grant, await proven())).body['error']).toBe('invalid_grant');
    }
    expect((await tokens(spa, key, { dpop_jkt: key.jkt })).status).toBe(200);
  });

  test('are not given out for a dpop_jkt that is no thumbprint', async () => {
    const answer = await authorizeGet(browser, authorizeQuery(confidential, { dpop_jkt: 'short' }));
    expect(locationParameters(answer).get('error')).toBe('invalid_request');
  });

  test('for an API resource that takes bound tokens only yield nothing without a proof (attack 27.478)', async () => {
    const identifier = 'https://people.example';
    await addResource(await service.context(), { identifier, dpop_bound_access_tokens: true });
    const asked = { resource: identifier, scope: 'openid read offline_access' };
    expect((await tokens(confidential, null, asked)).body['error']).toBe('invalid_dpop_proof');
    const { body } = await tokens(confidential, key, asked);
    expect(body['token_type']).toBe('DPoP');
    expect((await refreshed(confidential, body.refresh_token, null)).body['error']).toBe('invalid_dpop_proof');
    expect((await refreshed(confidential, body.refresh_token, other)).status).toBe(200);
  });
});

describe('at PAR', () => {
  const parUrl = () => `${service.url}/oauth/par`;
  const push = (fields: Record<string, string>, dpop: string) => {
    const query = new URLSearchParams(authorizeQuery(confidential));
    return oauthPost(service.url, '/oauth/par', confidential, { ...Object.fromEntries(query), ...fields }, { dpop });
  };
  const codeFor = async (answer: TokenAnswer): Promise<CodeGrant> => {
    const query = new URLSearchParams({ client_id: confidential.id, request_uri: answer.body['request_uri'] as string });
    const code = locationParameters(await authorizeGet(browser, query.toString())).get('code') ?? '';
    return { code, verifier: '', redirect_uri: confidential.redirect_uris[0] as string };
  };
  const asked = (grant: CodeGrant, dpop: string | null) =>
    at(confidential, { grant_type: 'authorization_code', code: grant.code, redirect_uri: grant.redirect_uri }, dpop);

  test('a proof binds the code, with dpop_jkt beside it or not (RFC 9449 10.1) (attack 27.474)', async () => {
    for (const fields of [{}, { dpop_jkt: key.jkt }] as Record<string, string>[]) {
      const answer = await push(fields, await key.proof({ htu: parUrl() }));
      expect([answer.status, answer.headers.get('dpop-nonce')?.length]).toEqual([201, 43]);
      expect((await asked(await codeFor(answer), await proven(other))).body['error']).toBe('invalid_grant');
      const next = await push(fields, await key.proof({ htu: parUrl() }));
      expect((await asked(await codeFor(next), await proven())).status).toBe(200);
    }
  });

  test('a proof that contradicts dpop_jkt, is for the token endpoint, or was used before is refused (attack 27.475)', async () => {
    const proof = await key.proof({ htu: parUrl() });
    expect((await push({}, proof)).status).toBe(201);
    const refused = [push({}, proof), push({ dpop_jkt: other.jkt }, await key.proof({ htu: parUrl() })), push({}, await proven())];
    for (const answer of await Promise.all(refused)) expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_dpop_proof']);
  });
});

test('browser applications may send proofs and read nonces (Fetch Standard, CORS protocol)', async () => {
  const headers = { origin: 'https://spa.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'dpop' };
  for (const path of ['/oauth/token', '/oauth/userinfo', '/oauth/par']) {
    const preflight = await fetch(service.url + path, { method: 'OPTIONS', headers });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('DPoP');
    const answer = await fetch(service.url + path, { method: 'POST', headers: { origin: headers.origin } });
    expect(answer.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce');
  }
});
