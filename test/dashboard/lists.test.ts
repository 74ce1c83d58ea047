// Every list says what to do when it is empty and when nothing fits its filters, and keeps the place of whoever looks at one of its records.
import { expect, test } from 'vitest';
import { presentations } from '../../src/dashboard/pages/index.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { resources } from '../../src/management/resources/index.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addClient } from '../support/data.js';
import { formValues } from '../support/dashboard-forms.js';
import { manage, secondEnvironment } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const browser = shared(() => signedInWith(service, ...managementPermissions));

const plain = (text: string) => text.replaceAll(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code))).replaceAll('&amp;', '&');
const html = async (path: string) => plain(await (await browser.get(path)).text());
const listOf = (path: string) => `/dashboard/${path}`;
/** What an empty list says: its title, and where its button leads. */
const emptyOf = (page: string) => ({
  title: /class="empty-title">([^<]+)</.exec(page)?.[1] ?? null,
  button: /class="empty"[\s\S]*?<a class="button[^"]*" href="([^"]+)"/.exec(page)?.[1] ?? null,
});

/** Collections that nobody ever sees empty: the service comes with records of them, and whoever looks is a user with a session. */
const neverEmpty: ReadonlySet<string> = new Set([
  'users',
  'sessions',
  'roles',
  'clients',
  'client_grants',
  'api_resources',
  'permissions',
  'event_types',
  'events',
  'signing_keys',
  'environments',
]);

test('an empty list says what is kept there, and leads to the first record where one can be made', async () => {
  const full: string[] = [];
  for (const { path, empty, create, start } of presentations) {
    const { title, button } = emptyOf(await html(listOf(path)));
    expect([path, empty.title.length > 5 && empty.text.length > 20]).toEqual([path, true]);
    if (title === null) full.push(path);
    else {
      const first = start ? expect.stringContaining('/dashboard/api_resources/new?identifier=') : create ? `${listOf(path)}/new` : null;
      expect([path, title, button]).toEqual([path, empty.title, first]);
    }
  }
  expect(full).toEqual(presentations.map(({ path }) => path).filter((path) => neverEmpty.has(path)));
});

/** Addresses of the list under one filter each: every choice of a select, and a text that nothing has. */
function narrowed(path: string, page: string): string[] {
  const form = /<form class="filters"[\s\S]*?<\/form>/.exec(page)?.[0] ?? '';
  const choices = [...form.matchAll(/<select\b[^>]*name="([^"]+)"[^>]*>([\s\S]*?)<\/select>/g)].flatMap(([, name = '', options = '']) =>
    [...options.matchAll(/<option\b[^>]*value="([^"]+)"/g)].map(([, value = '']) => [name, value]),
  );
  const texts = [...form.matchAll(/<input\b[^>]*>/g)].filter(([tag]) => /type="(?:search|text)"/.test(tag));
  const typed = texts.map(([tag]) => [/name="([^"]+)"/.exec(tag)?.[1] ?? '', 'nothing-has-this']);
  return [...typed, ...choices].map(([name = '', value = '']) => `${listOf(path)}?${new URLSearchParams({ [name]: value })}`);
}

test('a list whose filters fit nothing says so, and leads to the list without them', async () => {
  // Every client that the service comes with has a grant.
  await addClient(ctx);
  for (const { path, filters } of presentations) {
    // There are event types of every group.
    if (filters.length === 0 || path === 'event_types') continue;
    let leadsTo: string | null = null;
    for (const address of narrowed(path, await html(listOf(path)))) {
      const { title, button } = emptyOf(await html(address));
      if (title === 'Nothing matches') leadsTo = button;
      if (leadsTo !== null) break;
    }
    expect([path, leadsTo]).toEqual([path, listOf(path)]);
  }
});

/** Where the first of the breadcrumbs leads. */
const back = (page: string) => /<nav class="crumbs"[\s\S]*?href="([^"]+)"/.exec(page)?.[1];

/** Those first that go with others. */
const lastDeleted = [
  'webhooks',
  'approvals',
  'provider_tokens',
  'identities',
  'provider_grants',
  'consents',
  'signal_streams',
  'outbound_grants',
  'external_servers',
  'federated_credentials',
  'trusted_issuers',
  'permissions',
  'authorization_detail_types',
  'api_resources',
  'organization_groups',
  'directories',
  'organizations',
  'connections',
  'clients',
  'users',
];

test('the way back from a record of any collection, after an edit and a deletion, leads to where one stood in its list', async () => {
  const api = await manage(service.url);
  const records = new Map([...(await oneOfEach(service, api))].map(([path, { id }]) => [path, id as string]));
  records.set('environments', (await secondEnvironment(api)).id);
  const changed: string[] = [];
  const deleted: string[] = [];
  const ordered = presentations.toSorted((one, other) => lastDeleted.indexOf(one.path) - lastDeleted.indexOf(other.path));
  for (const { path, fields, remove } of ordered) {
    const resource = resources.find((one) => one.path === path);
    const id = encodeURIComponent(records.get(path) ?? '');
    const at = `${listOf(path)}/${id}`;
    const place = `${listOf(path)}?sort=${resource?.defaultSort ?? '-created_at'}`;
    const found = await browser.get(place);
    expect([path, found.status]).toEqual([path, 200]);
    if (id === '') continue;
    expect([path, back(await html(at))]).toEqual([path, place]);
    if (fields && resource?.update) {
      const form = await (await browser.get(`${at}/edit`)).text();
      const saved = await browser.post(at, formValues(form));
      expect([path, back(plain(form)), saved.status]).toEqual([path, place, 303]);
      expect([path, back(await html(saved.headers.get('location') ?? ''))]).toEqual([path, place]);
      changed.push(path);
    }
    if (!remove || !resource?.remove) continue;
    const question = await html(`${at}/delete`);
    const typed = /Type (.+?) to confirm/.exec(question)?.[1] ?? '';
    const answer = await browser.post(`${at}/delete`, { _csrf: csrfOf(question), confirmation: typed });
    const leadsTo = remove.leadsTo ? /^\/dashboard\/(?:users|organizations)\/[^?]+\?done=deleted$/ : `${place}&done=deleted`;
    expect([path, answer.status, answer.headers.get('location')]).toEqual([
      path,
      303,
      typeof leadsTo === 'string' ? leadsTo : expect.stringMatching(leadsTo),
    ]);
    deleted.push(path);
  }
  const removable = presentations.flatMap(({ path, remove }) => (remove ? [path] : [])).toSorted();
  expect(deleted.toSorted(), 'Make a record of each in test/support/one-of-each.ts.').toEqual(removable);
  const changeable = presentations.filter(({ path, fields }) => fields && resources.some((one) => one.path === path && one.update));
  expect(changed.toSorted(), 'Make a record of each in test/support/one-of-each.ts.').toEqual(
    changeable.map(({ path }) => path).toSorted(),
  );
});
