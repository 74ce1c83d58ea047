// The rules of JSON:API 1.1 about creating, updating, deleting and errors, each by its number in docs/specification/json-api.md.
import { beforeAll, expect, test } from 'vitest';
import { link, links, manage, type Api, type Document } from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import { sharedManagedService } from '../support/shared-service.js';
import { stateOf } from '../support/stored-state.js';

const service = sharedManagedService();
let api: Api;
let resource: Document;
let permission: Document;
let user: Document;
const unknownId = '00000000-0000-7000-8000-000000000000';

beforeAll(async () => {
  api = await manage(service.url);
  resource = await api.create('api_resources', { identifier: 'https://orders.example', name: 'Orders' });
  permission = await api.create('permissions', { name: 'orders:read' }, { api_resource: link('api_resource', resource['id']) });
  user = await api.create('users', { email: 'ada@example.com', first_name: 'Ada' });
});

const firstError = (answer: { body: Document }) => answer.body['errors'][0] as Document;
let count = 0;
const newRole = () => api.create('roles', { name: `Role ${++count}` });

/** A digest of all that a request could change, which no refusal here does. */
const state = async () => stateOf(await service.context(), 'audit_logs');

test('data must be one resource object with a type (JSON:API rule 4.44)', async () => {
  for (const body of [{}, { data: [] }, { data: null }, { data: {} }, { data: 'x' }, { data: { type: 'role', attributes: [] } }]) {
    expect((await api.post('/roles', body)).status).toBe(400);
  }
});

test('a type that is not of the collection is 409 (JSON:API rule 4.45)', async () => {
  const answer = await api.post('/webhooks', { data: { type: 'webhooks', attributes: {} } });
  expect([answer.status, firstError(answer)]).toMatchObject([
    409,
    { code: 'type_mismatch', source: { pointer: '/data/type' }, meta: { expected: 'webhook' } },
  ]);
});

test('an id made by the client is 403 (JSON:API rule 4.46)', async () => {
  const answer = await api.post('/roles', { data: { type: 'role', id: unknownId, attributes: { name: 'Mine' } } });
  expect([answer.status, firstError(answer)['source']]).toEqual([403, { pointer: '/data/id' }]);
});

test('a relationship needs data; a related resource that is missing is 404 (JSON:API rule 4.47)', async () => {
  const without = await api.attempt('permissions', { name: 'x' }, { api_resource: { links: {} } });
  expect([without.status, firstError(without)['source']]).toEqual([400, { pointer: '/data/relationships/api_resource' }]);
  const unknown = await api.attempt('permissions', { name: 'x' }, { api_resource: link('api_resource', unknownId) });
  expect([unknown.status, firstError(unknown)['source']]).toEqual([404, { pointer: '/data/relationships/api_resource/data' }]);
  const missing = await api.attempt('permissions', { name: 'x' });
  expect([missing.status, firstError(missing)]).toMatchObject([
    422,
    { code: 'required', source: { pointer: '/data' }, meta: { field: 'api_resource' } },
  ]);
  const wrong = await api.attempt('permissions', { name: 'x' }, { api_resource: link('role', unknownId) });
  expect(wrong.status).toBe(409);
});

test('created is 201 with Location equal to links.self (JSON:API rule 4.48)', async () => {
  const answer = await api.attempt('roles', { name: 'Located' });
  expect(answer.status).toBe(201);
  const location = answer.headers.get('location') as string;
  expect([answer.body['data'].links.self, answer.body['links'].self]).toEqual([location, location]);
  expect((await api.get(location)).body['data'].attributes.name).toBe('Located');
});

test('a refused write leaves nothing behind (JSON:API rule 4.49)', async () => {
  await api.create('webhooks', { name: 'All', url: 'http://127.0.0.1:9999/none', events: ['*'] });
  const before = await state();
  const relationships = { roles: links('role', unknownId) };
  expect((await api.attempt('users', { email: 'new@example.com' }, relationships)).status).toBe(404);
  expect((await api.attempt('users', { email: 'ADA@example.com' })).status).toBe(409);
  expect((await api.attempt('users', { email: 'no address' })).status).toBe(422);
  expect(await state()).toEqual(before);
});

