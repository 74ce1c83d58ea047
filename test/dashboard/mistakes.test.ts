import { beforeAll, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import type { Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook } from '../support/webhooks.js';

const service = sharedService();
let browser: Browser;

const ctx = contextOf(service);

beforeAll(async () => {
  const collections = ['users', 'clients', 'connections', 'webhooks'];
  browser = await signedInWith(service, ...collections.flatMap((name) => [`${name}:read`, `${name}:write`]));
});

/** The fields that the error summary names, in order; without one the field that is refused alone. */
const wrongFields = (html: string): string[] => {
  const single = /<p class="error" id="([^"]+)-error"/.exec(html)?.[1];
  if (!html.includes('id="error-summary"')) return single === undefined ? [] : [single];
  const summary = /id="error-summary"[\s\S]*?<\/ul>/.exec(html)?.[0] ?? '';
  return [...summary.matchAll(/href="#([^"]+)"/g)].map(([, id = '']) => id.replace(/^field-/, '')).toSorted();
};

const mistakes: [string, string, Record<string, string>, string[]][] = [
  [
    'a webhook',
    '/dashboard/webhooks/new',
    { name: '', url: 'nope', description: 'x'.repeat(1001) },
    ['description', 'events', 'name', 'url'],
  ],
  ['a user', '/dashboard/users/new', { email: 'nope', first_name: 'x'.repeat(500), metadata: '{' }, ['email', 'first_name', 'metadata']],
  [
    'a client',
    '/dashboard/clients/new?application_type=web',
    {
      application_type: 'web',
      name: '',
      redirect_uris: 'nope',
      token_endpoint_auth_method: 'client_secret_basic',
      'grant_types:authorization_code': 'on',
    },
    ['name', 'redirect_uris'],
  ],
  [
    'a connection',
    '/dashboard/connections/new?strategy=oidc',
    { strategy: 'oidc', name: 'Not A Name', display_name: '', provider_client_id: 'x', issuer: 'nope' },
    ['display_name', 'issuer', 'name'],
  ],
];

test.each(mistakes)('%s with several mistakes: all are told at once, beside their fields', async (_what, page, fields, wrong) => {
  const answer = await browser.submit(page, fields, page.split(/\/new/)[0]);
  const html = await answer.text();
  expect([answer.status, wrongFields(html)]).toEqual([422, wrong]);
});

test('a change with several mistakes: the same', async () => {
  const { webhook } = await addWebhook(ctx, 'http://127.0.0.1:8999/a', { name: 'Right' });
  const user = await addUser(ctx);
  const cases: [string, Record<string, string>, string[]][] = [
    [`/dashboard/webhooks/${webhook.id}`, { name: '', url: 'nope', status: 'enabled' }, ['events', 'name', 'url']],
    [`/dashboard/users/${user.id}`, { email: 'nope', nickname: 'x'.repeat(500), metadata: '[' }, ['email', 'metadata', 'nickname']],
  ];
  for (const [path, fields, wrong] of cases) {
    const version = /name="_version" value="(\d+)"/.exec(await (await browser.get(`${path}/edit`)).text())?.[1] ?? '';
    const answer = await browser.submit(`${path}/edit`, { _version: version, ...fields }, path);
    expect([answer.status, wrongFields(await answer.text())]).toEqual([422, wrong]);
  }
});

test('an edit form asks for what a new one asks for', async () => {
  const { webhook } = await addWebhook(ctx, 'https://hooks.example/in', { name: 'Orders' });
  const html = await (await browser.get(`/dashboard/webhooks/${webhook.id}/edit`)).text();
  const optional = [...html.matchAll(/<label for="([\w.]+)">[^<]*<span class="optional">/g)].map(([, name]) => name);
  expect(html).toContain('for="name"');
  expect(optional).toContain('description');
  expect(optional).not.toContain('name');
  expect(optional).not.toContain('url');
});

test('one mistake is told beside its field alone, which has the focus (specification 9.2.20)', async () => {
  const answer = await browser.submit('/dashboard/users/new', { email: 'nope', first_name: 'Ada' }, '/dashboard/users');
  const html = await answer.text();
  expect([answer.status, wrongFields(html), html.includes('id="error-summary"')]).toEqual([422, ['email'], false]);
  expect(html.match(/ autofocus/g)).toHaveLength(1);
  expect(html).toMatch(/<input id="email"[^>]* autofocus[^>]*aria-invalid="true"/);
});
