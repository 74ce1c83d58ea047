// What the dashboard says of records that reach further than whoever looks at them, and what it asks for before everybody's address changes.
import { expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addClient, password } from '../support/data.js';
import { manage, type Document } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

const versionIn = (html: string) => /name="_version" value="(\d+)"/.exec(html)?.[1] ?? '';

test('a client that reaches further says so, may be renamed, and what decides who acts with it is refused at its field', async () => {
  const client = await addClient(ctx, { name: 'Ours', first_party: true });
  const browser = await signedInWith(service, 'clients:read', 'clients:write');
  const path = `/dashboard/clients/${client.id}`;
  const html = await (await browser.get(`${path}/edit`)).text();
  expect(html).toContain('This has more access than you');
  const form = { _csrf: csrfOf(html), _version: versionIn(html), name: 'Ours', first_party: 'on', status: 'enabled' };
  const same = {
    'grant_types:authorization_code': 'on',
    'grant_types:refresh_token': 'on',
    token_endpoint_auth_method: 'client_secret_basic',
    access_token_format: 'opaque',
    id_token_claims: 'protocol',
    id_token_signed_response_alg: 'RS256',
  };
  const refused = await browser.post(path, { ...form, ...same, redirect_uris: 'https://elsewhere.example/cb' });
  const page = await refused.text();
  expect([refused.status, page.includes('You can’t grant more than you have.')]).toEqual([403, true]);
  expect((await api.get(`/clients/${client.id}`)).body['data'].attributes.redirect_uris).toEqual(client.redirect_uris);
  expect(await (await browser.get(`${path}/rotate_secret`)).text()).toContain('This has more access than you');
});

test('a form has no roles for those who may not give any, and makes the user all the same', async () => {
  const browser = await signedInWith(service, 'users:read', 'users:write', 'roles:read');
  const html = await (await browser.get('/dashboard/users/new')).text();
  expect([html.includes('name="email"'), html.includes('name="roles:')]).toEqual([true, false]);
});

test('the pages of domains say what each is for; verifying one asks whoever signed in long ago for the password', async () => {
  const waiting: Document = await api.create('custom_domains', { domain: 'waiting.example.com' });
  const used: Document = await api.create('custom_domains', { domain: 'used.example.com' });
  const issuer_until = new Date(service.clock.now().getTime() + 3_600_000);
  const uses = { status: 'verified', verified_at: new Date(), accepts_passkeys: true, issuer_until };
  await service.deps.db.knex('custom_domains').where({ id: used['id'] }).update(uses);
  service.deps.cache.clear();
  const browser = await signedInWith(service, ...managementPermissions);
  for (const path of ['', `/${used['id']}`])
    expect(await (await browser.get(`/dashboard/custom_domains${path}`)).text()).toContain('Sign-in pages, earlier issuer, passkeys');
  const path = `/dashboard/custom_domains/${waiting['id']}/verify`;
  service.clock.advance(11 * 60_000);
  const html = await (await browser.get(path)).text();
  expect([html.includes('name="current_password"'), html.includes('people can sign in at the domain')]).toEqual([true, true]);
  expect((await browser.post(path, { _csrf: csrfOf(html) })).status).toBe(422);
  expect((await service.deps.db.knex('custom_domains').where({ id: waiting['id'] }).first()).status).toBe('pending');
  service.clock.advance(-11 * 60_000);
});

test('making a domain the primary one asks whoever signed in long ago for the password', async () => {
  const domain: Document = await api.create('custom_domains', { domain: 'login.example.com' });
  await service.deps.db.knex('custom_domains').where({ id: domain['id'] }).update({ status: 'verified', verified_at: new Date() });
  const browser = await signedInWith(service, ...managementPermissions);
  const path = `/dashboard/custom_domains/${domain['id']}`;
  service.clock.advance(11 * 60_000);
  const html = await (await browser.get(`${path}/edit`)).text();
  expect(html).toContain('name="current_password"');
  const form = { _csrf: csrfOf(html), _version: versionIn(html), is_primary: 'on' };
  expect((await browser.post(path, form)).status).toBe(422);
  expect((await browser.post(path, { ...form, current_password: 'not it at all' })).status).toBe(422);
  const row = () => service.deps.db.knex('custom_domains').where({ id: domain['id'] }).first();
  expect((await row()).is_primary).toBe(false);
  expect((await browser.post(path, { ...form, current_password: password })).status).toBe(303);
  expect((await row()).is_primary).toBe(true);
});

test('until when tokens of an earlier issuer are accepted is a time of day in UTC; one that stands as it was shown stays to the millisecond', async () => {
  const issuer_until = new Date('2026-12-24T18:30:12.345Z');
  const domain: Document = await api.create('custom_domains', { domain: 'old.example.com' });
  await service.deps.db
    .knex('custom_domains')
    .where({ id: domain['id'] })
    .update({ status: 'verified', verified_at: new Date(), issuer_until });
  const browser = await signedInWith(service, ...managementPermissions);
  const path = `/dashboard/custom_domains/${domain['id']}`;
  const row = () => service.deps.db.knex('custom_domains').where({ id: domain['id'] }).first();
  const save = async (fields: Record<string, string>) => {
    const html = await (await browser.get(`${path}/edit`)).text();
    return browser.post(path, { _csrf: csrfOf(html), _version: versionIn(html), ...fields });
  };
  expect(await (await browser.get(`${path}/edit`)).text()).toMatch(/type="datetime-local" value="2026-12-24T18:30"/);
  expect((await save({ issuer_until: '2026-12-24T18:30', accepts_passkeys: 'on' })).status).toBe(303);
  expect(await row()).toMatchObject({ issuer_until, accepts_passkeys: true });
  const refused = await save({ issuer_until: 'next week', accepts_passkeys: 'on' });
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('value="next week"')]);
  expect((await save({ issuer_until: '2026-12-25T06:00', accepts_passkeys: 'on' })).status).toBe(303);
  expect((await row()).issuer_until).toEqual(new Date('2026-12-25T06:00:00.000Z'));
  expect((await save({ issuer_until: '', accepts_passkeys: 'on' })).status).toBe(303);
  expect((await row()).issuer_until).toBe(null);
});
