import { decodeProtectedHeader } from 'jose';
import { expect } from 'vitest';
import { expectPage400 } from '../support/authorize.js';
import { Browser, csrfOf, locationParameters } from '../support/browser.js';
import { password } from '../support/data.js';
import { claimsOf } from '../support/oauth.js';
import { errorOf, long, nonceOf, type Fapi2Module } from './fapi2-checks.js';

/** A pushed request with these changes is refused with the error. */
const refusedAtPar =
  (error: string, changes: Record<string, string | undefined>, beside: Record<string, string> = {}): Fapi2Module =>
  async (run) =>
    expect(errorOf((await run.push(changes, { beside })).answer)).toEqual([400, error]);

/** A whole flow with these changes succeeds. */
const succeeds =
  (changes: Record<string, string | undefined>): Fapi2Module =>
  async (run) =>
    void (await run.tokens(changes));

const happy: Fapi2Module = async (run) => {
  for (const of of [run.bank, run.other]) {
    const { answer, request_uri, verifier } = await run.push({}, { of });
    expect([answer.status, (answer.body['expires_in'] as unknown as number) < 600]).toEqual([201, true]);
    const told = run.told(await run.open(request_uri, { of }));
    expect([told['iss'], told['state']]).toEqual([run.service.url, 'st-1']);
    const { body } = await of.redeem({ code: told['code'] as string, verifier });
    expect([body['token_type'], nonceOf(body), decodeProtectedHeader(body.id_token as string).alg]).toEqual(['DPoP', 'n-1', 'ES256']);
    expect((await of.userinfo(body.access_token)).status).toBe(200);
  }
};

const rejected: Fapi2Module = async (run) => {
  const third = await run.client({ first_party: false });
  const { request_uri } = await run.push({}, { of: third });
  const html = await (await run.open(request_uri, { of: third })).text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] as string;
  const answer = await run.browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'deny' });
  expect(run.told(answer)).toMatchObject({ error: 'access_denied', state: 'st-1', iss: run.service.url });
};

const discovery: Fapi2Module = async ({ service }) => {
  const metadata = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Record<string, unknown>;
  const lists: Record<string, string[]> = {
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['PS256', 'ES256', 'EdDSA'],
    code_challenge_methods_supported: ['S256'],
    dpop_signing_alg_values_supported: ['PS256', 'ES256', 'EdDSA'],
    id_token_signing_alg_values_supported: ['ES256'],
    request_object_signing_alg_values_supported: ['PS256', 'ES256', 'EdDSA'],
    response_modes_supported: ['jwt'],
    authorization_signing_alg_values_supported: ['ES256'],
  };
  for (const [name, values] of Object.entries(lists)) expect([name, metadata[name]]).toEqual([name, expect.arrayContaining(values)]);
  expect(metadata).toMatchObject({
    issuer: service.url,
    authorization_response_iss_parameter_supported: true,
    pushed_authorization_request_endpoint: `${service.url}/oauth/par`,
  });
};

const claimsParameter: Fapi2Module = async (run) => {
  const claims = JSON.stringify({ id_token: { email: null }, userinfo: { given_name: { essential: true } } });
  const body = await run.tokens({ claims, scope: 'openid' });
  expect(claimsOf(body.id_token as string)['email']).toBe(run.user.email);
  expect(await (await run.bank.userinfo(body.access_token)).json()).toMatchObject({ given_name: run.user.first_name });
};

/** What stands beside the reference at the authorization endpoint counts for nothing. */
const outside =
  (name: 'state' | 'nonce', inside: string | undefined): Fapi2Module =>
  async (run) => {
    const granted = await run.code({ [name]: inside }, { outside: { [name]: 'outside' } });
    const { body } = await run.bank.redeem(granted);
    expect(name === 'state' ? granted.told['state'] : nonceOf(body)).toBe(inside);
  };

const withoutPar: Fapi2Module = async (run) => {
  const { fields } = run.bank.request();
  const answer = await run.browser.get(`/oauth/authorize?${new URLSearchParams({ client_id: run.bank.client.id, ...fields })}`);
  expect(run.told(answer)).toMatchObject({ error: 'invalid_request', iss: run.service.url });
};

const unregistered: Fapi2Module = async (run) =>
  expect(errorOf((await run.push({ redirect_uri: 'https://bank.example/cb/unregistered' })).answer)).toEqual([400, 'invalid_request']);