test('what can not be created is 405 with Allow (JSON:API rule 4.50)', async () => {
  const answer = await api.post('/audit_logs', { data: { type: 'audit_log' } });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('an update needs type and id, and both must be those of the URL (JSON:API rule 4.51)', async () => {
  const role = await newRole();
  const patch = (data: Document) => api.patch(`/roles/${role['id']}`, { data });
  expect((await patch({ type: 'role' })).status).toBe(400);
  expect((await patch({ id: role['id'] })).status).toBe(400);
  expect((await patch({ type: 'roles', id: role['id'] })).status).toBe(409);
  expect((await patch({ type: 'role', id: unknownId })).status).toBe(409);
});

test('what is missing stays, null clears, and the whole resource comes back (JSON:API rules 4.52 and 4.53)', async () => {
  const role = await api.create('roles', { name: 'Whole', description: 'Here.', is_default: false });
  const patch = (attributes: Document) => api.update('roles', role['id'], attributes);
  const renamed = await patch({ name: 'Still whole' });
  expect([renamed.status, renamed.body['data'].attributes]).toMatchObject([200, { name: 'Still whole', description: 'Here.' }]);
  expect((await patch({ description: null })).body['data'].attributes.description).toBeNull();
  const refused = await patch({ name: null });
  expect([refused.status, firstError(refused)['source']]).toEqual([422, { pointer: '/data/attributes/name' }]);
  expect((await api.patch(`/roles/${role['id']}`, { data: { type: 'role', id: role['id'] } })).status).toBe(200);
});

test('unknown is 404, a name taken is 409 (JSON:API rule 4.54)', async () => {
  expect((await api.patch(`/roles/${unknownId}`, { data: { type: 'role', id: unknownId } })).status).toBe(404);
  const [one, other] = [await newRole(), await newRole()];
  const answer = await api.update('roles', one['id'], { name: other['attributes'].name });
  expect([answer.status, firstError(answer)]).toMatchObject([
    409,
    { code: 'already_exists', source: { pointer: '/data/attributes/name' } },
  ]);
});

test('read-only attributes may be sent back unchanged; changed they are 403 (JSON:API rule 4.55)', async () => {
  const role = await newRole();
  const { attributes } = role as { attributes: Document };
  const same = await api.patch(`/roles/${role['id']}`, {
    data: { ...role, attributes: { ...attributes, description: 'Sent back.' }, relationships: undefined },
  });
  expect([same.status, same.body['data'].attributes.description]).toEqual([200, 'Sent back.']);
  const changed = await api.update('roles', role['id'], { is_system: true });
  expect([changed.status, firstError(changed)['source']]).toEqual([403, { pointer: '/data/attributes/is_system' }]);
  const replaced = await api.patch(`/roles/${role['id']}`, {
    data: { type: 'role', id: role['id'], relationships: { users: links('user', user['id']) } },
  });
  expect(replaced.status).toBe(403);
});

test('to-many relationships are replaced, added to and taken from, and true already is fine (JSON:API rule 4.56)', async () => {
  const role = await newRole();
  const address = `/roles/${role['id']}/relationships/permissions`;
  const linked = async () => ((await api.get(address)).body['data'] as Document[]).map((one) => one['id']);
  const body = links('permission', permission['id']);
  for (const expected of [[permission['id']], [permission['id']]]) {
    const added = await api.post(address, body);
    expect([added.status, added.text, added.headers.get('content-type')]).toEqual([204, '', null]);
    expect(await linked()).toEqual(expected);
  }
  for (const expected of [[], []]) {
    expect((await api.delete(address, body)).status).toBe(204);
    expect(await linked()).toEqual(expected);
  }
  expect((await api.patch(address, body)).status).toBe(204);
  expect(await linked()).toEqual([permission['id']]);
  expect((await api.patch(address, { data: [] })).status).toBe(204);
  expect((await api.patch(address, { data: null })).status).toBe(400);
  expect((await api.post(address, { data: { type: 'permission', id: permission['id'] } })).status).toBe(400);
  expect((await api.post(address, links('permission', unknownId))).status).toBe(404);
  expect((await api.post(address, links('role', role['id']))).status).toBe(409);
  expect((await api.post(`/users/${user['id']}/relationships/sessions`, links('session', unknownId))).status).toBe(403);
  expect((await api.patch(`/permissions/${permission['id']}/relationships/api_resource`, { data: null })).status).toBe(403);
  expect((await api.post(`/permissions/${permission['id']}/relationships/api_resource`, { data: null })).status).toBe(405);
});

test('a role knows who holds it, and takes people by its relationship, but not a replacement of all', async () => {
  const role = await newRole();
  const address = `/roles/${role['id']}/relationships/users`;
  expect((await api.post(address, links('user', user['id']))).status).toBe(204);
  expect((await api.get(`/roles/${role['id']}/users`)).body['data'][0].id).toBe(user['id']);
  expect((await api.patch(address, links('user', user['id']))).status).toBe(403);
  expect((await api.delete(`/roles/${role['id']}`)).status).toBe(409);
  expect((await api.delete(address, links('user', user['id']))).status).toBe(204);
  expect((await api.delete(`/roles/${role['id']}`)).status).toBe(204);
});

test('DELETE is 204 without a body, then 404; its own body is ignored; PUT is 405 (JSON:API rules 4.57 and 4.58)', async () => {
  const role = await newRole();
  const gone = await api.delete(`/roles/${role['id']}`, { data: { type: 'role', id: role['id'] } });
  expect([gone.status, gone.text, gone.headers.get('content-type')]).toEqual([204, '', null]);
  expect((await api.delete(`/roles/${role['id']}`)).status).toBe(404);
  const put = await api.request('PUT', `/roles/${role['id']}`, { body: {} });
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, PATCH, DELETE']);
});

test('errors have string statuses, an id that is the request id, and pointers that resolve (JSON:API rules 4.59 and 4.60)', async () => {
  const answer = await api.post(
    '/webhooks',
    { data: { type: 'webhook', attributes: { url: 7, events: ['user.gone'] } } },
    { 'x-request-id': 'my-request.1' },
  );
  expect(answer.status).toBe(422);
  expect(answer.headers.get('x-request-id')).toBe('my-request.1');
  for (const error of answer.body['errors'] as Document[]) {
    expect([error['id'], error['status']]).toEqual(['my-request.1', '422']);
    expect(error['title']).toBeTypeOf('string');
  }
  const missing = (answer.body['errors'] as Document[]).find((error) => error['meta']?.field === 'name');
  expect(missing).toMatchObject({ code: 'required', source: { pointer: '/data/attributes' } });
  const bare = await api.post('/webhooks', { data: { type: 'webhook' } });
  expect(firstError(bare)['source']).toEqual({ pointer: '/data' });
});

test('all validation failures are told at once (JSON:API rule 4.61)', async () => {
  const answer = await api.attempt('users', { email: 7, birthdate: 'yesterday', zoneinfo: 'Mars/Base', locale: '!' });
  expect((answer.body['errors'] as Document[]).map((error) => error['source'].pointer.split('/').at(-1)).sort()).toEqual([
    'birthdate',
    'email',
    'locale',
    'zoneinfo',
  ]);
});

test('401 and 403 carry the challenge of RFC 6750 (JSON:API rule 4.62)', async () => {
  const { Api } = await import('../support/management.js');
  const nobody = await new Api(service.url, null).get('/users');
  expect([nobody.status, nobody.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer /)]);
  expect(nobody.headers.get('content-type')).toBe('application/vnd.api+json');
  const reader = await manage(service.url, 'webhooks:read');
  const refused = await reader.attempt('webhooks', {});
  expect([refused.status, firstError(refused)]).toMatchObject([
    403,
    { code: 'insufficient_scope', meta: { required: ['webhooks:write'] } },
  ]);
  expect(refused.headers.get('www-authenticate')).toContain('error="insufficient_scope", scope="webhooks:write"');
});

test('413 for too large a body, 415 for the atomic extension (JSON:API rules 4.63 and 4.67)', async () => {
  const large = await api.request('POST', '/roles', { raw: JSON.stringify({ data: 'x'.repeat(2_200_000) }) });
  expect([large.status, large.headers.get('content-type')]).toEqual([413, 'application/vnd.api+json']);
  const atomic = await api.request('POST', '/roles', {
    raw: '{"atomic:operations":[]}',
    headers: { 'content-type': 'application/vnd.api+json;ext="https://jsonapi.org/ext/atomic"' },
  });
  expect(atomic.status).toBe(415);
});

test('If-Match: a version seen before a change is 412, the current one goes through', async () => {
  const role = await newRole();
  const address = `/roles/${role['id']}`;
  const seen = (await api.get(address)).headers.get('etag') as string;
  const patch = (etag: string, description: string) =>
    api.patch(address, { data: { type: 'role', id: role['id'], attributes: { description } } }, { 'if-match': etag });
  expect((await patch(seen, 'First.')).status).toBe(200);
  const stale = await patch(seen, 'Second.');
  expect([stale.status, firstError(stale)['source']]).toEqual([412, { header: 'If-Match' }]);
  expect((await api.delete(address, undefined, { 'if-match': seen })).status).toBe(412);
  expect((await patch('"something else"', 'Third.')).status).toBe(412);
  expect((await patch('*', 'Fourth.')).status).toBe(200);
  expect((await patch(`W/${(await api.get(address)).headers.get('etag')}`, 'Fifth.')).status).toBe(200);
});

test('a password is judged by the name that its person has when it is set: another change meanwhile is seen (attack 15.1125)', async () => {
  const { id } = await api.create('users', { email: 'renamed@example.com', first_name: 'Bart' });
  const { knex } = service.deps.db;
  const other = await knex.transaction();
  await other('users')
    .where({ id })
    .update({ first_name: 'Bartholomeus', version: knex.raw('version + 1') });
  const changing = api.update('users', id, { password: 'bartholomeus' });
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%"users"%'`;
  await expect.poll(async () => (await knex.raw(waiting)).rows.length, { timeout: 30_000 }).toBe(1);
  await other.commit();
  expect(firstError(await changing)).toMatchObject({ code: 'password_contains_name', source: { pointer: '/data/attributes/password' } });
  expect((await api.get(`/users/${id}`)).body['data'].attributes).toMatchObject({ first_name: 'Bartholomeus', has_password: false });
});

test('the order of checks', async () => {
  const role = await newRole();
  const { Api } = await import('../support/management.js');
  const nobody = new Api(service.url, null);
  const reader = await manage(service.url, 'roles:read');
  const bad = { 'content-type': 'application/json' };
  const stale = { 'if-match': '"99-x"' };
  const one = `/roles/${role['id']}`;
  expect((await nobody.post('/nothing')).status).toBe(404);
  expect((await nobody.request('PUT', '/roles')).status).toBe(405);
  expect((await nobody.post('/roles', {}, bad)).status).toBe(401);
  expect((await reader.post('/roles', {}, bad)).status).toBe(403);
  expect((await api.post('/roles?q=1', {}, bad)).status).toBe(415);
  expect((await api.request('PATCH', `/roles/${unknownId}?q=1`, { raw: '{' })).status).toBe(400);
  expect((await api.request('PATCH', `/roles/${unknownId}`, { raw: '{' })).status).toBe(400);
  expect((await api.patch(`/roles/${unknownId}`, { data: [] }, stale)).status).toBe(404);
  expect((await api.patch(one, { data: [] }, stale)).status).toBe(412);
  expect((await api.patch(one, { data: { type: 'roles' } })).status).toBe(400);
  const related = { permissions: links('permission', unknownId) };
  expect((await api.patch(one, { data: { type: 'roles', id: role['id'], relationships: related } })).status).toBe(409);
  expect((await api.patch(one, { data: { type: 'role', id: role['id'], attributes: { name: 7 }, relationships: related } })).status).toBe(
    404,
  );
  expect((await api.patch(one, { data: { type: 'role', id: role['id'], attributes: { name: 7 } } })).status).toBe(422);
});

test('Idempotency-Key: the same request is answered the same, another one with the key is 422 (attack 15.270)', async () => {
  const body = { data: { type: 'client', attributes: { name: 'Once', application_type: 'machine' } } };
  const key = { 'idempotency-key': 'key-1' };
  const [first, second] = [await api.post('/clients', body, key), await api.post('/clients', body, key)];
  const { client_secret: _secret, ...again } = first.body['data'].attributes as Document;
  expect([second.status, second.body['data'].attributes, second.body['meta']]).toEqual([201, again, { secret_shown_before: true }]);
  expect([first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')]).toEqual([null, 'true']);
  expect(second.headers.get('location')).toBe(first.headers.get('location'));
  expect((await api.get('/clients?filter[search]=once')).body['data']).toHaveLength(1);
  const other = await api.post('/clients', { data: { ...body.data, attributes: { name: 'Twice', application_type: 'machine' } } }, key);
  expect([other.status, firstError(other)['code']]).toEqual([422, 'idempotency_key_reused']);
  expect((await api.post('/roles', body, { 'idempotency-key': '\u00e9' })).status).toBe(400);
  const rotate = () => api.patch(`/clients/${first.body['data'].id}/rotate_secret`, undefined, { 'idempotency-key': 'key-2' });
  const [rotated, repeated] = [await rotate(), await rotate()];
  expect(rotated.body['data'].attributes.client_secret).toMatch(/^cs_/);
  expect([repeated.body['data'].attributes.client_secret, repeated.body['meta']]).toEqual([undefined, { secret_shown_before: true }]);
  expect(repeated.body['data'].attributes.secret_hint).toBe(rotated.body['data'].attributes.secret_hint);
  service.clock.advance(86_400_000 + 1000);
  api = await manage(service.url);
  expect((await api.post('/clients', body, key)).headers.get('idempotent-replayed')).toBeNull();
});

test('Idempotency-Key: of requests at the same moment one is done, the others are told so', async () => {
  const body = { data: { type: 'user', attributes: { email: 'parallel@example.com', password: 'a very long passphrase' } } };
  const answers = await Promise.all(Array.from({ length: 6 }, () => api.post('/users', body, { 'idempotency-key': 'parallel' })));
  expect(answers.filter((answer) => answer.status === 201 && !answer.headers.get('idempotent-replayed'))).toHaveLength(1);
  for (const answer of answers) expect([201, 409]).toContain(answer.status);
  expect((await api.get('/users?filter[email]=parallel@example.com')).body['data']).toHaveLength(1);
});

test('parallel creations of one name: one 201, the rest 409 (attack 15.183)', async () => {
  const body = { data: { type: 'role', attributes: { name: 'Contended' } } };
  const statuses = (await Promise.all(Array.from({ length: 6 }, () => api.post('/roles', body)))).map((answer) => answer.status).sort();
  expect(statuses).toEqual([201, 409, 409, 409, 409, 409]);
  const role = (await api.get('/roles?filter[name]=Contended')).body['data'][0] as Document;
  const patches = ['a', 'b', 'c', 'd'].map((value) => api.update('roles', role['id'], { name: `n ${value}`, description: `d ${value}` }));
  await Promise.all(patches);
  const { name, description } = (await api.get(`/roles/${role['id']}`)).body['data'].attributes;
  expect(name.slice(2)).toBe(description.slice(2));
  expect((await api.get(`/roles/${role['id']}`)).body['data'].meta.version).toBe(5);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));

test('Allow names what may succeed: not the changes that every read-only relationship refuses with 403', async () => {
  const role = await api.create('roles', { name: 'Allowed' });
  const allow = async (path: string) => (await api.request('PUT', path)).headers.get('allow');
  expect(await allow(`/roles/${role['id']}/relationships/users`)).toBe('GET, HEAD, POST, DELETE');
  expect(await allow(`/roles/${role['id']}/relationships/permissions`)).toBe('GET, HEAD, PATCH, POST, DELETE');
  expect(await allow(`/roles/${role['id']}/relationships/environment`)).toBe('GET, HEAD');
});

test('a slash at the end makes no other address: links, Location and the Idempotency-Key go without it', async () => {
  const key = { 'idempotency-key': 'slash' };
  const body = { data: { type: 'role', attributes: { name: 'Slash' } } };
  const made = await api.request('POST', '/roles/', { body, headers: key });
  const again = await api.request('POST', '/roles', { body, headers: key });
  expect([made.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 201, 'true']);
  const path = `/roles/${made.body['data'].id}`;
  expect(made.headers.get('location')).toBe(`${service.url}/api${path}`);
  const read = await api.get(`${path}/?include=permissions`);
  expect([read.status, read.body['links'].self]).toEqual([200, `${service.url}/api${path}?include=permissions`]);
  expect((await api.get(`${path}/relationships/permissions/`)).status).toBe(200);
  for (const nowhere of ['/', '//', `${path}//`, '//roles', '/roles//'])
    expect([nowhere, (await api.get(nowhere)).status]).toEqual([nowhere, 404]);
});
