import { expect } from 'vitest';
import { oauthPost } from '../support/oauth.js';
import { createClientKey } from '../support/signed-jwt.js';
import { anotherKey, errorOf, invalidClient, isError, proofAt, type Fapi2Module } from './fapi2-checks.js';
import type { Fapi2Run } from './fapi2-run.js';

/** A client assertion with these claims proves nobody at PAR. */
const assertionFails =
  (claims: (run: Fapi2Run) => Record<string, unknown>): Fapi2Module =>
  async (run) => {
    for (const path of ['/oauth/par', '/oauth/token']) {
      const assertion = await run.bank.assertion(claims(run));
      const fields = { grant_type: 'refresh_token', refresh_token: 'rt_x', ...run.bank.request().fields };
      expect([path, ...errorOf(await run.bank.post(path, fields, { assertion }))]).toEqual([path, ...invalidClient]);
    }
  };

/** A proof with these claims is good at the token endpoint and at userinfo. */
const proofSucceeds =
  (claims: (now: number) => Record<string, unknown>): Fapi2Module =>
  async (run) => {
    const { bank } = run;
    const answer = await bank.redeem(await run.code(), { proof: await proofAt(run, '/oauth/token', bank.proofKey, claims(bank.now)) });
    const [token, htu] = [answer.body.access_token, `${run.service.url}/oauth/userinfo`];
    const proof = await bank.proofKey.proof({ htu, htm: 'GET', token }, claims(bank.now));
    expect([answer.status, (await bank.userinfo(token, { proof })).status]).toEqual([200, 200]);
  };

const schemeCase: Fapi2Module = async (run) => {
  const { access_token } = await run.tokens();
  for (const scheme of ['DPoP', 'dpop', 'DPOP']) expect((await run.bank.userinfo(access_token, { scheme })).status).toBe(200);
};

/** A code that was bound to one key by `how`, redeemed with a proof of the first or of another. */
const boundCode =
  (how: 'proof' | 'dpop_jkt', fits: boolean): Fapi2Module =>
  async (run) => {
    const { bank } = run;
    const proof = how === 'proof' ? await proofAt(run, '/oauth/par', bank.proofKey) : null;
    const granted = await run.code(how === 'dpop_jkt' ? { dpop_jkt: bank.proofKey.jkt } : {}, { proof });
    const answer = await bank.redeem(granted, { proof: await proofAt(run, '/oauth/token', fits ? bank.proofKey : await anotherKey(run)) });
    if (fits) expect(answer.status).toBe(200);
    else isError(answer, 'invalid_grant', 'invalid_dpop_proof');
  };

const contradictingJkt: Fapi2Module = async (run) => {
  const proof = await proofAt(run, '/oauth/par', await anotherKey(run));
  isError((await run.push({ dpop_jkt: run.bank.proofKey.jkt }, { proof })).answer, 'invalid_dpop_proof', 'invalid_request');
};

const reused =
  (pauseMs: number): Fapi2Module =>
  async (run) => {
    const granted = await run.code();
    const { body } = await run.bank.redeem(granted);
    run.service.clock.advance(pauseMs);
    expect(errorOf(await run.bank.redeem(granted))).toEqual([400, 'invalid_grant']);
    expect((await run.bank.userinfo(body.access_token)).status).toBe(401);
  };

const expiredCode: Fapi2Module = async (run) => {
  const granted = await run.code();
  run.service.clock.advance(61_000);
  expect(errorOf(await run.bank.redeem(granted))).toEqual([400, 'invalid_grant']);
};

const clientIdOfAnother: Fapi2Module = async (run) => {
  const granted = await run.code();
  expect(errorOf(await run.bank.redeem(granted, {}, { client_id: run.other.client.id }))).toEqual(invalidClient);
};

const withoutAssertion: Fapi2Module = async (run) => {
  const { code, verifier } = await run.code();
  const { id: client_id, redirect_uris } = run.bank.client;
  const fields = { client_id, grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirect_uris[0] as string };
  const dpop = await proofAt(run, '/oauth/token', run.bank.proofKey);
  expect(errorOf(await oauthPost(run.service.url, '/oauth/token', null, fields, { dpop }))).toEqual(invalidClient);
};

const rs256Assertion: Fapi2Module = async (run) => {
  const rsa = await createClientKey('RS256');
  const { alg: _alg, ...free } = rsa.jwk;
  const own = await run.client({ jwks: { keys: [free] } });
  const fields = own.request().fields;
  expect(errorOf(await own.push(fields, { proof: null, assertion: await rsa.sign(own.claims()) }))).toEqual(invalidClient);
};

