import { expect, test } from 'vitest';
import { link, links, manage, secondEnvironment } from '../support/management.js';
import { claimsOf, tokenRequest } from '../support/oauth.js';
import { publishedDocument } from '../support/openapi.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

test('an API resource with a permission, a role, a user and a client with a grant; the client gets a token; all is read back', async () => {
  const resource = await api.create('api_resources', {
    identifier: 'https://orders.example/api',
    name: 'Orders',
    access_token_lifetime: 300,
  });
  const permission = await api.create('permissions', { name: 'orders:read' }, { api_resource: link('api_resource', resource['id']) });
  const role = await api.create('roles', { name: 'Clerk' }, { permissions: links('permission', permission['id']) });
  const user = await api.create(
    'users',
    { email: 'Grace@Example.com', first_name: 'Grace', last_name: 'Hopper' },
    { roles: links('role', role['id']) },
  );
  const client = await api.create('clients', { name: 'Order sync', application_type: 'machine' });
  expect(client['attributes'].client_secret).toMatch(/^cs_[\w-]{43}$/);
  await api.create(
    'client_grants',
    { scopes: ['orders:read'] },
    { client: link('client', client['id']), api_resource: link('api_resource', resource['id']) },
  );

  const token = await tokenRequest(
    service.url,
    { id: client['id'], client_secret: client['attributes'].client_secret },
    { grant_type: 'client_credentials', resource: 'https://orders.example/api' },
  );
  expect(token.status).toBe(200);
  expect(claimsOf(token.body.access_token)).toMatchObject({ aud: 'https://orders.example/api', scope: 'orders:read', sub: client['id'] });

  const read = await api.get(
    `/users?include=roles.permissions&fields[user]=email,roles&fields[role]=name,permissions&filter[search]=gra&page[size]=5`,
  );
  expect(read.status).toBe(200);
  expect(read.body['data']).toEqual([
    {
      type: 'user',
      id: user['id'],
      attributes: { email: 'Grace@example.com' },
      relationships: {
        roles: {
          links: {
            self: `${service.url}/api/users/${user['id']}/relationships/roles`,
            related: `${service.url}/api/users/${user['id']}/roles`,
          },
          data: [{ type: 'role', id: role['id'] }],
        },
      },
      links: { self: `${service.url}/api/users/${user['id']}` },
      meta: { version: 1 },
    },
  ]);
  expect(read.body['included'].map((one: { type: string }) => one.type)).toEqual(['role', 'permission']);
  expect(read.body['included'][1].attributes.name).toBe('orders:read');
});

test('a secret rotates: the old one works beside the new one for 24 hours', async () => {
  const client = await api.create('clients', { name: 'Rotating', application_type: 'machine' });
  const resource = (await api.get('/api_resources?filter[identifier]=https://orders.example/api')).body['data'][0];
  await api.create(
    'client_grants',
    { scopes: ['orders:read'] },
    { client: link('client', client['id']), api_resource: link('api_resource', resource.id) },
  );
  const rotated = await api.patch(`/clients/${client['id']}/rotate_secret`);
  expect(rotated.status).toBe(200);
  expect(rotated.headers.get('cache-control')).toBe('no-store');
  const ask = async (client_secret: string) =>
    (
      await tokenRequest(
        service.url,
        { id: client['id'], client_secret },
        { grant_type: 'client_credentials', resource: 'https://orders.example/api' },
      )
    ).status;
  expect([await ask(client['attributes'].client_secret), await ask(rotated.body['data'].attributes.client_secret)]).toEqual([200, 200]);
  service.clock.advance(86_400_000 + 1000);
  expect([await ask(client['attributes'].client_secret), await ask(rotated.body['data'].attributes.client_secret)]).toEqual([401, 200]);
  service.clock.advance(-86_400_000 - 1000);
  expect((await api.get(`/clients/${client['id']}`)).text).not.toContain('client_secret"');
});

test('a new environment comes with its management client, and sees nothing of the first', async () => {
  const { api: other } = await secondEnvironment(api);
  expect((await other.get('/users')).body['data']).toEqual([]);
  expect((await other.get('/environments')).body['data'].map((one: { attributes: { slug: string } }) => one.attributes.slug)).toEqual([
    'staging',
  ]);
  expect((await other.attempt('environments', { name: 'X', slug: 'x', kind: 'staging' })).status).toBe(403);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));
