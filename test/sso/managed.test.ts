// A connection from its creation over the Management API to a login, as it is set up in production: https outside, a proxy in front.
import { beforeAll, expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { providerSecret } from '../support/connections.js';
import { Api, managementClient, startManagedService } from '../support/management.js';
import { sharedService } from '../support/shared-service.js';
import { tokenRequest } from '../support/oauth.js';
import { throughProvider } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService(() => startManagedService({ BASE_URL: 'https://id.example', ALLOW_PRIVATE_NETWORK: 'on' }));
const upstream = ScriptedUpstream.shared();
let api: Api;
let origin: string;

beforeAll(async () => {
  origin = `http://127.0.0.1:${service.config.port}`;
  const fields = { grant_type: 'client_credentials', resource: 'https://id.example/api' };
  api = new Api(origin, (await tokenRequest(origin, managementClient, fields)).body.access_token);
});

const attributes = () => ({
  name: 'corp', display_name: 'Corp', strategy: 'oidc', issuer: upstream.url, provider_client_id: 'the-service', provider_client_secret: providerSecret,
}); // prettier-ignore

test('created over the API, tried out, used; the cookie is for this host alone; switched off it is gone', async () => {
  const created = await api.attempt('connections', attributes());
  expect(created.status).toBe(201);
  expect(created.text).not.toContain(providerSecret);
  const { id, attributes: shown } = created.body['data'] as { id: string; attributes: Record<string, unknown> };
  expect(shown).toMatchObject({ callback_url: 'https://id.example/auth/sso/callback', login_url: `https://id.example/auth/sso/${id}` });

  const tested = await api.post(`/connections/${id}/test`);
  expect(tested.status).toBe(202);
  const login = new URL((tested.body['meta'] as { login_url: string }).login_url);
  expect(login.origin).toBe('https://id.example');
  const administrator = new Browser(origin);
  const toProvider = await administrator.get(login.pathname + login.search);
  const back = await throughProvider(new URL(toProvider.headers.get('location') as string));
  expect(await (await administrator.get(back.pathname + back.search)).text()).toContain(
    'This login would create a user with the address ada@corp.example.',
  );

  const browser = new Browser(origin);
  expect(await (await browser.get('/login')).text()).toContain(`/auth/sso/${id}`);
  const start = await browser.get(`/auth/sso/${id}`);
  expect(start.headers.getSetCookie().join()).toMatch(
    /^__Host-sso=[\w-]{43}; Max-Age=600; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/,
  );
  const location = new URL(start.headers.get('location') as string);
  expect(location.searchParams.get('redirect_uri')).toBe('https://id.example/auth/sso/callback');
  const answer = await throughProvider(location);
  const done = await browser.get(answer.pathname + answer.search);
  expect([done.status, browser.cookies.has('__Host-session')]).toEqual([303, true]);

  const off = await api.update('connections', id, { status: 'disabled' });
  expect(off.status).toBe(200);
  expect((await browser.get(`/auth/sso/${id}`)).status).toBe(404);
  expect(await (await new Browser(origin).get('/login')).text()).not.toContain(id);
});