/** Proofs that are wrong in one thing each: at the token endpoint, at userinfo, and a second time. */
const dpopNegative: Fapi2Module = async (run) => {
  const { bank, service } = run;
  const other = await anotherKey(run);
  const granted = await run.code();
  const wrong: [Record<string, unknown>, Record<string, unknown>?][] = [
    [{ htm: 'PUT' }],
    [{ htu: `${service.url}/elsewhere` }],
    [{ jti: undefined }],
    [{ iat: undefined }],
    [{ iat: bank.now - 3_600 }],
    [{ iat: bank.now + 3_600 }],
    [{}, { typ: 'jwt' }],
    [{}, { jwk: undefined }],
    [{}, { jwk: other.jwk }],
  ];
  for (const [claims, header] of wrong) {
    const proof = await proofAt(run, '/oauth/token', bank.proofKey, claims, header);
    expect([claims, ...errorOf(await bank.redeem(granted, { proof }))]).toEqual([claims, 400, 'invalid_dpop_proof']);
  }
  const once = await proofAt(run, '/oauth/token', bank.proofKey);
  const { body } = await bank.redeem(granted, { proof: once });
  expect(errorOf(await bank.refresh(body.refresh_token as string, { proof: once }))).toEqual([400, 'invalid_dpop_proof']);
  const token = body.access_token;
  const at = { htu: `${service.url}/oauth/userinfo`, htm: 'GET', token };
  const refused = async (proof: string) => {
    const answer = await bank.userinfo(token, { proof });
    return [answer.status, /DPoP [^,]*, error="(\w+)"/.exec(answer.headers.get('www-authenticate') ?? '')?.[1]];
  };
  for (const [claims, header] of [...wrong, [{ ath: 'none' }] as (typeof wrong)[number], [{ ath: undefined }] as (typeof wrong)[number]])
    expect([claims, ...(await refused(await bank.proofKey.proof(at, claims, header)))]).toEqual([claims, 401, 'invalid_dpop_proof']);
  expect((await refused(await other.proof(at)))[0]).toBe(401);
  const first = await bank.proofKey.proof(at);
  expect((await bank.userinfo(token, { proof: first })).status).toBe(200);
  expect(await refused(first)).toEqual([401, 'invalid_dpop_proof']);
};

const refresh: Fapi2Module = async (run) => {
  const { refresh_token: token } = (await run.tokens()) as { refresh_token: string };
  expect(errorOf(await run.other.refresh(token))).toEqual([400, 'invalid_grant']);
  expect(errorOf(await run.bank.refresh(token, { proof: null }))).toEqual([400, 'invalid_dpop_proof']);
  expect(errorOf(await run.bank.refresh(token, { assertion: 'x.y.z' }))).toEqual(invalidClient);
  const { status, body } = await run.bank.refresh(token);
  expect([status, (await run.bank.userinfo(body.access_token)).status]).toEqual([200, 200]);
};

const assertionAhead: Fapi2Module = async (run) => {
  const { now } = run.bank;
  const assertion = await run.bank.assertion({ iat: now + 8, nbf: now + 8 });
  expect((await run.push({}, { assertion })).answer.status).toBe(201);
};

const verifier =
  (code_verifier: string): Fapi2Module =>
  async (run) =>
    isError(await run.bank.redeem({ ...(await run.code()), verifier: code_verifier }), 'invalid_grant', 'invalid_request');

/** Modules of both plans about what proves a client, about proofs, codes and tokens, by their names after `fapi2-security-profile-final-`. */
export const tokenModules: Readonly<Record<string, Fapi2Module>> = {
  'access-token-type-header-case-sensitivity': schemeCase,
  'check-dpop-proof-nbf-exp': proofSucceeds((now) => ({ nbf: now + 600, exp: now - 600 })),
  'ensure-dpopproof-with-iat-10seconds-before-succeeds': proofSucceeds((now) => ({ iat: now - 10 })),
  'ensure-dpopproof-with-iat-10seconds-after-succeeds': proofSucceeds((now) => ({ iat: now + 10 })),
  'ensure-mismatched-dpop-jkt-fails': contradictingJkt,
  'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt': boundCode('proof', false),
  'ensure-token-endpoint-fails-with-mismatched-dpop-jkt': boundCode('dpop_jkt', false),
  'ensure-dpopproof-at-par-endpoint-binding-success': boundCode('proof', true),
  'ensure-dpop-auth-code-binding-success': boundCode('dpop_jkt', true),
  'ensure-client-id-in-token-endpoint': clientIdOfAnother,
  async 'ensure-holder-of-key-required'(run) {
    expect(errorOf(await run.bank.redeem(await run.code(), { proof: null }))).toEqual([400, 'invalid_dpop_proof']);
  },
  async 'ensure-authorization-code-is-bound-to-client'(run) {
    expect(errorOf(await run.other.redeem(await run.code()))).toEqual([400, 'invalid_grant']);
  },
  'attempt-reuse-authorization-code-after-one-second': reused(1_000),
  'ensure-token-endpoint-fails-with-expired-auth-code': expiredCode,
  'ensure-signed-client-assertion-with-RS256-fails': rs256Assertion,
  'ensure-client-assertion-in-token-endpoint': withoutAssertion,
  'ensure-client-assertion-with-exp-is-5-minutes-in-past-fails': assertionFails(({ bank }) => ({ exp: bank.now - 300 })),
  'ensure-client-assertion-with-wrong-aud-fails': assertionFails(() => ({ aud: 'https://other.example' })),
  'ensure-client-assertion-with-no-sub-fails': assertionFails(() => ({ sub: undefined })),
  'dpop-negative-tests': dpopNegative,
  'refresh-token': refresh,
  'par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted': assertionAhead,
  'par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails': assertionFails(({ bank }) => ({
    iat: bank.now + 61,
    nbf: bank.now + 61,
    exp: bank.now + 120,
  })),
  'ensure-pkce-code-verifier-required': verifier(''),
  'incorrect-pkce-code-verifier-rejected': verifier('a'.repeat(43)),
  'par-test-array-as-audience-fails': assertionFails(({ service }) => ({ aud: [service.url, 'https://other.example'] })),
  'par-test-par-endpoint-url-as-audience-fails': assertionFails(({ service }) => ({ aud: `${service.url}/oauth/par` })),
  'par-test-token-endpoint-url-as-audience-fails': assertionFails(({ service }) => ({ aud: `${service.url}/oauth/token` })),
};
