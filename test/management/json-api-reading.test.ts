// The rules of JSON:API 1.1 about negotiation, documents and fetching, each by its number in docs/specification/json-api.md.
import { beforeAll, expect, test } from 'vitest';
import { managementCollections } from '../../src/domain/reach/management-permissions.js';
import { link, links, manage, type Document } from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const jsonApi = 'application/vnd.api+json';
const service = sharedManagedService();
const api = shared(() => manage(service.url));
let user: Document;
let role: Document;
let permission: Document;

beforeAll(async () => {
  const resource = await api.create('api_resources', { identifier: 'https://orders.example', name: 'Orders' });
  permission = await api.create('permissions', { name: 'orders:read' }, { api_resource: link('api_resource', resource['id']) });
  role = await api.create('roles', { name: 'Clerk' }, { permissions: links('permission', permission['id']) });
  user = await api.create('users', { email: 'ada@example.com', first_name: 'Ada' }, { roles: links('role', role['id']) });
  for (const name of ['Bea', 'Cid', 'Dot', 'Eve'])
    await api.create('users', { email: `${name.toLowerCase()}@example.com`, first_name: name });
});

const create = (headers: Record<string, string | undefined>) =>
  api.post('/roles', { data: { type: 'role', attributes: { name: `Role ${Math.random()}` } } }, headers);
const firstError = (answer: { body: Document }) => answer.body['errors'][0] as Document;

test('every document, errors too, has the media type without charset (JSON:API rule 1.1)', async () => {
  for (const answer of [await api.get('/users'), await api.get('/users/unknown'), await api.get('/nothing')]) {
    expect(answer.headers.get('content-type')).toBe(jsonApi);
  }
});

test('a Content-Type parameter other than ext and profile is 415, charset too (JSON:API rule 1.2, attack 15.172)', async () => {
  for (const type of [`${jsonApi}; charset=utf-8`, `${jsonApi};version=1`]) {
    const answer = await create({ 'content-type': type });
    expect([answer.status, firstError(answer)['source']]).toEqual([415, { header: 'Content-Type' }]);
  }
});

test('an unsupported extension in Content-Type is 415 (JSON:API rule 1.3)', async () =>
  expect((await create({ 'content-type': `${jsonApi}; ext="https://jsonapi.org/ext/atomic"` })).status).toBe(415));

test('unknown profiles are ignored (JSON:API rule 1.4)', async () => {
  expect((await create({ 'content-type': `${jsonApi}; profile="https://x.example/p https://y.example/q"` })).status).toBe(201);
  expect((await api.get('/users', { accept: `${jsonApi};profile="https://x.example/p"` })).status).toBe(200);
});

test('an Accept that only has parametrized JSON:API is 406; weights, wildcards and a clean one are fine (JSON:API rules 1.5 to 1.9, attack 15.172)', async () => {
  const cases: [string | undefined, number][] = [
    [`${jsonApi}; charset=utf-8`, 406],
    [`${jsonApi}; charset=utf-8, ${jsonApi}`, 200],
    [`${jsonApi}; ext="https://x.example/e"`, 406],
    [`${jsonApi}; ext="https://x.example/e", ${jsonApi};q=0.1`, 200],
    [`${jsonApi};q=0.8`, 200],
    ['*/*', 200],
    ['application/*', 200],
    [undefined, 200],
    ['text/html', 406],
    [`${jsonApi};q=0`, 406],
  ];
  for (const [accept, status] of cases) expect([accept, (await api.get('/users', { accept })).status]).toEqual([accept, status]);
});

test('every answer has Vary: Accept (JSON:API rule 1.10)', async () =>
  expect((await api.get('/users')).headers.get('vary')).toContain('Accept'));

