// FAPI 2.0 by certified client libraries, unmodified: a client made through the Management API with `profile` alone; with and without `openid`, with nonces on
// demand and compulsory, and with Message Signing.
import { decodeProtectedHeader, exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { s256 } from '../support/authorize.js';
import { UserAgent } from '../support/conformance/user-agent.js';
import { addUser } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { link, manage, type Document } from '../support/management.js';
import { claimsOf } from '../support/oauth.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const redirect_uri = 'https://bank.example/cb';
const identifier = 'https://api.bank.example/accounts';
const service = sharedManagedService();
const insecure = { [oauth.allowInsecureRequests]: true };
let agent: UserAgent;
let resource: string;

const newKey = async (): Promise<oauth.PrivateKey & { publicJwk: object }> => {
  const { publicKey, privateKey } = await oauth.generateKeyPair('PS256', { extractable: true });
  const kid = 'bank-1';
  return { key: privateKey, kid, publicJwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'PS256' } };
};

/** A client as an administrator makes it, and the key that it proves itself with. */
async function register(attributes: Document = {}) {
  const { publicJwk, ...key } = await newKey();
  const grant_types = ['authorization_code', 'refresh_token', 'client_credentials'];
  const given = { name: 'Bank', profile: 'fapi2', redirect_uris: [redirect_uri], grant_types, jwks: { keys: [publicJwk] } };
  return { id: (await api.create('clients', { ...given, ...attributes }))['id'] as string, key };
}

const user = shared(async () => addUser(await service.context()));
const api = shared(() => manage(service.url));

beforeAll(async () => {
  agent = new UserAgent({ origin: service.url, rpOrigin: 'https://bank.example', email: user.email, fetch });
  await register();
  const accounts = { identifier, name: 'Accounts', signing_alg: 'ES256', user_access: 'open' };
  resource = (await api.create('api_resources', accounts))['id'] as string;
  const relationships = { api_resource: link('api_resource', resource) };
  for (const name of ['accounts:read', 'accounts:write']) await api.create('permissions', { name }, relationships);
});

const demandNonces = (dpop_nonce: 'optional' | 'required') => setEnvironment(service, { dpop_nonce });
afterAll(() => demandNonces('optional'));

describe.each(['optional', 'required'] as const)('with nonces %s', (rule) => {
  beforeAll(() => demandNonces(rule));

  test('openid-client: private_key_jwt, PAR, PKCE, DPoP; code, ID token, userinfo, refresh', async () => {
    const { id, key } = await register();
    const config = await openid.discovery(
      new URL(service.url),
      id,
      { use_mtls_endpoint_aliases: false, id_token_signed_response_alg: 'ES256' },
      openid.PrivateKeyJwt(key),
      { execute: [openid.allowInsecureRequests] },
    );
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair());
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
    const asked = {
      redirect_uri,
      scope: 'openid email offline_access',
      state: expectedState,
      nonce: expectedNonce,
      ...s256(await openid.calculatePKCECodeChallenge(pkceCodeVerifier)),
    };
    const address = await openid.buildAuthorizationUrlWithPAR(config, asked, { DPoP });
    const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
    const tokens = await openid.authorizationCodeGrant(config, await agent.follow(address), checks, undefined, { DPoP });
    expect([tokens.token_type, tokens.claims()?.sub]).toEqual(['dpop', user.id]);
    expect(await openid.fetchUserInfo(config, tokens.access_token, user.id, { DPoP })).toMatchObject({ email: user.email });
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP });
    expect(refreshed.refresh_token).toBe(tokens.refresh_token);
    expect(await openid.fetchUserInfo(config, refreshed.access_token, user.id, { DPoP })).toMatchObject({ sub: user.id });
    await expect(openid.fetchUserInfo(config, refreshed.access_token, user.id)).rejects.toMatchObject({ status: 401 });
  });

  test('oauth4webapi, without openid: tokens for an API, in the person’s name and in its own', async () => {
    const { id, key } = await register();
    const issuer = new URL(service.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }));
    expect(as.authorization_response_iss_parameter_supported).toBe(true);
    const client: oauth.Client = { client_id: id };
    const proves = oauth.PrivateKeyJwt(key);
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
    const options = { ...insecure, DPoP };
    /** Asks again once when the first answer asked for a nonce, as the library documents. */
    const withNonce = async <T>(ask: () => Promise<T>): Promise<T> =>
      ask().catch((error: unknown) => {
        if (!oauth.isDPoPNonceError(error)) throw error;
        return ask();
      });
    const verifier = oauth.generateRandomCodeVerifier();
    const asked = new URLSearchParams({
      client_id: id,
      redirect_uri,
      response_type: 'code',
      scope: 'accounts:read',
      resource: identifier,
      ...s256(await oauth.calculatePKCECodeChallenge(verifier)),
    });
    const pushed = await withNonce(async () => {
      const response = await oauth.pushedAuthorizationRequest(as, client, proves, asked, options);
      return oauth.processPushedAuthorizationResponse(as, client, response);
    });
    const address = new URL(as.authorization_endpoint as string);
    address.searchParams.set('client_id', id);
    address.searchParams.set('request_uri', pushed.request_uri);
    const parameters = oauth.validateAuthResponse(as, client, await agent.follow(address), oauth.expectNoState);
    const tokens = await withNonce(async () => {
      const response = await oauth.authorizationCodeGrantRequest(as, client, proves, parameters, redirect_uri, verifier, options);
      return oauth.processAuthorizationCodeResponse(as, client, response);
    });
    const jkt = await DPoP.calculateThumbprint();
    expect([tokens.token_type, tokens.id_token, tokens.scope]).toEqual(['dpop', undefined, 'accounts:read']);
    expect([decodeProtectedHeader(tokens.access_token).alg, claimsOf(tokens.access_token)]).toMatchObject([
      'ES256',
      { cnf: { jkt }, aud: identifier },
    ]);
    const refreshed = await withNonce(async () => {
      const response = await oauth.refreshTokenGrantRequest(as, client, proves, tokens.refresh_token as string, options);
      return oauth.processRefreshTokenResponse(as, client, response);
    });
    expect(refreshed.refresh_token).toBe(tokens.refresh_token);
    // What an API would do with the token (RFC 9449 7).
    const proof = new Request(identifier, { headers: await proofFor(DPoP, tokens.access_token) });
    const validated = await oauth.validateJwtAccessToken(as, proof, identifier, insecure).catch((error: unknown) => error);
    expect(validated).toMatchObject({ sub: user.id, client_id: id });

    const relationships = { client: link('client', id), api_resource: link('api_resource', resource) };
    await api.create('client_grants', { scopes: ['accounts:write'] }, relationships);
    const bound = await withNonce(async () => {
      const response = await oauth.clientCredentialsGrantRequest(as, client, proves, { resource: identifier }, options);
      return oauth.processClientCredentialsResponse(as, client, response);
    });
    expect([bound.token_type, claimsOf(bound.access_token)]).toMatchObject(['dpop', { sub: id, cnf: { jkt } }]);
  });
});

