// DPoP (RFC 9449) by certified client libraries, unmodified: with nonces on demand and compulsory, with PostgreSQL and with Redis.
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { UserAgent } from '../support/conformance/user-agent.js';
import { addClient, addGrant, addResource, addUser, type TestClient } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { claimsOf } from '../support/oauth.js';
import { sharedService } from '../support/shared-service.js';

const redirect_uri = 'https://app.example/cb';
const service = sharedService();
let user: UserRow;
let agent: UserAgent;
let api: ApiResourceRow;

beforeAll(async () => {
  const ctx = await service.context();
  user = await addUser(ctx);
  api = await addResource(ctx);
  agent = new UserAgent({ origin: service.url, rpOrigin: 'https://app.example', email: user.email, fetch });
});

const register = async (row: Parameters<typeof addClient>[1] = {}): Promise<TestClient> =>
  addClient(await service.context(), { redirect_uris: [redirect_uri], ...row });

const demandNonces = (dpop_nonce: 'optional' | 'required') => setEnvironment(service, { dpop_nonce });
afterAll(() => demandNonces('optional'));

describe.each(['optional', 'required'] as const)('with nonces %s', (rule) => {
  beforeAll(() => demandNonces(rule));

  test('openid-client: PAR, code, userinfo and refresh of a public client', async () => {
    const client = await register({ token_endpoint_auth_method: 'none', application_type: 'spa', dpop_bound_access_tokens: true });
    const config = await openid.discovery(new URL(service.url), client.id, {}, openid.None(), { execute: [openid.allowInsecureRequests] });
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair());
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const asked = {
      redirect_uri,
      scope: 'openid email offline_access',
      state: 'st',
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    };
    const address = await openid.buildAuthorizationUrlWithPAR(config, asked, { DPoP });
    const checks = { pkceCodeVerifier, expectedState: 'st' };
    const tokens = await openid.authorizationCodeGrant(config, await agent.follow(address), checks, undefined, { DPoP });
    expect(tokens.token_type).toBe('dpop');
    expect(await openid.fetchUserInfo(config, tokens.access_token, user.id, { DPoP })).toMatchObject({ email: user.email });
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP });
    expect(await openid.fetchUserInfo(config, refreshed.access_token, user.id, { DPoP })).toMatchObject({ sub: user.id });
    const stolen = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair('EdDSA'));
    await expect(openid.refreshTokenGrant(config, refreshed.refresh_token ?? '', undefined, { DPoP: stolen })).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  test('oauth4webapi: client credentials, and a code that is bound by dpop_jkt', async () => {
    const client = await register({ grant_types: ['authorization_code', 'client_credentials'] });
    await addGrant(await service.context(), client, api);
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(service.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
    expect(as.dpop_signing_alg_values_supported).toEqual(['ES256', 'PS256', 'EdDSA', 'Ed25519']);
    const theirs: oauth.Client = { client_id: client.id };
    const secret = oauth.ClientSecretBasic(client.client_secret);
    const DPoP = oauth.DPoP(theirs, await oauth.generateKeyPair('ES256'));
    const options = { ...insecure, DPoP };

    /** Asks again once when the first answer asked for a nonce, as the library documents. */
    const withNonce = async <T>(ask: () => Promise<T>): Promise<T> =>
      ask().catch((error: unknown) => {
        if (!oauth.isDPoPNonceError(error)) throw error;
        return ask();
      });
    const own = await withNonce(async () => {
      const response = await oauth.clientCredentialsGrantRequest(as, theirs, secret, { resource: api.identifier }, options);
      return oauth.processClientCredentialsResponse(as, theirs, response);
    });
    const jkt = await DPoP.calculateThumbprint();
    expect([own.token_type, claimsOf(own.access_token)['cnf']]).toEqual(['dpop', { jkt }]);

    const verifier = oauth.generateRandomCodeVerifier();
    const address = new URL(as.authorization_endpoint as string);
    const asked = {
      client_id: client.id,
      redirect_uri,
      response_type: 'code',
      scope: 'openid',
      code_challenge_method: 'S256',
      dpop_jkt: jkt,
    };
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
    address.searchParams.set('code_challenge', await oauth.calculatePKCECodeChallenge(verifier));
    const parameters = oauth.validateAuthResponse(as, theirs, await agent.follow(address), oauth.expectNoState);
    const tokens = await withNonce(async () => {
      const response = await oauth.authorizationCodeGrantRequest(as, theirs, secret, parameters, redirect_uri, verifier, options);
      return oauth.processAuthorizationCodeResponse(as, theirs, response);
    });
    const claims = await withNonce(async () => {
      const response = await oauth.userInfoRequest(as, theirs, tokens.access_token, options);
      return oauth.processUserInfoResponse(as, theirs, user.id, response);
    });
    expect(claims.sub).toBe(user.id);
  });
});
