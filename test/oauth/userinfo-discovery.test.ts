import { request } from 'node:http';
import { expect, test } from 'vitest';
import { updateUser } from '../../src/db/tables/users.js';
import { addMachine, addClient, addResource, addUser } from '../support/data.js';
import { authorizeCode, redeem, tokenRequest } from '../support/oauth.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService();
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));
const user = shared(() =>
  addUser(ctx, { address: { locality: 'London', country: '' }, phone_number: '+441234567', birthdate: '1815-12-10', nickname: '' }),
);
const browser = shared(() => signedIn(service, user));

const accessToken = async (parameters: Record<string, string> = {}) =>
  (await redeem(service.url, client, await authorizeCode(browser, client, parameters))).body.access_token;
const userinfo = (headers: Record<string, string>, init: RequestInit = {}, query = '') =>
  fetch(`${service.url}/oauth/userinfo${query}`, { ...init, headers: { ...headers, ...(init.headers as object) } });
const form = { 'content-type': 'application/x-www-form-urlencoded' };

test('claims follow the granted scopes; what a user lacks is left out', async () => {
  const everything = await userinfo({
    authorization: `Bearer ${await accessToken({ scope: 'openid profile email address phone roles' })}`,
  });
  expect(everything.headers.get('content-type')).toBe('application/json');
  expect(await everything.json()).toEqual({
    sub: user.id,
    name: 'Ada Lovelace',
    given_name: 'Ada',
    family_name: 'Lovelace',
    birthdate: '1815-12-10',
    updated_at: Math.floor(user.updated_at.getTime() / 1000),
    email: user.email,
    email_verified: true,
    address: { locality: 'London' },
    phone_number: '+441234567',
    phone_number_verified: false,
    roles: [],
  });
  expect(await (await userinfo({ authorization: `Bearer ${await accessToken({ scope: 'openid' })}` })).json()).toEqual({ sub: user.id });
});

test('POST with the header and POST with the body field answer the same', async () => {
  const token = await accessToken({ scope: 'openid' });
  const byHeader = await userinfo({ authorization: `Bearer ${token}` }, { method: 'POST' });
  const byBody = await userinfo(form, { method: 'POST', body: new URLSearchParams({ access_token: token }).toString() });
  expect([byHeader.status, byBody.status]).toEqual([200, 200]);
});

test('header and body together, or the query, are refused and not logged (attack 7.90)', async () => {
  const token = await accessToken({ scope: 'openid' });
  const both = await userinfo({ ...form, authorization: `Bearer ${token}` }, { method: 'POST', body: `access_token=${token}` });
  expect([both.status, ((await both.json()) as { error: string }).error]).toEqual([400, 'invalid_request']);
  expect((await userinfo({}, {}, `?access_token=${token}`)).status).toBe(400);
  expect(service.log.join('\n')).not.toContain(token);
  const none = await userinfo({});
  expect([none.status, none.headers.get('www-authenticate')]).toEqual([
    401,
    'Bearer realm="oauth", DPoP realm="oauth", algs="ES256 PS256 EdDSA Ed25519"',
  ]);
});

test('a token without openid is 403, of a person, of a client, and for an API resource (attack 7.91)', async () => {
  const resource = await addResource(ctx);
  const machine = await addMachine(ctx, resource);
  const machineToken = (await tokenRequest(service.url, machine, { grant_type: 'client_credentials', resource: resource.identifier })).body
    .access_token;
  const withoutOpenid = await userinfo({ authorization: `Bearer ${await accessToken({ scope: 'profile' })}` });
  expect(withoutOpenid.status).toBe(403);
  expect(withoutOpenid.headers.get('www-authenticate')).toContain('insufficient_scope');
  for (const token of [machineToken, await accessToken({ scope: 'profile read', resource: resource.identifier })]) {
    expect((await userinfo({ authorization: `Bearer ${token}` })).status).toBe(403);
  }
});

test('the token of a blocked user is dead (attack 7.93)', async () => {
  const person = await addUser(ctx);
  const own = await signedIn(service, person);
  const { access_token } = (await redeem(service.url, client, await authorizeCode(own, client))).body;
  await updateUser(ctx.scope, person.id, { status: 'blocked' });
  expect((await userinfo({ authorization: `Bearer ${access_token}` })).status).toBe(401);
});

const hostile = {
  host: 'evil.example',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-proto': 'https',
  forwarded: 'host=evil.example;proto=https',
};
const rawGet = (path: string, headers: Record<string, string>) =>
  new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    request(`${service.url}${path}`, { headers }, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk));
      res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, text }));
    })
      .on('error', reject)
      .end();
  });

test('forged Host and forwarding headers change no issuer, no URL, no cookie (attack 7.94)', async () => {
  const plain = await rawGet('/.well-known/openid-configuration', {});
  expect((await rawGet('/.well-known/openid-configuration', hostile)).text).toBe(plain.text);
  const login = await rawGet('/login', hostile);
  expect(login.text).not.toContain('evil.example');
  expect(String(login.headers['set-cookie'])).not.toMatch(/Domain|evil/);
});

test('both documents name the same, every URL answers, nothing is promised that is not there (attack 7.96)', async () => {
  const [one, two] = await Promise.all(
    ['openid-configuration', 'oauth-authorization-server'].map(async (name) => {
      const response = await fetch(`${service.url}/.well-known/${name}`);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      return (await response.json()) as Record<string, unknown>;
    }),
  );
  expect(one).toEqual(two);
  const document = one as Record<string, string>;
  expect(document).toMatchObject({ issuer: service.url, resource_indicators_supported: true, code_challenge_methods_supported: ['S256'] });
  expect(JSON.stringify(document)).not.toContain('"none"]}');
  for (const [name, url] of Object.entries(document).filter(([name]) => /_endpoint$|_uri$/.test(name))) {
    const response = await fetch(url, { method: 'OPTIONS' });
    expect([name, response.status]).not.toEqual([name, 404]);
  }
  const jwks = await fetch(document['jwks_uri'] as string);
  expect(jwks.headers.get('cache-control')).toBe('public, max-age=300');
  const { keys } = (await jwks.json()) as { keys: Record<string, unknown>[] };
  expect(keys.length).toBeGreaterThan(0);
  for (const key of keys) expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
});

test('every origin may ask before it reads the public documents with headers of its own', async () => {
  for (const path of ['openid-configuration', 'oauth-authorization-server', 'jwks.json']) {
    const answer = await fetch(`${service.url}/.well-known/${path}`, { method: 'OPTIONS', headers: { origin: 'https://any.example' } });
    expect([path, answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([path, 204, '*']);
  }
});

test('browser applications of registered origins may call the token endpoint and userinfo, others not', async () => {
  await addClient(ctx, { token_endpoint_auth_method: 'none', application_type: 'spa', allowed_origins: ['https://spa.example'] });
  for (const path of ['/oauth/token', '/oauth/userinfo', '/oauth/revoke']) {
    const allowed = await fetch(service.url + path, {
      method: 'OPTIONS',
      headers: { origin: 'https://spa.example', 'access-control-request-method': 'POST' },
    });
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, 'https://spa.example']);
    const foreign = await fetch(service.url + path, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
  }
  const refusal = await fetch(`${service.url}/oauth/token`, { method: 'POST', headers: { origin: 'https://spa.example' } });
  expect(refusal.headers.get('access-control-expose-headers')).toBe('WWW-Authenticate, Retry-After, X-Request-Id, DPoP-Nonce');
  expect(refusal.headers.get('x-request-id')).toBeTruthy();
});