/** The headers that the library sends to a protected resource with the token. */
async function proofFor(DPoP: oauth.DPoPHandle, token: string): Promise<Headers> {
  let sent: Headers | undefined;
  await oauth.protectedResourceRequest(token, 'GET', new URL(identifier), undefined, null, {
    DPoP,
    [oauth.customFetch]: async (_url, init) => {
      sent = new Headers(init.headers);
      return new Response('{}');
    },
  });
  return sent as Headers;
}

test('Message Signing, by oauth4webapi: a signed request object, a signed answer, signed introspection', async () => {
  await demandNonces('optional');
  const { id, key } = await register({
    require_signed_request_object: true,
    authorization_signed_response_alg: 'ES256',
    introspection_signed_response_alg: 'ES256',
  });
  const issuer = new URL(service.url);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const client: oauth.Client = {
    client_id: id,
    id_token_signed_response_alg: 'ES256',
    authorization_signed_response_alg: 'ES256',
    introspection_signed_response_alg: 'ES256',
  };
  const proves = oauth.PrivateKeyJwt(key);
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
  const options = { ...insecure, DPoP };
  const [verifier, state, nonce] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState(), oauth.generateRandomNonce()];
  const asked = new URLSearchParams({
    client_id: id,
    redirect_uri,
    response_type: 'code',
    response_mode: 'jwt',
    scope: 'openid',
    state,
    nonce,
    ...s256(await oauth.calculatePKCECodeChallenge(verifier)),
  });
  const request = await oauth.issueRequestObject(as, client, asked, key);
  const response = await oauth.pushedAuthorizationRequest(as, client, proves, new URLSearchParams({ client_id: id, request }), options);
  const { request_uri } = await oauth.processPushedAuthorizationResponse(as, client, response);
  const address = new URL(as.authorization_endpoint as string);
  for (const [name, value] of Object.entries({ client_id: id, request_uri })) address.searchParams.set(name, value);
  const parameters = await oauth.validateJwtAuthResponse(as, client, await agent.follow(address), state, insecure);
  const answer = await oauth.authorizationCodeGrantRequest(as, client, proves, parameters, redirect_uri, verifier, options);
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, answer, { expectedNonce: nonce, requireIdToken: true });
  await oauth.validateApplicationLevelSignature(as, answer, insecure);
  expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(user.id);
  const introspection = await oauth.introspectionRequest(as, client, proves, tokens.access_token, {
    ...insecure,
    requestJwtResponse: true,
  });
  expect(await oauth.processIntrospectionResponse(as, client, introspection)).toMatchObject({
    active: true,
    sub: user.id,
    token_type: 'DPoP',
  });
  await oauth.validateApplicationLevelSignature(as, introspection, insecure);

  const plain = await oauth.pushedAuthorizationRequest(as, client, proves, asked, options);
  await expect(oauth.processPushedAuthorizationResponse(as, client, plain)).rejects.toMatchObject({ error: 'invalid_request' });
});

test('Message Signing, by openid-client: JARM and a signed request object', async () => {
  await demandNonces('optional');
  const { id, key } = await register({ require_signed_request_object: true, authorization_signed_response_alg: 'ES256' });
  const metadata = { id_token_signed_response_alg: 'ES256', authorization_signed_response_alg: 'ES256' };
  const config = await openid.discovery(new URL(service.url), id, metadata, openid.PrivateKeyJwt(key), {
    execute: [openid.allowInsecureRequests, openid.useJwtResponseMode, openid.enableNonRepudiationChecks],
  });
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair());
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const asked = {
    redirect_uri,
    scope: 'openid',
    state: expectedState,
    ...s256(await openid.calculatePKCECodeChallenge(pkceCodeVerifier)),
  };
  const signed = await openid.buildAuthorizationUrlWithJAR(config, asked, key);
  const address = await openid.buildAuthorizationUrlWithPAR(config, signed.searchParams, { DPoP });
  const callback = await agent.follow(address);
  expect([...callback.searchParams.keys()]).toEqual(['response']);
  const checks = { pkceCodeVerifier, expectedState, idTokenExpected: true };
  const tokens = await openid.authorizationCodeGrant(config, callback, checks, undefined, { DPoP });
  expect(tokens.claims()?.sub).toBe(user.id);
});