test('another media type, or none, is 415 with a body, and no matter without (JSON:API rule 1.11)', async () => {
  expect((await create({ 'content-type': 'application/json' })).status).toBe(415);
  expect((await create({ 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415);
  expect((await api.request('POST', '/roles', { raw: '{}', headers: { 'content-type': undefined } })).status).toBe(415);
  expect((await api.get('/users', { 'content-type': 'application/json' })).status).toBe(200);
});

test('members of the document never drive negotiation (JSON:API rule 1.12)', async () => {
  const body = { jsonapi: { version: '1.1', ext: ['https://x.example/e'] }, data: { type: 'role', attributes: { name: 'Unmoved' } } };
  expect((await api.post('/roles', body)).status).toBe(201);
});

test('a root that is no object, and malformed JSON, are 400 (JSON:API rule 2.13)', async () => {
  for (const raw of ['[]', '"x"', 'null', '7', '{', '', '\ufeff{}', '{"data":{}} trailing']) {
    const answer = await api.request('POST', '/roles', { raw });
    expect([raw, answer.status]).toEqual([raw, 400]);
  }
});

test('documents have the top-level members and links of the standard, and no others (JSON:API rules 2.14 to 2.16)', async () => {
  const answer = await api.get('/users?page[size]=2&sort=email');
  expect(Object.keys(answer.body).sort()).toEqual(['data', 'jsonapi', 'links', 'meta']);
  expect(answer.body['jsonapi']).toEqual({ version: '1.1' });
  expect(answer.body['links'].self).toBe(`${service.url}/api/users?page%5Bsize%5D=2&sort=email`);
  expect(answer.body['links'].describedby).toBe(`${service.url}/api/openapi.json`);
  expect(Object.keys((await api.get('/users/unknown')).body).sort()).toEqual(['errors', 'jsonapi']);
});

test('a collection is an array, also with one item or none (JSON:API rule 2.17)', async () => {
  expect((await api.get('/users?filter[email]=ada@example.com')).body['data']).toHaveLength(1);
  expect((await api.get('/users?filter[email]=nobody@example.com')).body['data']).toEqual([]);
  expect((await api.get(`/users/${user['id']}`)).body['data'].id).toBe(user['id']);
});

test('type and id are strings (JSON:API rule 2.18)', async () => {
  const answer = await api.patch(`/roles/${role['id']}`, { data: { type: 'role', id: 7 } });
  expect([answer.status, firstError(answer)['source']]).toEqual([400, { pointer: '/data/id' }]);
  expect((await api.post('/roles', { data: { type: 1 } })).status).toBe(400);
});

test('member names keep to the grammar, and attributes and relationships share one namespace (JSON:API rules 2.19 and 2.20)', async () => {
  for (const path of ['users', 'roles', 'clients', 'api_resources', 'permissions', 'event_types', 'signing_keys', 'environments']) {
    const [one] = (await api.get(`/${path}`)).body['data'] as Document[];
    const names = [...Object.keys(one?.['attributes'] ?? {}), ...Object.keys(one?.['relationships'] ?? {})];
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]*[a-z0-9]$/);
    expect(names).not.toContain('type');
    expect(names).not.toContain('id');
  }
});

/** Identifiers that others give: of a person in another system, of a SAML application, and the format of a NameID. None is a record's. */
const namesOfOthers: ReadonlySet<string> = new Set(['external_id', 'saml_entity_id', 'saml_name_id']);

test('no attribute is a foreign key (JSON:API rule 2.21)', async () => {
  for (const path of ['users', 'roles', 'permissions', 'clients', 'api_resources']) {
    const [one] = (await api.get(`/${path}`)).body['data'] as Document[];
    expect(Object.keys(one?.['attributes']).filter((name) => name.endsWith('_id') && !namesOfOthers.has(name))).toEqual([]);
  }
});

test('every link that is shown answers GET (JSON:API rules 2.22 to 2.24 and 3.29)', async () => {
  const user = (await api.get('/users?page[size]=1')).body['data'][0].id as string;
  const totp = { kind: 'totp', secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' };
  await api.create('authenticators', totp, { user: link('user', user) });
  let looked = 0;
  for (const path of managementCollections) {
    const list = await api.get(`/${path}?page[size]=1`);
    const [one] = list.body['data'] as Document[];
    if (one) looked++;
    const shown = [list.body['links'].self, list.body['links'].first, ...(one ? [one['links'].self] : [])];
    for (const relationship of Object.values((one?.['relationships'] ?? {}) as Document)) {
      expect('links' in relationship || 'data' in relationship || 'meta' in relationship).toBe(true);
      shown.push(relationship.links.self, relationship.links.related);
    }
    for (const address of shown) expect([path, address, (await api.get(String(address))).status]).toEqual([path, address, 200]);
  }
  // The other collections have no record yet.
  expect(looked).toBeGreaterThan(9);
});

test('unknown members of the document are ignored, unknown attributes are not (JSON:API rule 2.25)', async () => {
  const body = { extra: 1, data: { type: 'role', extra: 2, attributes: { name: 'Tolerant' }, meta: {}, '@note': 'x' } };
  expect((await api.post('/roles', body)).status).toBe(201);
  const answer = await api.attempt('roles', { name: 'Strict', colour: 'red' });
  expect([answer.status, firstError(answer)['code'], firstError(answer)['source']]).toEqual([
    422,
    'unknown_attribute',
    { pointer: '/data/attributes/colour' },
  ]);
});

test('included records are linked to, each there once, none a copy of a primary one (JSON:API rule 2.26)', async () => {
  const answer = await api.get('/roles?include=permissions,users,permissions.roles'.replace(',users', ''));
  const all = [...(answer.body['data'] as Document[]), ...(answer.body['included'] as Document[])];
  const names = all.map((one) => `${one['type']} ${one['id']}`);
  expect(new Set(names).size).toBe(names.length);
  const linked = new Set(
    all.flatMap((one) =>
      Object.values((one['relationships'] ?? {}) as Document).flatMap((r) =>
        [r.data]
          .flat()
          .filter(Boolean)
          .map((d: Document) => `${d['type']} ${d['id']}`),
      ),
    ),
  );
  for (const one of answer.body['included'] as Document[]) expect(linked).toContain(`${one['type']} ${one['id']}`);
});

test('an unknown id is 404 (JSON:API rule 3.27)', async () => {
  for (const id of ['00000000-0000-7000-8000-000000000000', 'unknown', '%00', 'x'.repeat(10_000)]) {
    expect((await api.get(`/users/${id}`)).status).toBe(404);
  }
});

test('relationship URLs answer linkage, and 404 where there is none (JSON:API rule 3.30)', async () => {
  expect((await api.get(`/users/${user['id']}/relationships/roles`)).body['data']).toEqual([{ type: 'role', id: role['id'] }]);
  expect((await api.get(`/users/${user['id']}/relationships/sessions`)).body['data']).toEqual([]);
  expect((await api.get(`/permissions/${permission['id']}/relationships/api_resource`)).body['data'].type).toBe('api_resource');
  expect((await api.get(`/users/${user['id']}/relationships/nothing`)).status).toBe(404);
  expect((await api.get(`/users/unknown/relationships/roles`)).status).toBe(404);
  expect((await api.get(`/users/unknown/roles`)).status).toBe(404);
});

test('include where there is none, or by an unknown path, is 400 (JSON:API rule 3.31)', async () => {
  for (const path of [
    '/event_types?include=x',
    '/users?include=nope',
    '/users?include=roles.nope',
    '/users?include=__proto__',
    '/users?include=environment',
    `/users/${user['id']}/relationships/roles?include=roles`,
  ]) {
    const answer = await api.get(path);
    expect([path, answer.status, firstError(answer)?.['source']]).toEqual([path, 400, { parameter: 'include' }]);
  }
});

test('include goes three relationships deep, and no deeper (attack 15.260)', async () => {
  expect((await api.get('/users?include=roles.permissions.api_resource')).status).toBe(200);
  for (const path of [
    '/users?include=roles.permissions.roles.permissions',
    '/roles?include=permissions,permissions.roles.permissions.roles',
  ]) {
    const answer = await api.get(path);
    expect([path, answer.status, firstError(answer)]).toMatchObject([
      path,
      400,
      { code: 'invalid_include', source: { parameter: 'include' } },
    ]);
  }
});

test('include brings what was asked for and nothing else, and [] when there is nothing (JSON:API rule 3.32)', async () => {
  expect((await api.get('/users?filter[email]=bea@example.com&include=roles')).body['included']).toEqual([]);
  expect((await api.get('/users?include=')).body['included']).toEqual([]);
  expect((await api.get('/users')).body).not.toHaveProperty('included');
  const deep = await api.get(`/users/${user['id']}?include=roles.permissions`);
  expect((deep.body['included'] as Document[]).map((one) => one['type']).sort()).toEqual(['permission', 'role']);
});

test('sparse fieldsets leave only what they name; unknown types and fields are 400 (JSON:API rule 3.33, attack 15.174)', async () => {
  const [one] = (await api.get('/users?fields[user]=email,roles&page[size]=1')).body['data'] as Document[];
  expect([Object.keys(one?.['attributes']), Object.keys(one?.['relationships'])]).toEqual([['email'], ['roles']]);
  const [bare] = (await api.get('/users?fields[user]=&page[size]=1')).body['data'] as Document[];
  expect([bare?.['attributes'], bare?.['relationships'], typeof bare?.['links'].self]).toEqual([{}, undefined, 'string']);
  const included = (await api.get(`/users/${user['id']}?include=roles&fields[role]=name`)).body['included'] as Document[];
  expect(included[0]?.['attributes']).toEqual({ name: 'Clerk' });
  const posted = await api.post('/roles?fields[role]=name', { data: { type: 'role', attributes: { name: 'Sparse' } } });
  expect(posted.body['data'].attributes).toEqual({ name: 'Sparse' });
  for (const query of [
    'fields[user]=password_hash',
    'fields[users]=email',
    'fields[user]=nope',
    'fields[user]=email,',
    'fields[user]=,',
    'include=roles,',
  ])
    expect((await api.get(`/users?${query}`)).status).toBe(400);
});

test('lists sort by the fields named, left to right; other fields are 400 (JSON:API rule 3.34, attack 15.174)', async () => {
  const emails = async (sort: string) =>
    ((await api.get(`/users?sort=${sort}`)).body['data'] as Document[]).map((one) => one['attributes'].email);
  const ascending = ['ada@example.com', 'bea@example.com', 'cid@example.com', 'dot@example.com', 'eve@example.com'];
  expect(await emails('email')).toEqual(ascending);
  expect(await emails('-email')).toEqual(ascending.toReversed());
  expect(await emails('last_name,email')).toEqual(ascending);
  // The second time adds nothing to the order.
  expect(await emails('email,-email')).toEqual(ascending);
  for (const sort of ['signing_secret', 'email;drop', '-', '__proto__']) {
    const answer = await api.get(`/users?sort=${sort}`);
    expect([answer.status, firstError(answer)['source']]).toEqual([400, { parameter: 'sort' }]);
  }
  expect((await api.get(`/users/${user['id']}?sort=email`)).status).toBe(400);
});

test('pages lead forwards and backwards through every record once, in every order (JSON:API rules 3.35, 3.41 and 3.42)', async () => {
  for (const sort of ['email', '-email', 'created_at', '-created_at', 'last_name,-email', '-last_login_at']) {
    const whole = ((await api.get(`/users?sort=${sort}`)).body['data'] as Document[]).map((one) => one['id']);
    const seen: string[][] = [];
    let answer = await api.get(`/users?sort=${sort}&page[size]=2`);
    expect(answer.body['links'].prev).toBeNull();
    for (;;) {
      seen.push((answer.body['data'] as Document[]).map((one) => one['id']));
      if (answer.body['links'].next === null) break;
      answer = await api.get(answer.body['links'].next);
    }
    expect([sort, seen.flat()]).toEqual([sort, whole]);
    expect(seen.map((page) => page.length)).toEqual([2, 2, 1]);
    const back = await api.get(answer.body['links'].prev);
    expect((back.body['data'] as Document[]).map((one) => one['id'])).toEqual(seen[1]);
    const first = await api.get(back.body['links'].prev);
    expect((first.body['data'] as Document[]).map((one) => one['id'])).toEqual(seen[0]);
    expect(first.body['links'].prev).toBeNull();
    expect(first.body['links'].next).not.toBeNull();
  }
});

test('pages survive inserts: what comes in meanwhile shifts nothing', async () => {
  const first = await api.get('/roles?sort=-created_at&page[size]=2');
  const rest = (await api.get('/roles?sort=-created_at&page[size]=100')).body['data'] as Document[];
  await api.create('roles', { name: 'A late one' });
  const second = await api.get(first.body['links'].next);
  expect((second.body['data'] as Document[]).map((one) => one['id'])).toEqual(rest.slice(2, 4).map((one) => one['id']));
});

test('unknown parameters and filters are 400 and named (JSON:API rules 3.36 and 3.37, attack 15.174)', async () => {
  for (const name of [
    'q',
    'limit',
    'page',
    'expand',
    'Filter',
    'filter',
    'filter[environment_id]',
    'filter[email][gte]',
    'filter[created_at]',
    'page[number]',
    'fields',
    'filter[__proto__]',
    'access',
    'a[b][c]',
  ]) {
    const answer = await api.get(`/users?${name}=x`);
    expect([name, answer.status, firstError(answer)?.['source']?.parameter]).toEqual([name, 400, name]);
  }
});

test('raw and encoded brackets mean the same, a name twice is 400 (JSON:API rule 3.38)', async () => {
  const [raw, encoded] = [await api.get('/users?page[size]=1'), await api.get('/users?page%5Bsize%5D=1')];
  expect(raw.body['data']).toEqual(encoded.body['data']);
  expect((await api.get('/users?page[size]=1&page%5Bsize%5D=2')).status).toBe(400);
});

test('a size must be a positive whole number; a cursor one of ours (JSON:API rule 3.39, attack 15.175)', async () => {
  for (const size of ['0', '-1', 'abc', '1e2', '', '1.5', '00']) {
    const answer = await api.get(`/users?page[size]=${size}`);
    expect([size, answer.status, firstError(answer)?.['source']]).toEqual([size, 400, { parameter: 'page[size]' }]);
  }
  const { next } = (await api.get('/users?page[size]=2')).body['links'] as { next: string };
  const cursor = new URL(next).searchParams.get('page[after]') as string;
  const edited = `${cursor.slice(0, -2)}${cursor.endsWith('AA') ? 'BB' : 'AA'}`;
  for (const bad of ['x', edited, "' or 1=1 --", Buffer.from('["x","y"]').toString('base64url')]) {
    const answer = await api.get(`/users?page[after]=${encodeURIComponent(bad)}`);
    expect([answer.status, firstError(answer)?.['source']]).toEqual([400, { parameter: 'page[after]' }]);
  }
  expect((await api.get(`/users?sort=email&page[after]=${cursor}`)).status).toBe(400);
  expect((await api.get(`/roles?page[after]=${cursor}`)).status).toBe(400);
});

test('a size beyond the maximum is 400 and tells the maximum (JSON:API rule 3.40)', async () => {
  const answer = await api.get('/users?page[size]=1000');
  expect([answer.status, firstError(answer)['meta']]).toEqual([400, { page: { maxSize: 100 } }]);
  expect(firstError(answer)['links'].type).toContain('max-size-exceeded');
});

test('meta.page tells the size and no total (JSON:API rule 3.43, attack 15.184)', async () =>
  expect((await api.get('/users')).body['meta']).toEqual({ page: { size: 25 } }));

test('filters: lists of values, ranges, searches, links', async () => {
  const emails = async (filter: string) =>
    ((await api.get(`/users?sort=email&${filter}`)).body['data'] as Document[]).map((one) => one['attributes'].email.split('@')[0]);
  expect(await emails('filter[email]=ADA@example.com,eve@example.com')).toEqual(['ada', 'eve']);
  expect(await emails('filter[search]=D')).toEqual(['dot']);
  expect(await emails('filter[search]=%25')).toEqual([]);
  expect(await emails(`filter[role]=${role['id']}`)).toEqual(['ada']);
  expect(await emails('filter[status]=blocked')).toEqual([]);
  expect(await emails(`filter[created_at][lt]=${encodeURIComponent(user['attributes'].created_at)}`)).toEqual([]);
  expect(await emails(`filter[created_at][gte]=${encodeURIComponent(user['attributes'].created_at)}`)).toHaveLength(5);
  for (const filter of ['filter[status]=odd', 'filter[role]=x', 'filter[created_at][gte]=yesterday'])
    expect((await api.get(`/users?${filter}`)).status).toBe(400);
});

test('conditional reading: the same answer again is 304, a changed one is not', async () => {
  const first = await api.get(`/roles/${role['id']}`);
  const etag = first.headers.get('etag') as string;
  const again = await api.get(`/roles/${role['id']}`, { 'if-none-match': etag });
  expect([again.status, again.text]).toEqual([304, '']);
  expect((await api.get(`/roles/${role['id']}?fields[role]=name`, { 'if-none-match': etag })).status).toBe(200);
  await api.update('roles', role['id'], { description: 'Sells.' });
  expect((await api.get(`/roles/${role['id']}`, { 'if-none-match': etag })).status).toBe(200);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));
