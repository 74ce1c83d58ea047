// An openid-client application that writes through the Management API for an administrator, and answers its challenge (RFC 9470 3, 4).
import * as openid from 'openid-client';
import { beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { permit } from '../support/administrators.js';
import { csrfOf, locationParameters, type Browser } from '../support/browser.js';
import { addClient, addUser, type TestClient } from '../support/data.js';
import { link, manage } from '../support/management.js';
import { giveTotp, totpCode } from '../support/factors.js';
import { sharedManagedService } from '../support/shared-service.js';
import { proofsNow, setEnvironment, signedInBy } from '../support/signed-in.js';

const service = sharedManagedService();
const redirect_uri = 'https://app.example/cb';
const scope = 'openid roles:read roles:write';
let client: TestClient;
let administrator: UserRow;
let config: openid.Configuration;

beforeAll(async () => {
  const ctx = await service.context();
  const api = await manage(service.url);
  client = await addClient(ctx, { redirect_uris: [redirect_uri] });
  administrator = await addUser(ctx);
  await permit(ctx, administrator.id, ...managementPermissions);
  const management = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0] as { id: string };
  const relationships = { client: link('client', client.id), api_resource: link('api_resource', management.id) };
  await api.create('client_grants', { scopes: ['roles:read', 'roles:write'], subject_type: 'user' }, relationships);
  await setEnvironment(service, { second_factor_policy: 'required_for_management' });
  const insecure = { execute: [openid.allowInsecureRequests] };
  config = await openid.discovery(new URL(service.url), client.id, {}, openid.ClientSecretBasic(client.client_secret), insecure);
});

/** A sign-in of the application, up to its tokens; `ask` takes the person past what isn't answered at once. */
async function signIn(browser: Browser, demand: Record<string, string>, ask: (page: Response) => Promise<Response>) {
  const verifier = openid.randomPKCECodeVerifier();
  const [expectedState, expectedNonce] = [openid.randomState(), openid.randomNonce()];
  const address = openid.buildAuthorizationUrl(config, {
    redirect_uri, scope, resource: `${service.url}/api`, state: expectedState, nonce: expectedNonce,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', ...demand,
  }); // prettier-ignore
  let page = await browser.get(address.pathname + address.search);
  if (page.status === 303) page = await ask(page);
  // Everybody is asked about the Management API.
  const html = await page.text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const back = await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'allow' });
  const callback = new URL(back.headers.get('location') ?? '');
  return openid.authorizationCodeGrant(config, callback, { pkceCodeVerifier: verifier, expectedState, expectedNonce });
}

const write = (token: string) => {
  const body = JSON.stringify({ data: { type: 'role', attributes: { name: 'By an application' } } });
  const headers = new Headers({ 'content-type': 'application/vnd.api+json', accept: 'application/vnd.api+json' });
  return openid.fetchProtectedResource(config, token, new URL(`${service.url}/api/roles`), 'POST', body, headers);
};

test('the challenge names what to ask for, the person proves what is missing, and the write goes through', async () => {
  const ctx = await service.context();
  const { secret } = await giveTotp(ctx, administrator.id);
  const browser = await signedInBy(service, administrator, proofsNow(ctx, 'password', 'device'));
  const weak = await signIn(browser, {}, () => Promise.reject(new Error('nothing was to be asked for')));
  expect(weak.claims()?.['acr']).toBe('1');

  const challenged = await write(weak.access_token).catch((error: unknown) => error);
  if (!(challenged instanceof openid.WWWAuthenticateChallengeError)) throw challenged;
  const [challenge] = challenged.cause;
  expect([challenged.status, challenge?.scheme, challenge?.parameters]).toEqual([
    401,
    'bearer',
    {
      realm: 'api', error: 'insufficient_user_authentication', acr_values: '2', max_age: '600',
      resource_metadata: `${service.url}/.well-known/oauth-protected-resource/api`,
    },
  ]); // prettier-ignore
  const { acr_values = '', max_age = '' } = (challenge?.parameters ?? {}) as Record<string, string>;

  const strong = await signIn(browser, { acr_values, max_age }, async (sent) => {
    const [path] = (sent.headers.get('location') ?? '').split('?');
    const asked = locationParameters(sent);
    expect([path, asked.get('acr_values')]).toEqual(['/login/verify', '2']);
    // The next code: that of now made the app the person's.
    const code = totpCode(secret, new Date(ctx.clock.now().getTime() + 30_000));
    const answer = await browser.postJson('/login/verify', { method: 'totp', code, acr_values: '2', return_to: asked.get('return_to') });
    return browser.get(((await answer.json()) as { redirect_to: string }).redirect_to);
  });
  expect(strong.claims()?.['acr']).toBe('2');
  expect((await write(strong.access_token)).status).toBe(201);
});
