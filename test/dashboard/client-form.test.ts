// A client by subject: pages that save what they show, and an overview of what differs from its default.
import { expect, test } from 'vitest';
import { clientFields, clientSubjects } from '../../src/dashboard/pages/clients/client-fields.js';
import { findClient } from '../../src/db/tables/clients.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { signedInWith } from '../support/administrators.js';
import { formValues } from '../support/dashboard-forms.js';
import { addClient } from '../support/data.js';
import { manage } from '../support/management.js';
import { addSamlClient } from '../support/saml-application.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const browser = shared(() => signedInWith(service, ...managementPermissions));

const html = async (path: string) => (await browser.get(path)).text();
const labelsOf = (page: string) => [...page.matchAll(/<dt>([^<]*?)\s*<\/dt>/g)].map(([, label]) => label);

test('its overview has what differs from its default, and leads to all of it (specification 9.1.11)', async () => {
  const api = await manage(service.url);
  const plain = await api.create('clients', { name: 'Plain', redirect_uris: ['https://plain.example/cb'] });
  const path = `/dashboard/clients/${plain['id']}`;
  const page = await html(path);
  expect(labelsOf(page)).toEqual(
    ['Client ID', 'Secret', 'Application type', 'Grant types', 'Authentication method', 'Redirect URIs', 'Last used', 'Created'], // prettier-ignore
  );
  const left = Number(/href="[^"]*\?show=all">Show all: (\d+) settings have their default</.exec(page)?.[1]);
  const all = await html(`${path}?show=all`);
  expect(labelsOf(all)).toHaveLength(labelsOf(page).length + left);
  expect(all).toContain(`<a href="${path}">Show only what differs from its default</a>`);

  await api.update('clients', plain['id'], { dpop_bound_access_tokens: true, first_party: false }); // prettier-ignore
  const changed = labelsOf(await html(path));
  expect(changed).toHaveLength(labelsOf(page).length + 2);
  expect(changed).toEqual(expect.arrayContaining(['DPoP', 'First-party: skips consent']));
});

test('every field is on one page of its form', async () => {
  const all = clientSubjects.flatMap(({ fields }) => fields.map(({ name }) => name));
  expect([...new Set(all)].toSorted()).toEqual(clientFields.map(({ name }) => name).toSorted());
  for (const client of [await addClient(ctx, { name: 'Pages' }), await addSamlClient(ctx)]) {
    const record = { attributes: client } as unknown as Parameters<NonNullable<(typeof clientSubjects)[number]['when']>>[0];
    const subjects = clientSubjects.filter(({ when }) => when?.(record) ?? true);
    const onPages = subjects.flatMap(({ fields }) => fields.map(({ name }) => name));
    expect(new Set(onPages).size).toBe(onPages.length);
    for (const { name, title } of subjects) {
      const page = await html(`/dashboard/clients/${client.id}/edit/${name}`);
      expect(page).toContain(`<a href="/dashboard/clients/${client.id}/edit/${name}" aria-current="page">${title}<`);
    }
    for (const name of ['nothing', client.application_type === 'saml' ? 'tokens' : 'saml'])
      expect((await browser.get(`/dashboard/clients/${client.id}/edit/${name}`)).status).toBe(404);
  }
});

test('a page saves its own fields alone: those of another that are sent along change nothing (specification 9.2.7, attack 17.1160)', async () => {
  const client = await addClient(ctx, { name: 'Alone', first_party: false });
  const path = `/dashboard/clients/${client.id}/edit/tokens`;
  const before = await findClient(ctx.scope, client.id);
  const foreign = { name: 'Other', status: 'disabled', first_party: 'on', redirect_uris: 'https://evil.example/cb', require_pkce: 'on' };
  const saved = await browser.post(path, { ...formValues(await html(path)), ...foreign, token_rate_limit: '20' });
  expect(saved.status).toBe(303);
  const after = await findClient(ctx.scope, client.id);
  expect(after).toEqual({ ...before, token_rate_limit: 20, updated_at: after?.updated_at, version: after?.version });
});

test('what is refused for a field of another page is told with its label', async () => {
  const client = await addClient(ctx, { name: 'Loop', redirect_uris: ['http://app.example/cb'] });
  const path = `/dashboard/clients/${client.id}/edit/security`;
  const refused = await browser.post(path, { ...formValues(await html(path)), profile: 'fapi2' });
  const page = await refused.text();
  expect([refused.status, page.includes('Redirect URIs: ')]).toEqual([422, true]);
  expect(page).toContain('id="token_endpoint_auth_method-error"');
});
