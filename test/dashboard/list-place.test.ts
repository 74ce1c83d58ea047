import { expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addClient } from '../support/data.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const browser = shared(() => signedInWith(service, 'clients:read', 'clients:write', 'roles:read'));

const html = async (path: string) => (await browser.get(path)).text();
/** Where the first of the breadcrumbs leads. */
const back = (page: string) =>
  /<nav class="crumbs"[\s\S]*?href="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&').replaceAll('&#38;', '&');

test('the way back from a record, after an edit and a deletion, leads to where one stood in the list', async () => {
  const client = await addClient(ctx, { name: 'Bakery', first_party: false });
  const place = '/dashboard/clients?search=Bak&status=enabled';
  await html(place);
  expect(back(await html(`/dashboard/clients/${client.id}`))).toBe(place);
  const edit = await html(`/dashboard/clients/${client.id}/edit`);
  expect(back(edit)).toBe(place);
  const fields = [...edit.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
    name,
    value,
  ]);
  const saved = await browser.post(`/dashboard/clients/${client.id}`, { ...Object.fromEntries(fields), name: 'Bakers' });
  expect(back(await html(saved.headers.get('location') ?? `/dashboard/clients/${client.id}`))).toBe(place);
  const path = `/dashboard/clients/${client.id}/delete`;
  const question = await html(path);
  const deleted = await browser.post(path, { _csrf: csrfOf(question), confirmation: /Type (.+?) to confirm/.exec(question)?.[1] ?? '' });
  expect([deleted.status, deleted.headers.get('location')]).toEqual([303, `${place}&done=deleted`]);
});

test('another list, and one from its beginning, begin at their beginning', async () => {
  const client = await addClient(ctx, { name: 'Other', first_party: false });
  await html('/dashboard/clients?search=Oth');
  await html('/dashboard/roles?search=adm');
  expect(back(await html(`/dashboard/clients/${client.id}`))).toBe('/dashboard/clients');
  await html('/dashboard/clients?search=Oth');
  await html('/dashboard/clients');
  expect(back(await html(`/dashboard/clients/${client.id}`))).toBe('/dashboard/clients');
});

test('an odd cookie leads nowhere else', async () => {
  const client = await addClient(ctx, { name: 'Odd', first_party: false });
  for (const value of [
    'https%3A%2F%2Fevil.example',
    '%2Fdashboard%2Fclients%3F%E0%A4%A',
    'javascript%3Aalert(1)',
    '%2Fdashboard%2Fclients%3F"><script>',
  ]) {
    browser.cookies.set('idp_dashboard_list', value);
    const page = await html(`/dashboard/clients/${client.id}`);
    expect(back(page)).toMatch(/^\/dashboard\/clients(?:\?|$)/);
    expect(page).not.toMatch(/evil\.example|javascript:|"><script>/);
  }
});

test('permissions stand in the order of their names until another order is chosen', async () => {
  const reader = await signedInWith(service, 'permissions:read');
  const namesAt = async (path: string) =>
    [...(await (await reader.get(path)).text()).matchAll(/<code[^>]*>(\w+:\w+)<\/code>/g)].map(([, name]) => name);
  const names = await namesAt('/dashboard/permissions?is_system=true');
  expect(names.length).toBeGreaterThan(20);
  expect(names).toEqual(names.toSorted());
  expect((await namesAt('/dashboard/permissions?is_system=true&sort=-name'))[0]).toBe('webhooks:write');
});