const openedTwiceBeforeSignIn: Fapi2Module = async (run) => {
  const { request_uri, verifier } = await run.push();
  const browser = new Browser(run.service.url);
  for (let times = 0; times < 2; times++) expect((await run.open(request_uri, { browser })).headers.get('location')).toMatch(/\/login/);
  await browser.login(run.user.email, password);
  const { code } = run.told(await run.open(request_uri, { browser }));
  expect((await run.bank.redeem({ code: code as string, verifier })).status).toBe(200);
};

const referenceReused: Fapi2Module = async (run) => {
  const { request_uri } = await run.push();
  expect(run.told(await run.open(request_uri))['code']).toBeDefined();
  await expectPage400(run.service, () => run.open(request_uri));
};

const referenceExpired: Fapi2Module = async (run) => {
  const { request_uri } = await run.push();
  run.service.clock.advance(61_000);
  await expectPage400(run.service, () => run.open(request_uri));
};

const referenceOfAnother: Fapi2Module = async (run) => {
  const { request_uri } = await run.push();
  await expectPage400(run.service, () => run.open(request_uri, { of: run.other }));
};

const wrongMethod: Fapi2Module = async ({ service }) => {
  for (const method of ['GET', 'PUT', 'DELETE']) expect((await fetch(`${service.url}/oauth/par`, { method })).status).toBe(405);
};

const referenceAlone: Fapi2Module = async (run) => {
  const { request_uri } = await run.push();
  const answer = await run.open(request_uri);
  expect([answer.status, typeof run.told(answer)['code']]).toEqual([303, 'string']);
  expect(locationParameters(answer).has('error')).toBe(false);
};

/** Modules of both plans about requests and their answers, by their names after `fapi2-security-profile-final-`. */
export const requestModules: Readonly<Record<string, Fapi2Module>> = {
  'discovery-end-point-verification': discovery,
  'happy-flow': happy,
  'user-rejects-authentication': rejected,
  async 'ensure-authorization-request-without-state-success'(run) {
    expect((await run.code({ state: undefined })).told['state']).toBeUndefined();
  },
  async 'ensure-authorization-request-without-nonce-success'(run) {
    expect(nonceOf(await run.tokens({ nonce: undefined }))).toBeUndefined();
  },
  async 'ensure-authorization-request-with-64-char-nonce-success'(run) {
    expect(nonceOf(await run.tokens({ nonce: long.slice(0, 64) }))).toBe(long.slice(0, 64));
  },
  'ensure-other-scope-order-succeeds': succeeds({ scope: 'offline_access openid' }),
  'test-claims-parameter-identity-claims': claimsParameter,
  'ensure-different-nonce-inside-and-outside-request-object': outside('nonce', 'inside'),
  'ensure-different-state-inside-and-outside-request-object': outside('state', 'inside'),
  async 'ensure-authorization-request-with-long-nonce'(run) {
    expect(nonceOf(await run.tokens({ nonce: long }))).toBe(long);
  },
  async 'ensure-authorization-request-with-long-state'(run) {
    expect((await run.code({ state: long })).told['state']).toBe(long);
  },
  'state-only-outside-request-object-not-used': outside('state', undefined),
  'ensure-request-object-without-redirect-uri-fails': refusedAtPar('invalid_request', { redirect_uri: undefined }),
  'plain-fapi-tolerate-unregistered-redirect-uri': unregistered,
  'ensure-unsigned-authorization-request-without-using-par-fails': withoutPar,
  async 'ensure-redirect-uri-in-authorization-request'(run) {
    const beside = run.plan === 'message-signing' ? { redirect_uri: run.bank.redirect_uri } : {};
    await refusedAtPar('invalid_request', { redirect_uri: undefined }, beside)(run);
  },
  'ensure-response-type-code-idtoken-fails': refusedAtPar('unsupported_response_type', { response_type: 'code id_token' }),
  'ensure-response-type-token-fails': refusedAtPar('unsupported_response_type', { response_type: 'token' }),
  'par-ensure-reused-request-uri-prior-to-auth-completion-succeeds': openedTwiceBeforeSignIn,
  'par-attempt-reuse-request_uri': referenceReused,
  'par-attempt-to-use-expired-request_uri': referenceExpired,
  'par-attempt-to-use-request_uri-for-different-client': referenceOfAnother,
  'par-authorization-request-containing-request_uri-form-param': refusedAtPar(
    'invalid_request',
    {},
    { request_uri: 'urn:ietf:params:oauth:request_uri:x' },
  ),
  'par-attempt-invalid-http-method': wrongMethod,
  'par-ensure-pkce-required': refusedAtPar('invalid_request', { code_challenge: undefined, code_challenge_method: undefined }),
  'par-plain-pkce-rejected': refusedAtPar('invalid_request', { code_challenge_method: 'plain' }),
  'par-without-duplicate-parameters': referenceAlone,
};
