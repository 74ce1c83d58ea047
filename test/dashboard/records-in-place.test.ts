// What a form asks for as lines instead of JSON, what it shows without letting it be changed, and names in the place of ids.
import { beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { recordSecurityEvent } from '../../src/domain/audit/security-trail.js';
import { transaction } from '../../src/domain/context.js';
import { noOrigin } from '../../src/domain/origin.js';
import { signedInWith } from '../support/administrators.js';
import type { Browser } from '../support/browser.js';
import { addClient, addUser } from '../support/data.js';
import { formValues } from '../support/dashboard-forms.js';
import { link, manage, type Document } from '../support/management.js';
import { addConnection } from '../support/connections.js';
import { addDomain, addOrganization } from '../support/organizations.js';
import { sharedManagedService, shared } from '../support/shared-service.js';

const service = sharedManagedService();
let browser: Browser;

const api = shared(() => manage(service.url));
beforeAll(async () => {
  browser = await signedInWith(service, ...managementPermissions);
});

test('resources of an external server are lines: an identifier and its scopes, added and removed', async () => {
  const resources = [{ identifier: 'https://mcp.example.com/', scopes: ['read', 'write'] }];
  const { id } = await api.create('external_servers', { name: 'Other', issuer: 'https://as.example.com', resources });
  const path = `/dashboard/external_servers/${id}`;
  const form = await (await browser.get(`${path}/edit`)).text();
  expect(form).toMatch(/<textarea id="resources"[^>]* data-rows[^>]*>\s*https:\/\/mcp\.example\.com\/ read write<\/textarea>/);
  const post = async (lines: string) => browser.post(path, { ...formValues(await (await browser.get(`${path}/edit`)).text()), resources: lines });
  expect((await post('https://mcp.example.com/ read\nhttps://files.example.com/ list, get')).status).toBe(303);
  const stored = (await api.get(`/external_servers/${id}`)).body['data'] as Document;
  expect(stored['attributes'].resources).toEqual([
    { identifier: 'https://mcp.example.com/', scopes: ['read'] },
    { identifier: 'https://files.example.com/', scopes: ['list', 'get'] },
  ]);
  const refused = await post('https://mcp.example.com/');
  expect([refused.status, (await refused.text()).includes('Enter an identifier and at least one scope')]).toEqual([422, true]);
}); // prettier-ignore

test('the domains of an organization’s connection are read in its form, and changed at the organization', async () => {
  const ctx = await service.context();
  const organization = await addOrganization(ctx);
  await addDomain(ctx, organization, 'corp.example');
  const { id } = await addConnection(ctx, { organization_id: organization.id });
  const [own, everybodys] = [id, (await addConnection(ctx)).id].map((one) => `/dashboard/connections/${one}`);
  const form = await (await browser.get(`${own}/edit`)).text();
  expect(form).toMatch(/<textarea id="domains"(?![^>]*data-rows)[^>]* readonly[^>]*>\s*corp\.example<\/textarea>/);
  expect(form).toContain(`href="/dashboard/organizations/${organization.id}/domains"`);
  expect(await (await browser.get(`${everybodys}/edit`)).text()).toMatch(/<textarea id="domains"[^>]* data-rows/);
  expect((await browser.post(own ?? '', { ...formValues(form), display_name: 'Renamed' })).status).toBe(303);
  const changed = await browser.post(own ?? '', {
    ...formValues(await (await browser.get(`${own}/edit`)).text()),
    domains: 'other.example',
  });
  expect(changed.status).toBe(422);
});

test('the page of an entry names clients and people where the entry has ids', async () => {
  const client = await api.create('clients', { name: 'Acme shop', application_type: 'machine' });
  const ctx = await service.context();
  const person = await addUser(ctx, { first_name: 'Lena', last_name: 'Obermaier' });
  const target = { target_type: 'user', target_id: person.id };
  await transaction(ctx, (tx) =>
    recordSecurityEvent(tx, 'login.succeeded', { target, origin: noOrigin, detail: { client_id: client['id'] } }),
  );
  const list = (await api.get('/audit_logs?filter[action]=login.succeeded')).body['data'] as Document[];
  const page = await (await browser.get(`/dashboard/audit_logs/${list[0]?.['id']}`)).text();
  expect(page).toMatch(new RegExp(`<a[^>]* href="/dashboard/clients/${client['id']}">Acme shop</a>`));
  expect(page).toMatch(new RegExp(`<a[^>]* href="/dashboard/users/${person.id}">Lena Obermaier</a>`));
});

test('the pages that change, delete or act on a record name it as its own page does, by what it links to', async () => {
  const client = await addClient(await service.context(), { name: 'Assistant' });
  const server = await api.create('external_servers', {
    name: 'Tools',
    issuer: 'https://tools.example.com',
    resources: [{ identifier: 'https://tools.example.com/mcp', scopes: ['read'] }],
  });
  const links = { client: link('client', client.id), external_server: link('external_server', String(server['id'])) };
  const { id } = await api.create('outbound_grants', { external_client_id: 'there' }, links);
  const path = `/dashboard/outbound_grants/${String(id)}`;
  const refused = await browser.post(path, { ...formValues(await (await browser.get(`${path}/edit`)).text()), scopes: 'two words' });
  const pages = [await browser.get(`${path}/edit`), await browser.get(`${path}/delete`), refused];
  for (const page of pages) expect(await page.text()).toMatch(/class="crumbs"[^]*Assistant → Tools[^]*<h1/);
  expect(refused.status).toBe(422);
});
