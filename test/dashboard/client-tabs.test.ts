import { expect, test } from 'vitest';
import { listConnectionIdsOfClient } from '../../src/db/tables/client_connections.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addClient, addGrant, addResource, addUser } from '../support/data.js';
import { formValues, versionOf } from '../support/dashboard-forms.js';
import { contextOf, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);

test('the credentials: the hint of the secret, and until when the previous one works', async () => {
  const client = await addClient(ctx, { name: 'Keeper', first_party: false, secret_hint: 'abcd' });
  const path = `/dashboard/clients/${client.id}`;
  const browser = await signedInWith(service, 'clients:read', 'clients:write');
  const before = await (await browser.get(`${path}/credentials`)).text();
  expect(before).toMatch(/Previous secret<\/dt><dd>[^/]*None/);
  expect(before).toContain(`href="${path}/rotate_secret"`);
  expect((await browser.post(`${path}/rotate_secret`, { _csrf: csrfOf(before) })).status).toBe(200);
  const after = await (await browser.get(`${path}/credentials`)).text();
  expect(after).toMatch(/Previous secret<\/dt><dd>[^/]*Active/);
  expect(after).toContain('Previous secret expires');
  expect(after).not.toMatch(/cs_[\w-]{20,}/);
  const reader = await signedInWith(service, 'clients:read');
  expect(await (await reader.get(`${path}/credentials`)).text()).not.toContain('rotate_secret');
});

test('the connections that a client offers are chosen, and read', async () => {
  const client = await addClient(ctx, { name: 'Offering', first_party: false });
  const [first, second] = [await addConnection(ctx, { display_name: 'Corp' }), await addConnection(ctx, { display_name: 'Other' })];
  const path = `/dashboard/clients/${client.id}/connections`;
  const browser = await signedInWith(service, 'clients:read', 'clients:write', 'connections:read');
  const page = await (await browser.get(path)).text();
  const fields = { _csrf: csrfOf(page), _version: versionOf(page) };
  expect((await browser.post(path, { ...fields, [`connections:${first.id}`]: 'on' })).headers.get('location')).toBe(`${path}?done=updated`);
  expect(await listConnectionIdsOfClient(ctx.scope, client.id)).toEqual([first.id]);
  const late = await browser.post(path, { ...fields, [`connections:${second.id}`]: 'on' });
  expect([late.status, await late.text()]).toEqual([409, expect.stringContaining('Someone else changed this client in the meantime')]);
  const unknown = { ...fields, _version: versionOf(await (await browser.get(path)).text()), 'connections:nope': 'on' };
  expect((await browser.post(path, unknown)).status).toBe(404);
  expect(await listConnectionIdsOfClient(ctx.scope, client.id)).toEqual([first.id]);
  const reader = await signedInWith(service, 'clients:read', 'connections:read');
  const read = await (await reader.get(path)).text();
  expect([read.includes('Corp'), read.includes('Other'), read.includes('Save connections')]).toEqual([true, false, false]);
  expect((await reader.post(path, { ...fields, _csrf: csrfOf(read) })).status).toBe(403);
});

test('no connections for those who may not read them, nor for clients that nobody signs in to', async () => {
  const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'], redirect_uris: [] });
  const web = await addClient(ctx, {});
  const all = await signedInWith(service, 'clients:read', 'connections:read');
  expect((await all.get(`/dashboard/clients/${machine.id}/connections`)).status).toBe(404);
  const without = await signedInWith(service, 'clients:read');
  expect((await without.get(`/dashboard/clients/${web.id}/connections`)).status).toBe(404);
  expect(await (await without.get(`/dashboard/clients/${web.id}`)).text()).not.toContain(`/clients/${web.id}/connections`);
});

const readers = ['clients:read', 'clients:write', 'users:read', 'roles:read', 'permissions:read', 'api_resources:read'];

