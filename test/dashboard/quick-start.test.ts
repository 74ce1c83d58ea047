// A client's quick start: the guides for its kind, with its own values, and the button that makes their settings.
import { expect, test } from 'vitest';
import { findApiResource } from '../../src/db/tables/api_resources.js';
import { findClient } from '../../src/db/tables/clients.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addClient, addResource } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

const pathOf = (id: string) => `/dashboard/clients/${id}/quick_start`;

test('the guides of its kind are offered, with its own values', async () => {
  const client = await addClient(ctx, { name: 'Shop', first_party: false });
  const browser = await signedInWith(service, 'clients:read');
  const page = async (guide: string) => (await browser.get(`${pathOf(client.id)}?guide=${guide}`)).text();
  const spring = await page('spring');
  expect(spring).toContain('src/main/resources/application.yaml');
  expect(spring).toContain(`CLIENT_ID=${client.id}`);
  expect(spring).toContain(`ISSUER=${ctx.environment.issuer}`);
  expect(spring).toContain('http://localhost:8080/login/oauth2/code/idp, which this client doesn');
  expect(spring).not.toContain('id.example.com');
  expect(spring).toContain('href="/docs/guides/spring"');
  for (const name of ['auth-js', 'authlib', 'go-oidc', 'grafana', 'gitlab']) expect(spring).toContain(`value="${name}"`);
  expect(spring).not.toContain('value="single-page"');
  expect(await page('grafana')).toContain(`client_id = ${client.id}`);
  expect(await page('unknown')).toContain('oidc.discovery');
  const native = await addClient(ctx, {
    name: 'Phone',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    first_party: false,
  });
  const offered = await (await browser.get(pathOf(native.id))).text();
  expect(offered).toContain('value="kubernetes"');
  expect(offered).not.toContain('value="spring"');
  expect(offered).not.toContain('CLIENT_SECRET=');
});

test('any other library has every address for each kind of client, after all the others', async () => {
  const browser = await signedInWith(service, 'clients:read');
  for (const application_type of ['web', 'spa', 'native'] as const) {
    const isPublic = application_type !== 'web';
    const client = await addClient(ctx, { name: application_type, application_type, first_party: false, ...(isPublic ? { token_endpoint_auth_method: 'none' } : {}) }); // prettier-ignore
    const chosen = await (await browser.get(`${pathOf(client.id)}?guide=any-other-library`)).text();
    expect([...chosen.matchAll(/<option value="([\w-]+)"/g)].at(-1)?.[1]).toBe('any-other-library');
    expect(chosen).toMatch(new RegExp(`Client ID +${client.id}\n`));
    expect(chosen).toContain(`${ctx.environment.issuer}/oauth/token\n`);
  }
});

test('one button makes the settings, and keeps mappings that are there', async () => {
  const own = [{ claim: 'mail', source: 'email', in: ['id_token'] }] as const;
  const client = await addClient(ctx, { name: 'Proxy', first_party: false, claim_mappings: [...own] as never });
  const browser = await signedInWith(service, 'clients:read', 'clients:write', 'users:read', 'roles:read');
  const path = pathOf(client.id);
  const before = await (await browser.get(`${path}?guide=oauth2-proxy`)).text();
  expect(before).toContain('Apply these settings');
  const answer = await browser.post(path, { _csrf: csrfOf(before), guide: 'oauth2-proxy' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `${path}?guide=oauth2-proxy&done=updated`]);
  const after = await findClient(ctx.scope, client.id);
  expect(after).toMatchObject({
    id_token_claims: 'profile',
    claim_mappings: [...own, { claim: 'groups', source: 'roles', in: ['id_token', 'userinfo'] }],
  });
  expect(await (await browser.get(`${path}?guide=oauth2-proxy`)).text()).not.toContain('Apply these settings');
});

test('the button adds the grant types of the guide, and takes none away', async () => {
  const client = await addClient(ctx, {
    name: 'Dashboards',
    first_party: false,
    grant_types: ['authorization_code', 'client_credentials'],
    id_token_claims: 'profile',
    claim_mappings: [{ claim: 'groups', source: 'roles', in: ['id_token'] }],
  });
  const browser = await signedInWith(service, 'clients:read', 'clients:write', 'users:read', 'roles:read');
  const path = pathOf(client.id);
  const page = await (await browser.get(`${path}?guide=grafana`)).text();
  expect(page).toContain('by refresh_token Grafana stays signed in');
  expect((await browser.post(path, { _csrf: csrfOf(page), guide: 'grafana' })).status).toBe(303);
  expect((await findClient(ctx.scope, client.id))?.grant_types).toEqual(['authorization_code', 'client_credentials', 'refresh_token']);
});

test('the API that is chosen gets the typ that the framework takes', async () => {
  const client = await addClient(ctx, { name: 'Spring', first_party: false });
  const resource = await addResource(ctx, { identifier: 'https://api.example/typ' });
  const path = pathOf(client.id);
  const browser = await signedInWith(
    service,
    'clients:read',
    'clients:write',
    'api_resources:read',
    'api_resources:write',
    'credentials:write',
  );
  const page = await (await browser.get(`${path}?guide=spring`)).text();
  expect(page).toContain(`value="${resource.id}"`);
  expect((await browser.post(path, { _csrf: csrfOf(page), guide: 'spring', api_resource: resource.id })).status).toBe(303);
  expect(await findApiResource(ctx.scope, resource.id)).toMatchObject({ token_typ: 'JWT' });
});

test('whoever may not write is told, and refused; a guide that is not one is nowhere', async () => {
  const client = await addClient(ctx, { name: 'Read only', first_party: false });
  const path = pathOf(client.id);
  const reader = await signedInWith(service, 'clients:read');
  const page = await (await reader.get(`${path}?guide=auth-js`)).text();
  expect(page).toContain('somebody with clients:write');
  expect(page).not.toContain('Apply these settings');
  expect((await reader.post(path, { _csrf: csrfOf(page), guide: 'auth-js' })).status).toBe(403);
  expect(await findClient(ctx.scope, client.id)).toMatchObject({ id_token_claims: 'protocol' });
  const writer = await signedInWith(service, 'clients:read', 'clients:write');
  const csrf = csrfOf(await (await writer.get(path)).text());
  expect((await writer.post(path, { _csrf: csrf, guide: 'unknown' })).status).toBe(404);
  expect((await writer.post(path, { _csrf: csrf, guide: 'oauth2-proxy' })).status).toBe(403);
  expect(await findClient(ctx.scope, client.id)).toMatchObject({ id_token_claims: 'protocol', claim_mappings: [] });
});
