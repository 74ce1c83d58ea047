// A client's security profile in the dashboard: chosen on the form, contradictions at their fields, and rules that are not met on its page.
import { expect, test } from 'vitest';
import { findClient } from '../../src/db/tables/clients.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { formValues, versionOf } from '../support/dashboard-forms.js';
import { addClient, addGrant, addResource } from '../support/data.js';
import { Fapi2Client } from '../support/fapi2.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { createClientKey } from '../support/signed-jwt.js';

const service = sharedService();
const ctx = contextOf(service);

test('it is chosen on the form: what contradicts it is said at each field, and the rest is filled in', async () => {
  const client = await addClient(ctx, { name: 'Bank', first_party: false, redirect_uris: ['https://bank.example/cb'] });
  const path = `/dashboard/clients/${client.id}`;
  const browser = await signedInWith(service, 'clients:read', 'clients:write');
  const form = await (await browser.get(`${path}/edit/security`)).text();
  expect(form).toMatch(/<option value="fapi2"[^>]*>\s*FAPI 2\.0/);
  const fields = { ...formValues(form), _csrf: csrfOf(form), _version: versionOf(form), profile: 'fapi2' };
  const refused = await browser.post(`${path}/edit/security`, fields);
  const page = await refused.text();
  expect(refused.status).toBe(422);
  for (const field of ['token_endpoint_auth_method', 'jwks']) expect(page).toContain(`id="${field}-error"`);
  expect(page).toContain('a client proves itself by private_key_jwt');
  expect((await findClient(ctx.scope, client.id))?.profile).toBeNull();

  const jwks = JSON.stringify({ keys: [(await createClientKey('PS256')).jwk] });
  const good = { ...fields, token_endpoint_auth_method: 'private_key_jwt', jwks };
  expect((await browser.post(`${path}/edit/security`, good)).headers.get('location')).toBe(`${path}?done=updated`);
  expect(await findClient(ctx.scope, client.id)).toMatchObject({
    profile: 'fapi2',
    require_pkce: true,
    require_pushed_authorization_requests: true,
    dpop_bound_access_tokens: true,
    id_token_signed_response_alg: 'ES256',
    secret_digest: null,
  });
  const shown = await (await browser.get(path)).text();
  expect(shown).toContain('FAPI 2.0');
  expect(shown).not.toContain('Unmet FAPI 2.0 requirements');

  const again = await (await browser.get(`${path}/edit/security`)).text();
  const { require_pkce: _on, ...unticked } = formValues(again);
  const broken = await browser.post(`${path}/edit/security`, { ...unticked, _csrf: csrfOf(again), _version: versionOf(again) });
  expect([broken.status, await broken.text()]).toEqual([422, expect.stringContaining('PKCE is compulsory')]);
});

test('its page names the rules that are not met: an address that configuration no longer allows, an API whose tokens it may not have', async () => {
  const { client } = await Fapi2Client.add(service, { redirect_uris: ['https://bank.example/cb', 'http://127.0.0.1:3007/cb'] });
  const weak = await addResource(ctx, { identifier: 'https://api.example/weak', name: 'Weak API' });
  const strong = await addResource(ctx, { identifier: 'https://api.example/strong', name: 'Strong API', signing_alg: 'ES256' });
  for (const resource of [weak, strong]) await addGrant(ctx, client, resource, ['read'], 'user');
  const pageFor = async (...permissions: string[]) =>
    (await (await signedInWith(service, 'clients:read', ...permissions)).get(`/dashboard/clients/${client.id}`)).text();
  const all = ['client_grants:read', 'api_resources:read'];
  const page = await pageFor(...all);
  expect(page).toContain('Unmet FAPI 2.0 requirements');
  // What has to be done stands before what there is.
  expect(page.indexOf('Unmet FAPI 2.0 requirements')).toBeLessThan(page.indexOf('Client ID'));
  expect(page).toContain('Weak API');
  expect(page).not.toContain('Strong API');
  expect(page).not.toContain('redirect_uris.1');
  expect(await pageFor()).not.toContain('Weak API');
  const config = service.deps.config as { allowPrivateNetwork: boolean };
  const before = config.allowPrivateNetwork;
  try {
    config.allowPrivateNetwork = false;
    expect(await pageFor(...all)).toContain('redirect_uris.1');
  } finally {
    config.allowPrivateNetwork = before;
  }
});