test('the claims of a real user, as the issuing code would say them, and nothing stored (specification 9.1.4)', async () => {
  const client = await addClient(ctx, {
    name: 'Told',
    first_party: false,
    id_token_claims: 'profile',
    claim_mappings: [{ claim: 'department', source: 'metadata.department', in: ['id_token', 'access_token'] }],
  });
  const user = await addUser(ctx, { metadata: { department: 'Looms & <b>Engines</b>' } });
  const resource = await addResource(ctx, { user_scopes: 'held' });
  const browser = await signedInWith(service, ...readers);
  const path = `/dashboard/clients/${client.id}/token_preview`;
  const empty = await (await browser.get(path)).text();
  expect([empty.includes('Email address of a user'), empty.includes('claims-id-token')]).toEqual([true, false]);
  expect(await (await browser.get(`${path}?scope=openid`)).text()).toContain('Enter the address of a user');
  const shown = async (query: Record<string, string>) => (await browser.get(`${path}?${new URLSearchParams(query).toString()}`)).text();
  const before = await service.deps.db.knex('access_tokens').count();
  const asked = { user: user.email.toUpperCase(), scope: 'openid email read', resource: resource.id };
  expect(await shown(asked)).toContain('No token would be issued: consent_required.');
  const page = await shown({ ...asked, consent: 'given' });
  for (const text of [
    '&#34;department&#34;: &#34;Looms &amp; &lt;b&gt;Engines&lt;/b&gt;&#34;',
    `&#34;email&#34;: &#34;${user.email}&#34;`,
    resource.identifier,
  ])
    expect(page).toContain(text);
  // Nothing of the API is held.
  expect(page).toContain('&#34;scope&#34;: &#34;openid email&#34;');
  expect(page).toContain('The person does not hold the permission');
  expect(await shown({ user: 'nobody@example.com', scope: '' })).toContain('There is no user with this address.');
  expect(await shown({ user: user.email, scope: 'email', consent: 'given' })).toContain('Not issued: the scope doesn’t include openid.');
  const closed = await addResource(ctx, { identifier: 'https://api.example/closed', user_access: 'granted' });
  expect(await shown({ user: user.email, resource: closed.id, scope: 'openid' })).toContain('The client has no grant for the API');
  expect(await service.deps.db.knex('access_tokens').count()).toEqual(before);
});

test('what a preview tells of roles takes the permission to read them', async () => {
  const client = await addClient(ctx, { first_party: false });
  const user = await addUser(ctx);
  const query = new URLSearchParams({ user: user.email, scope: 'openid roles', consent: 'given' });
  const path = `/dashboard/clients/${client.id}/token_preview?${query.toString()}`;
  const few = await (await (await signedInWith(service, 'clients:read', 'users:read')).get(path)).text();
  expect([few.includes('You need more permissions for a preview: api_resources:read.'), few.includes(user.id)]).toEqual([true, false]);
  const some = await (await (await signedInWith(service, 'clients:read', 'users:read', 'api_resources:read')).get(path)).text();
  expect([some.includes('[withheld: takes roles:read]'), some.includes(user.id)]).toEqual([true, true]);
  expect((await (await signedInWith(service, 'clients:read')).get(path)).status).toBe(404);
});

