import { createRemoteJWKSet, jwtVerify } from 'jose';
import { expect, test } from 'vitest';
import { addClient, addUser } from '../support/data.js';
import { authorizeCode, claimsOf, oauthPost, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));
const user = shared(() => addUser(ctx, { email: 'ada@example.com' }));
const browser = shared(() => signedIn(service, user));

test('a signed-in person gets a code, the client tokens, and userinfo the claims of the scopes', async () => {
  const answer = await redeem(service.url, client, await authorizeCode(browser, client, { nonce: 'n-1' }));
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'openid profile email' });
  const { payload } = await jwtVerify(answer.body.id_token as string, createRemoteJWKSet(new URL('/.well-known/jwks.json', service.url)), {
    issuer: service.url,
    audience: client.id,
  });
  expect(payload).toMatchObject({ sub: user.id, nonce: 'n-1', amr: ['pwd'] });
  const userinfo = await fetch(`${service.url}/oauth/userinfo`, { headers: { authorization: `Bearer ${answer.body.access_token}` } });
  expect(await userinfo.json()).toMatchObject({ sub: user.id, name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true });
});

test('a code used twice is 400 invalid_grant, and what the first use issued is dead (RFC 6749 4.1.2, attack 4.60)', async () => {
  const grant = await authorizeCode(browser, client);
  const first = await redeem(service.url, client, grant);
  const second = await redeem(service.url, client, grant);
  expect([second.status, second.body.error]).toEqual([400, 'invalid_grant']);
  const introspection = await oauthPost(service.url, '/oauth/introspect', client, { token: first.body.access_token });
  expect(introspection.body).toEqual({ active: false });
  const refresh = await tokenRequest(service.url, client, {
    grant_type: 'refresh_token',
    refresh_token: first.body.refresh_token as string,
  });
  expect([refresh.status, refresh.body.error]).toEqual([400, 'invalid_grant']);
});

test('of fifty parallel redemptions of one code exactly one is 200 (attack 4.60)', async () => {
  const grant = await authorizeCode(browser, client);
  const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(service.url, client, grant)));
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
  expect(answers.filter((answer) => answer.body.error === 'invalid_grant')).toHaveLength(49);
});

test('twenty parallel refreshes of a public client: one successor', async () => {
  const spa = await addClient(await service.context(), { token_endpoint_auth_method: 'none', application_type: 'spa' });
  const first = await redeem(service.url, spa, await authorizeCode(browser, spa));
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      tokenRequest(service.url, spa, { grant_type: 'refresh_token', refresh_token: first.body.refresh_token as string }),
    ),
  );
  expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(new Set(answers.map((answer) => answer.body.refresh_token)).size).toBe(1);
  const again = claimsOf(answers[0]?.body.id_token as string);
  expect(again['auth_time']).toBe(claimsOf(first.body.id_token as string)['auth_time']);
});
