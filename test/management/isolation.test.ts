// A second environment sees nothing of the first: by id, by filter, by include, by relationship, in any verb (attack 15.169).
import { beforeAll, expect, test } from 'vitest';
import { link, links, manage, secondEnvironment, type Api, type Document } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let other: Api;
/** One record of every collection of the first environment. */
let records: ReadonlyMap<string, Document>;
const unknownId = '00000000-0000-7000-8000-000000000000';

const api = shared(() => manage(service.url));

beforeAll(async () => {
  other = (await secondEnvironment(api)).api;
  records = await oneOfEach(service, api);
});

const comparable = (answer: { status: number; body: Document }) => [
  answer.status,
  (answer.body['errors'] as Document[]).map(({ id: _id, ...error }) => error),
];

test('by id: every verb on every record answers as an unknown id does', async () => {
  for (const [path, record] of records) {
    const id = encodeURIComponent(record['id']);
    const data = (value: string) => ({ data: { type: record['type'], id: value } });
    expect([path, comparable(await other.get(`/${path}/${id}`))]).toEqual([path, comparable(await other.get(`/${path}/${unknownId}`))]);
    for (const verb of ['patch', 'delete'] as const) {
      const [foreign, unknown] = [
        await other[verb](`/${path}/${id}`, data(record['id'])),
        await other[verb](`/${path}/${unknownId}`, data(unknownId)),
      ];
      expect([path, verb, comparable(foreign)]).toEqual([path, verb, comparable(unknown)]);
      expect([404, 405]).toContain(foreign.status);
    }
    for (const name of Object.keys(record['relationships'] ?? {})) {
      expect((await other.get(`/${path}/${id}/${name}`)).status).toBe(404);
      expect((await other.get(`/${path}/${id}/relationships/${name}`)).status).toBe(404);
    }
  }
});

test('by action: 404', async () => {
  const actions = [
    'users/block',
    'users/revoke_sessions',
    'users/revoke_tokens',
    'users/send_password_reset',
    'clients/rotate_secret',
    'sessions/touch',
    'sessions/revoke',
    'webhooks/rotate_secret',
    'webhooks/test',
    'webhook_deliveries/redeliver',
    'connections/test',
    'signing_keys/activate',
    'signing_keys/deactivate',
    'saml_certificates/activate',
    'custom_domains/verify',
  ];
  for (const action of actions) {
    const [path = '', verb = ''] = action.split('/');
    const method = ['send_password_reset', 'test', 'redeliver'].includes(verb) ? 'post' : 'patch';
    expect([action, (await other[method](`/${path}/${encodeURIComponent(records.get(path)?.['id'])}/${verb}`)).status]).toEqual([
      action,
      404,
    ]);
  }
});

test('in lists: nothing of the first is there, whatever the filter or cursor', async () => {
  for (const [path, record] of records) {
    const ids = ((await other.get(`/${path}?page[size]=100`)).body['data'] as Document[]).map((one) => one['id']);
    expect([path, ids.includes(record['id'])]).toEqual([path, false]);
  }
  const id = (path: string) => records.get(path)?.['id'] as string;
  const filters = [
    `users?filter[email]=one@example.com`,
    `users?filter[role]=${id('roles')}`,
    `permissions?filter[api_resource]=${id('api_resources')}`,
    `client_grants?filter[client]=${id('clients')}`,
    `sessions?filter[user]=${id('users')}`,
    `webhook_deliveries?filter[webhook]=${id('webhooks')}`,
    `audit_logs?filter[target]=${id('users')}`,
    'custom_domains?filter[domain]=one.example.com',
    'environments?filter[slug]=default',
    'clients?filter[search]=one&include=client_grants.api_resource',
  ];
  for (const filter of filters) {
    const answer = await other.get(`/${filter}`);
    expect([filter, answer.status, answer.body['data']]).toEqual([filter, 200, []]);
  }
  const { next } = (await api.get('/permissions?page[size]=1')).body['links'];
  expect((await other.get(`/permissions?page[size]=1&page[after]=${new URL(next).searchParams.get('page[after]')}`)).status).toBe(400);
});

test('in documents: related records of the first are 404 as unknown ones are', async () => {
  const role = await other.create('roles', { name: 'Theirs' });
  const attempts: [string, Document][] = [
    [
      '/roles',
      {
        data: {
          type: 'role',
          attributes: { name: 'X' },
          relationships: { permissions: links('permission', records.get('permissions')?.['id']) },
        },
      },
    ],
    [
      '/users',
      {
        data: {
          type: 'user',
          attributes: { email: 'x@example.com' },
          relationships: { roles: links('role', records.get('roles')?.['id']) },
        },
      },
    ],
    [
      '/permissions',
      {
        data: {
          type: 'permission',
          attributes: { name: 'x' },
          relationships: { api_resource: link('api_resource', records.get('api_resources')?.['id']) },
        },
      },
    ],
    [`/roles/${role['id']}/relationships/permissions`, links('permission', records.get('permissions')?.['id'])],
    [`/roles/${role['id']}/relationships/users`, links('user', records.get('users')?.['id'])],
  ];
  for (const [path, body] of attempts) expect([path, (await other.post(path, body)).status]).toEqual([path, 404]);
});

test('a token of one environment is none at the other (attack 20.225)', async () => {
  const { Api: Caller } = await import('../support/management.js');
  expect((await new Caller(service.url, other.token).get('/users')).status).toBe(401);
  expect((await new Caller(service.url, api.token, other.host).get('/users')).status).toBe(401);
});

test('a pending domain and names are unique in their environment only', async () => {
  const domain = { data: { type: 'custom_domain', attributes: { domain: 'one.example.com' } } };
  expect((await other.post('/custom_domains', domain)).status).toBe(201);
  expect((await other.post('/custom_domains', domain)).status).toBe(409);
  expect((await other.attempt('roles', { name: 'One' })).status).toBe(201);
  expect((await other.attempt('users', { email: 'one@example.com' })).status).toBe(201);
});

test('an environment that is deleted takes everything along; the default one stays', async () => {
  const { id, api: third } = await secondEnvironment(api, 'third');
  await third.create('users', { email: 'gone@example.com' });
  expect((await api.delete(`/environments/${id}`)).status).toBe(204);
  expect((await third.get('/users')).status).toBe(401);
  expect((await api.delete(`/environments/${records.get('environments')?.['id']}`)).status).toBe(409);
  expect((await other.delete(`/environments/${(await other.get('/environments')).body['data'][0].id}`)).status).toBe(403);
});
