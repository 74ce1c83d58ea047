// The search of every page: what it finds in groups, by what the viewer may read, and where an id leads.
import { beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import type { Browser } from '../support/browser.js';
import { manage, secondEnvironment, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let browser: Browser;
const ids = new Map<string, string>();

const search = (text: string, who = browser) => who.get(`/dashboard/search?${new URLSearchParams({ q: text }).toString()}`);

/** The links below each heading. */
async function groups(text: string, who = browser): Promise<Record<string, string[]>> {
  const answer = await search(text, who);
  expect([text, answer.status]).toEqual([text, 200]);
  const sections = [...(await answer.text()).matchAll(/<section>\s*<h2>([^<]*)<\/h2>(.*?)<\/section>/gs)];
  return Object.fromEntries(sections.map(([, title, list]) => [title, [...(list ?? '').matchAll(/<a[^>]* href="([^"]*)"/g)].map((link) => link[1] ?? '')]));
} // prettier-ignore

const api = shared(() => manage(service.url));

beforeAll(async () => {
  const make = async (name: string, record: Promise<Document>) => void ids.set(name, (await record)['id'] as string);
  await make('lena', api.create('users', { email: 'lena@acme.example', first_name: 'Lena', last_name: 'Maier' }));
  await make('client', api.create('clients', { name: 'Acme shop', application_type: 'machine' }));
  await make('role', api.create('roles', { name: 'Acme support' }));
  const hook = { name: 'Orders', url: 'https://hooks.acme.example/in', events: ['user.created'] };
  await make('webhook', api.create('webhooks', hook));
  await make('api_resource', api.create('api_resources', { identifier: 'https://api.acme.example', name: 'Order API' }));
  browser = await signedInWith(service, ...['users', 'clients', 'roles', 'webhooks', 'api_resources', 'sessions', 'environments'].map((path) => `${path}:read`));
}, 60_000); // prettier-ignore

const at = (path: string, name: string) => `/dashboard/${path}/${ids.get(name) ?? ''}`;

test('records and pages in groups, whatever their kind', async () => {
  expect(await groups('acme')).toEqual({
    Users: [at('users', 'lena')],
    Roles: [at('roles', 'role')],
    Clients: [at('clients', 'client')],
    'API resources': [at('api_resources', 'api_resource')],
    Webhooks: [at('webhooks', 'webhook')],
  });
  expect(await groups('maier lena')).toEqual({ Users: [at('users', 'lena')] });
  expect(await groups('secur')).toEqual({ Pages: [expect.stringMatching(/^\/dashboard\/settings/)] });
  expect(await groups('nobody at all')).toEqual({});
});

test('each page has the field, which goes to the results', async () => {
  for (const path of ['/dashboard', '/dashboard/users', at('users', 'lena'), '/dashboard/users/nobody', '/dashboard/search']) {
    const page = await (await browser.get(path)).text();
    expect([path, page.match(/<form class="find" method="get" action="\/dashboard\/search" role="search"/g)]).toHaveLength(2);
  }
  expect(await (await search('a "quoted" name')).text()).toContain('value="a &#34;quoted&#34; name"');
});

test('a group shows five and leads to its list with the search', async () => {
  for (let n = 1; n <= 6; n++) await api.create('users', { email: `crowd${n}@else.example` });
  const { Users: links = [] } = await groups('crowd');
  expect(links).toHaveLength(6);
  expect(links.at(-1)).toBe('/dashboard/users?search=crowd');
  const list = await (await browser.get(links.at(-1) ?? '')).text();
  expect([...list.matchAll(/class="row-link"/g)]).toHaveLength(6);
});

test('an id leads to its record: of a user, client, webhook, session, delivery or event', async () => {
  await expect.poll(async () => (await api.get('/webhook_deliveries')).body['data']).not.toEqual([]);
  const everybody = await signedInWith(service, 'users:read', 'clients:read', 'webhooks:read', 'sessions:read', 'environments:read');
  const [delivery] = (await api.get('/webhook_deliveries')).body['data'] as Document[];
  const [session] = (await api.get('/sessions')).body['data'] as Document[];
  const cases = [
    [ids.get('lena'), at('users', 'lena')],
    [ids.get('lena')?.toUpperCase(), at('users', 'lena')],
    [ids.get('client'), at('clients', 'client')],
    [ids.get('webhook'), at('webhooks', 'webhook')],
    [session?.['id'], `/dashboard/sessions/${session?.['id']}`],
    [delivery?.['id'], `/dashboard/webhook_deliveries/${delivery?.['id']}`],
    [delivery?.['attributes'].event_id, `/dashboard/webhook_deliveries/${delivery?.['id']}`],
  ] as [string, string][];
  for (const [id, path] of cases) {
    const answer = await search(id, everybody);
    expect([id, answer.status, answer.headers.get('location')]).toEqual([id, 303, path]);
  }
});

test('a collection that the viewer may not read is neither listed nor hinted at, nor is its id (attack 33.1133)', async () => {
  const reader = await signedInWith(service, 'roles:read');
  expect(await groups('acme', reader)).toEqual({ Roles: [at('roles', 'role')] });
  expect(await groups('users', reader)).toEqual({});
  for (const name of ['lena', 'client', 'webhook', 'api_resource']) expect([name, await groups(ids.get(name) ?? '', reader)]).toEqual([name, {}]);
  expect((await search('acme', (await signedInWith(service)))).status).toBe(403);
}); // prettier-ignore

test('names and ids of another environment find nothing (attack 33.1132)', async () => {
  const { api: other } = await secondEnvironment(api, 'elsewhere');
  const user = await other.create('users', { email: 'foreign@other.example', first_name: 'Foreign' });
  const client = await other.create('clients', { name: 'Foreign shop', application_type: 'machine' });
  for (const text of ['foreign', user['id'], client['id']]) expect([text, await groups(text as string)]).toEqual([text, {}]);
});

test('a query of signs is text, and a very long one is refused (attack 33.1135)', async () => {
  for (const text of ['%', '_%_', '\\', "' or 1=1 --", '.*']) expect([text, await groups(text)]).toEqual([text, {}]);
  const answer = await search('x'.repeat(256));
  expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('This search is too long')]);
  expect((await search('')).status).toBe(200);
});

test('markup in a query or in what it finds is text (attack 33.1136)', async () => {
  await api.create('users', { email: 'markup@example.com', first_name: '<img src=x onerror=alert(1)>' });
  for (const text of ['<img src=x', '"><script>alert(1)</script>', 'markup']) {
    const page = await (await search(text)).text();
    expect([text, /<img src=x|<script>alert/.test(page)]).toEqual([text, false]);
  }
  expect(await (await search('markup')).text()).toContain('&lt;img src=x onerror=alert(1)&gt;');
});