test('claim mappings are edited as lines; one that can not be read or is refused is named', async () => {
  const client = await addClient(ctx, {
    name: 'Mapped',
    first_party: false,
    claim_mappings: [{ claim: 'tier', value: 'gold', in: ['id_token'] }],
  });
  // `tier` is said of everybody, whatever they are.
  const browser = await signedInWith(service, ...readers, 'users:write', 'roles:write');
  const path = `/dashboard/clients/${client.id}`;
  const form = await (await browser.get(`${path}/edit/tokens`)).text();
  expect(form).toContain('tier = &#34;gold&#34; in id_token');
  const fields = { _csrf: csrfOf(form), _version: versionOf(form), ...formValues(form) };
  const save = (claim_mappings: string) => browser.post(`${path}/edit/tokens`, { ...fields, claim_mappings });
  for (const [text, complaint] of [
    ['groups roles', 'A line has the form'],
    ['tier = "open', 'A line has the form'],
    ['groups = roles\nsub = email in id_token', 'The claim sub is the protocol'],
    ['groups = nonsense', 'The source must be'],
  ] as const) {
    const refused = await save(text);
    expect([text, refused.status, (await refused.text()).includes(complaint)]).toEqual([text, 422, true]);
  }
  expect((await save('groups = roles\ntier = ["a","b"] in access_token, id_token\n\n')).status).toBe(303);
  const [row] = (await service.deps.db.knex('clients').where({ id: client.id })) as { claim_mappings: unknown }[];
  expect(row?.claim_mappings).toEqual([
    { claim: 'groups', source: 'roles', in: ['id_token', 'userinfo'] },
    { claim: 'tier', value: ['a', 'b'], in: ['access_token', 'id_token'] },
  ]);
  expect(await (await browser.get(path)).text()).toContain('groups = roles in id_token, userinfo');
});

test('a sign-in can be begun from the page of a client that says where (OIDC Core 4)', async () => {
  const client = await addClient(ctx, { first_party: false, initiate_login_uri: 'https://app.example/start?a=1' });
  const page = await (await (await signedInWith(service, 'clients:read')).get(`/dashboard/clients/${client.id}`)).text();
  expect(page).toContain(`href="https://app.example/start?a=1&amp;iss=${encodeURIComponent(service.url)}"`);
});

test('what a client gets for itself, and why it gets nothing', async () => {
  const api = await addResource(ctx, { identifier: 'https://machines.example', name: 'Machines' });
  const machine = await addClient(ctx, { application_type: 'machine', grant_types: ['client_credentials'], redirect_uris: [] });
  const browser = await signedInWith(service, ...readers);
  const path = `/dashboard/clients/${machine.id}/token_preview`;
  expect(await (await browser.get(path)).text()).not.toContain('Email address of a user');
  const ask = async (scope: string) => (await browser.get(`${path}?${new URLSearchParams({ resource: api.id, scope }).toString()}`)).text();
  expect(await ask('')).toContain('Create a grant for the client and the API');
  await addGrant(ctx, machine, api, ['read']);
  expect(await ask('')).toContain('&#34;permissions&#34;: [');
  expect(await ask('write')).toContain('Add the scope to the grant of the client for the API.');
});

test('a client without a secret says what it authenticates with in its place', async () => {
  const browser = await signedInWith(service, 'clients:read', 'federated_credentials:read');
  const blind = await signedInWith(service, 'clients:read');
  const secretOf = async (row: Parameters<typeof addClient>[1], reader = browser) => {
    const client = await addClient(ctx, { first_party: false, secret_digest: null, secret_hint: null, ...row });
    const html = await (await reader.get(`/dashboard/clients/${client.id}`)).text();
    const value = /<dt>Secret ?<\/dt><dd>([\s\S]*?)<\/dd>/.exec(html)?.[1] ?? '';
    return value
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim();
  };
  const byKey = {
    token_endpoint_auth_method: 'private_key_jwt',
    application_type: 'machine',
    grant_types: ['client_credentials'],
  } as const;
  const row = { ...byKey, grant_types: [...byKey.grant_types] };
  expect(await secretOf({ token_endpoint_auth_method: 'none' })).toBe('None A public client: PKCE takes its place');
  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
  expect(await secretOf({ ...row, jwks: { keys: [key] } })).toBe('None Signs with its own key: one public key registered');
  expect(await secretOf({ ...row, jwks: { keys: [key, key] } })).toBe('None Signs with its own key: 2 public keys registered');
  expect(await secretOf({ ...row, jwks_uri: 'https://keys.example/jwks' })).toContain('found at its JWKS URI https://keys.example/jwks');
  expect(await secretOf(row)).toBe('None No key and no federated credential yet');
  // Whether there are credentials is for those who may see them.
  expect(await secretOf(row, blind)).toBe('None Private key JWT');
});
