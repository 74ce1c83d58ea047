// Certified client libraries, unmodified, against the listening service: sign in, refresh, revoke, sign out.
import { generateKeyPair, exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { beforeAll, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { sharedService } from '../support/shared-service.js';
import { UserAgent } from '../support/conformance/user-agent.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';

const redirect_uri = 'https://app.example/cb';
const post_logout_redirect_uri = 'https://app.example/bye';

const service = sharedService();
let user: UserRow;
let agent: UserAgent;

beforeAll(async () => {
  await service.deps.db.knex('environments').update({ dynamic_registration_enabled: true });
  service.deps.cache.clear();
  user = await addUser(await service.context());
  agent = new UserAgent({ origin: service.url, rpOrigin: 'https://app.example', email: user.email, fetch });
});

const register = async (row: Parameters<typeof addClient>[1] = {}): Promise<TestClient> =>
  addClient(await service.context(), { redirect_uris: [redirect_uri], post_logout_redirect_uris: [post_logout_redirect_uri], ...row });

describe('openid-client', () => {
  const insecure = { execute: [openid.allowInsecureRequests] };

  const discovered = ({ id, client_secret }: TestClient) =>
    openid.discovery(new URL(service.url), id, client_secret, openid.ClientSecretBasic(client_secret), insecure);

  /** Sign in, userinfo, refresh, introspection, revocation and logout with one configuration. */
  async function wholeStory(config: openid.Configuration, parameters: Record<string, string> = {}): Promise<void> {
    const verifier = openid.randomPKCECodeVerifier();
    const [state, nonce] = [openid.randomState(), openid.randomNonce()];
    const address = openid.buildAuthorizationUrl(config, {
      redirect_uri,
      scope: 'openid profile email offline_access',
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
      ...parameters,
    });
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
    const tokens = await openid.authorizationCodeGrant(config, await agent.follow(address), checks);
    expect(tokens.claims()?.sub).toBe(user.id);
    expect(await openid.fetchUserInfo(config, tokens.access_token, user.id)).toMatchObject({ email: user.email, name: 'Ada Lovelace' });
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(refreshed.claims()?.sub).toBe(user.id);
    await openid.tokenRevocation(config, refreshed.refresh_token ?? '');
    await expect(openid.fetchUserInfo(config, refreshed.access_token, user.id)).rejects.toThrow();
    await expect(openid.refreshTokenGrant(config, refreshed.refresh_token ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
    const logout = openid.buildEndSessionUrl(config, { post_logout_redirect_uri, id_token_hint: tokens.id_token ?? '', state: 'bye' });
    expect((await agent.follow(logout)).href).toBe(`${post_logout_redirect_uri}?state=bye`);
  }

  test.each(['client_secret_basic', 'client_secret_post'] as const)('%s', async (method) => {
    const client = await register({ token_endpoint_auth_method: method });
    const authentication =
      method === 'client_secret_basic' ? openid.ClientSecretBasic(client.client_secret) : openid.ClientSecretPost(client.client_secret);
    const config = await openid.discovery(new URL(service.url), client.id, {}, authentication, insecure);
    await wholeStory(config, { prompt: 'consent' });
  });

  test('none: a public client', async () => {
    const client = await register({ token_endpoint_auth_method: 'none', application_type: 'spa' });
    await wholeStory(await openid.discovery(new URL(service.url), client.id, {}, openid.None(), insecure));
  });

  test.each(['RS256', 'ES256', 'PS256'])('private_key_jwt with %s, and a signed request object', async (alg) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg, use: 'sig' }] };
    const client = await register({ token_endpoint_auth_method: 'private_key_jwt', secret_digest: null, jwks });
    const key = { key: privateKey, kid: 'k1' };
    const config = await openid.discovery(new URL(service.url), client.id, {}, openid.PrivateKeyJwt(key), insecure);
    await wholeStory(config);
    const verifier = openid.randomPKCECodeVerifier();
    const code_challenge = await openid.calculatePKCECodeChallenge(verifier);
    const parameters = { redirect_uri, scope: 'openid', state: 's', response_type: 'code', code_challenge, code_challenge_method: 'S256' };
    const address = await openid.buildAuthorizationUrlWithJAR(config, parameters, key);
    const tokens = await openid.authorizationCodeGrant(config, await agent.follow(address), {
      pkceCodeVerifier: verifier,
      expectedState: 's',
    });
    expect(tokens.claims()?.sub).toBe(user.id);
  });

  test('registers itself', async () => {
    const metadata = {
      redirect_uris: [redirect_uri],
      grant_types: ['authorization_code', 'refresh_token'],
      post_logout_redirect_uris: [post_logout_redirect_uri],
    };
    await wholeStory(await openid.dynamicClientRegistration(new URL(service.url), metadata, undefined, insecure));
  });

  test('registers itself for signed userinfo and sign-ins that start elsewhere, and is told both', async () => {
    const metadata = {
      redirect_uris: [redirect_uri],
      grant_types: ['authorization_code', 'refresh_token'],
      post_logout_redirect_uris: [post_logout_redirect_uri],
      userinfo_signed_response_alg: 'RS256',
      initiate_login_uri: 'https://app.example/start',
    };
    const config = await openid.dynamicClientRegistration(new URL(service.url), metadata, undefined, insecure);
    expect(config.clientMetadata()).toMatchObject({
      userinfo_signed_response_alg: 'RS256',
      initiate_login_uri: 'https://app.example/start',
    });
    await wholeStory(config);
  });

  test('one token for an API and the profile, and an ID token with the profile and mapped claims', async () => {
    const resource = await addResource(await service.context(), { identifier: 'https://api.example/one' });
    const claim_mappings = [{ claim: 'mail', source: 'email', in: ['id_token'] }] satisfies TestClient['claim_mappings'];
    const client = await register({ id_token_claims: 'profile', claim_mappings });
    const config = await discovered(client);
    await wholeStory(config, { resource: resource.identifier, scope: 'openid profile email offline_access read' });
    const verifier = openid.randomPKCECodeVerifier();
    const address = openid.buildAuthorizationUrl(config, {
      redirect_uri,
      scope: 'openid email',
      resource: resource.identifier,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const tokens = await openid.authorizationCodeGrant(config, await agent.follow(address), { pkceCodeVerifier: verifier });
    expect(tokens.claims()).toMatchObject({ email: user.email, mail: user.email });
    expect(await openid.tokenIntrospection(config, tokens.access_token)).toMatchObject({
      active: true,
      aud: resource.identifier,
      permissions: [],
    });
  });

  test('introspects', async () => {
    const client = await register();
    const config = await discovered(client);
    expect(await openid.tokenIntrospection(config, 'unknown')).toEqual({ active: false });
  });
});

test('oauth4webapi: code with PKCE, userinfo, refresh, revocation, logout', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(service.url);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const registered = await register({ userinfo_signed_response_alg: 'RS256' });
  const client: oauth.Client = { client_id: registered.id, userinfo_signed_response_alg: 'RS256' };
  const authentication = oauth.ClientSecretBasic(registered.client_secret);
  const verifier = oauth.generateRandomCodeVerifier();
  const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
  const address = new URL(as.authorization_endpoint ?? '');
  address.search = new URLSearchParams({
    client_id: registered.id, redirect_uri, response_type: 'code', scope: 'openid email', state, nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256',
  }).toString(); // prettier-ignore
  const parameters = oauth.validateAuthResponse(as, client, await agent.follow(address), state);
  const response = await oauth.authorizationCodeGrantRequest(as, client, authentication, parameters, redirect_uri, verifier, insecure);
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: nonce, requireIdToken: true });
  expect(oauth.getValidatedIdTokenClaims(tokens)?.sub).toBe(user.id);
  const userinfo = await oauth.userInfoRequest(as, client, tokens.access_token, insecure);
  expect(await oauth.processUserInfoResponse(as, client, user.id, userinfo)).toMatchObject({ email: user.email });
  const refresh = await oauth.refreshTokenGrantRequest(as, client, authentication, tokens.refresh_token ?? '', insecure);
  const refreshed = await oauth.processRefreshTokenResponse(as, client, refresh);
  expect(refreshed.access_token).not.toBe(tokens.access_token);
  await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, authentication, refreshed.access_token, insecure));
  const logout = new URL(as.end_session_endpoint ?? '');
  logout.search = new URLSearchParams({ id_token_hint: tokens.id_token ?? '', post_logout_redirect_uri }).toString();
  expect((await agent.follow(logout)).href).toBe(post_logout_redirect_uri);
});
