import { describe, expect, test } from 'vitest';
import { addDirectory, sendScim } from '../support/directories.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const acme = shared(() => addDirectory(ctx, 'acme.example'));

const patchOp = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

const add = async (name: string, more: Record<string, unknown> = {}) => {
  const { status, body } = await acme.send('POST', '/Users', { userName: `${name}@acme.example`, ...more });
  expect({ status, body }).toMatchObject({ status: 201 });
  return body as { id: string };
};
const patch = (id: string, ...Operations: unknown[]) => acme.send('PATCH', `/Users/${id}`, { schemas: [patchOp], Operations });
const find = async (filter: string, path = '/Users') => acme.send('GET', `${path}?filter=${encodeURIComponent(filter)}`);
const names = async (filter: string) => {
  const { status, body } = await find(filter);
  expect({ status, body }).toMatchObject({ status: 200 });
  return (body.Resources as { userName: string }[]).map(({ userName }) => userName.split('@')[0]).sort();
};

describe('discovery', () => {
  test('says what the service can do: patch, filter and ETags (RFC 7643 5)', async () => {
    const { body } = await acme.send('GET', '/ServiceProviderConfig');
    expect(body).toMatchObject({
      patch: { supported: true },
      filter: { supported: true, maxResults: 200 },
      etag: { supported: true },
      bulk: { supported: false },
      sort: { supported: false },
      changePassword: { supported: false },
      authenticationSchemes: [{ type: 'oauthbearertoken' }],
    });
  });

  test('lists schemas and resource types, and answers each by itself', async () => {
    const schemas = (await acme.send('GET', '/Schemas')).body;
    expect(schemas.Resources.map(({ name }: { name: string }) => name)).toEqual(['User', 'Group', 'EnterpriseUser']);
    expect((await acme.send('GET', `/Schemas/${enterprise}`)).body).toMatchObject({ id: enterprise, name: 'EnterpriseUser' });
    const types = (await acme.send('GET', '/ResourceTypes')).body;
    expect(types.Resources).toMatchObject([{ id: 'User', schemaExtensions: [{ schema: enterprise, required: false }] }, { id: 'Group' }]);
    expect((await acme.send('GET', '/ResourceTypes/Group')).body).toMatchObject({ endpoint: '/Groups' });
    expect((await acme.send('GET', '/ResourceTypes/Device')).status).toBe(404);
    for (const path of ['/Schemas', '/ResourceTypes', '/ServiceProviderConfig'])
      expect((await acme.send('GET', `${path}?filter=id eq "x"`)).status).toBe(403);
  });

  test('has no Me, and nothing at other addresses', async () => {
    expect(await acme.send('GET', '/Me')).toMatchObject({ status: 501, body: { status: '501' } });
    expect(await acme.send('PATCH', '/Me', {})).toMatchObject({ status: 501 });
    expect(await acme.send('GET', '/Bulk')).toMatchObject({ status: 404, body: { status: '404' } });
    const refused = await acme.send('DELETE', '/Users');
    expect(refused).toMatchObject({ status: 405, body: { status: '405' } });
    expect(refused.headers.get('allow')).toBe('GET, POST');
  });
});

describe('filters', () => {
  test('find by every operator, in any case, and through parts and elements', async () => {
    await add('fay', {
      title: 'Engineer',
      name: { familyName: 'Fischer' },
      emails: [
        { type: 'work', value: 'fay@acme.example', primary: true },
        { type: 'home', value: 'Fay@home.example' },
      ],
      [enterprise]: { department: 'R&D' },
    });
    await add('gus', { title: 'Director', active: false, externalId: 'G-1' });
    const both = async (filter: string) => names(`(${filter}) and (userName sw "fay@" or userName sw "gus@")`);
    expect(await both('TITLE EQ "engineer"')).toEqual(['fay']);
    expect(await both('title ne "engineer"')).toEqual(['gus']);
    expect(await both('title co "irec"')).toEqual(['gus']);
    expect(await both('title ew "eer"')).toEqual(['fay']);
    expect(await both('title gt "e"')).toEqual(['fay']);
    expect(await both('title le "director"')).toEqual(['gus']);
    expect(await both('not (title pr)')).toEqual([]);
    expect(await both('title pr')).toEqual(['fay', 'gus']);
    expect(await both('active eq false')).toEqual(['gus']);
    expect(await both('active eq "True"')).toEqual(['fay']);
    expect(await both('externalId eq "G-1"')).toEqual(['gus']);
    expect(await both('externalId eq "g-1"')).toEqual([]);
    expect(await both('emails eq "FAY@HOME.example"')).toEqual(['fay']);
    expect(await both('emails.value co "@home"')).toEqual(['fay']);
    expect(await both('emails[type eq "home"].value eq "fay@home.example"')).toEqual(['fay']);
    expect(await both('emails[type eq "work"].value eq "fay@home.example"')).toEqual([]);
    expect(await both('emails[type eq "home" and value co "acme"]')).toEqual([]);
    expect(await both('emails[not (type eq "work")]')).toEqual(['fay']);
    expect(await both('emails[primary eq true]')).toEqual(['fay']);
    expect(await both('name.familyName eq "fischer"')).toEqual(['fay']);
    expect(await both(`${enterprise}:department eq "r&d"`)).toEqual(['fay']);
    expect(await both('urn:ietf:params:scim:schemas:core:2.0:User:userName eq "fay@acme.example"')).toEqual(['fay']);
    expect(await both('meta.created gt "2020-01-01T00:00:00Z"')).toEqual(['fay', 'gus']);
    expect(await both('meta.lastModified lt "2020-01-01T00:00:00Z"')).toEqual([]);
    expect(await both('groups pr')).toEqual([]);
  });

  test.each([
    ['userName eq', 'ends early'],
    ['userName eq "x" and', 'ends early'],
    ['password eq "x"', 'an attribute that there is not'],
    ['meta.version eq "x"', 'an attribute that is nothing to filter by'],
    ['name eq "x"', 'an attribute without a value'],
    ['active gt true', 'an order of truth values'],
    ['userName eq 1', 'a number'],
    ['title lt null', 'an order of nothing'],
    ['meta.created gt "yesterday"', 'no time'],
    ['members.value eq "x"', 'an attribute of groups'],
    ['groups.display eq "x"', 'the name of a group'],
    ['userName[type eq "x"]', 'elements of what holds one'],
    [`userName eq "${'x'.repeat(1000)}"`, 'too long'],
    [Array.from({ length: 11 }, () => 'active eq true').join(' or '), 'too many comparisons'],
    [`${'('.repeat(400)}active eq true`, 'never closed'],
    [`userName eq "x" or 1=1; drop table users --`, 'SQL'],
    [`user"Name eq "x"`, 'a quote in a name'],
  ])('are refused, never answered with all: %s (%s; attacks 46.1342 and 46.1343)', async (filter) => {
    expect(await find(filter)).toMatchObject({ status: 400, body: { status: '400', scimType: 'invalidFilter' } });
  });

  test.each([
    '2026',
    '1 Jan 2026 (x)',
    '2026-02-30T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    '-000001-01-01T00:00:00Z',
  ])('take a time that the database writes otherwise: %s (attack 46.1493)', async (time) =>
    expect((await find(`meta.created gt "${time}"`)).status).toBe(200),
  );

  test('take what came as values alone: quotes, wildcards, paths (attack 46.1342)', async () => {
    for (const text of [`' or '1'='1`, '%', '_', '\\\\', 'a\\\\\\"b', "'); drop table directory_users; --", '$.emails[*]', '?'])
      for (const filter of [
        'userName eq',
        'userName co',
        'title eq',
        'title sw',
        'emails[type eq "work"].value eq',
        'externalId eq',
        'id eq',
      ])
        expect(await find(`${filter} "${text}"`), `${filter} ${text}`).toMatchObject({ status: 200, body: { totalResults: 0 } });
  });
});

describe('lists', () => {
  test('have pages of at most 200, counted from 1', async () => {
    await Promise.all(Array.from({ length: 5 }, (_none, index) => add(`page${index}`, { userType: 'paged' })));
    const page = async (query: string) => (await acme.send('GET', `/Users?filter=userType eq "paged"&${query}`)).body;
    expect(await page('startIndex=2&count=2')).toMatchObject({ totalResults: 5, startIndex: 2, itemsPerPage: 2 });
    expect(await page('count=0')).toMatchObject({ totalResults: 5, itemsPerPage: 0, Resources: [] });
    expect(await page('startIndex=0&count=-1')).toMatchObject({ totalResults: 5, startIndex: 1, itemsPerPage: 0 });
    expect(await page('startIndex=99')).toMatchObject({ totalResults: 5, startIndex: 99, Resources: [] });
    expect((await page('count=5000')).Resources).toHaveLength(5);
    const all = await page('');
    const parts = await Promise.all([1, 3, 5].map((start) => page(`startIndex=${start}&count=2`)));
    expect(parts.flatMap(({ Resources }) => Resources)).toEqual(all.Resources);
    expect(await acme.send('GET', '/Users?count=many')).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(await acme.send('GET', '/Users?count=1&count=2')).toMatchObject({ status: 400 });
  });

  test('show the attributes that are asked for, and id and schemas always (RFC 7644 3.9)', async () => {
    const { id } = await add('shown', {
      title: 'T',
      name: { givenName: 'G', familyName: 'F' },
      emails: [{ type: 'work', value: 'shown@acme.example' }],
    });
    const read = async (query: string) => (await acme.send('GET', `/Users/${id}?${query}`)).body;
    expect(await read('attributes=USERNAME,name.givenName,emails.value,nonsense')).toEqual({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      id,
      userName: 'shown@acme.example',
      name: { givenName: 'G' },
      emails: [{ value: 'shown@acme.example' }],
    });
    const without = await read('excludedAttributes=title,name.familyName,id,meta');
    expect(without).toMatchObject({ id, name: { givenName: 'G' }, userName: 'shown@acme.example' });
    expect(Object.keys(without)).not.toContain('title');
    expect(Object.keys(without)).not.toContain('meta');
    expect(without.name).toEqual({ givenName: 'G' });
  });

  test('are searched by POST too, in one kind or in both (RFC 7644 3.4.3)', async () => {
    const { id } = await add('search');
    const { body: group } = await acme.send('POST', '/Groups', { displayName: 'Search', externalId: 'same' });
    await acme.send('PUT', `/Users/${id}`, { userName: 'search@acme.example', externalId: 'same' });
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'];
    const search = (path: string, body: object) => acme.send('POST', `${path}/.search`, { schemas, ...body });
    const ids = (answer: { body: { Resources: { id: string }[] } }) => answer.body.Resources.map((one) => one.id);
    expect(ids(await search('', { filter: 'externalId eq "same"' }))).toEqual([id, group.id]);
    expect((await search('', { filter: 'externalId eq "same"', startIndex: 2, count: 1 })).body).toMatchObject({
      totalResults: 2,
      Resources: [{ id: group.id }],
    });
    expect(ids(await search('', { filter: 'userName eq "search@acme.example"' }))).toEqual([id]);
    expect(ids(await search('/Users', { filter: 'externalId eq "same"', attributes: ['userName'] }))).toEqual([id]);
    expect(ids(await search('/Groups', { filter: 'displayName eq "search"' }))).toEqual([group.id]);
    expect(await search('', { filter: 'nonsense eq 1' })).toMatchObject({ status: 400, body: { scimType: 'invalidFilter' } });
    expect(await search('', { filter: 7 })).toMatchObject({ status: 400, body: { scimType: 'invalidFilter' } });
  });
});

describe('versions', () => {
  test('are weak ETags: 304, 412, and go up with each change (RFC 7644 3.14)', async () => {
    const { id } = await add('etag');
    const first = (await acme.send('GET', `/Users/${id}`)).headers.get('etag')!;
    expect(first).toBe('W/"1"');
    const known = await acme.send('GET', `/Users/${id}`, undefined, { 'If-None-Match': first });
    expect(known).toMatchObject({ status: 304, body: null });
    const title = { op: 'replace', path: 'title', value: 'T' };
    const by = (tag: string) => acme.send('PATCH', `/Users/${id}`, { schemas: [patchOp], Operations: [title] }, { 'If-Match': tag });
    expect((await by('W/"9"')).status).toBe(412);
    const changed = await by(first);
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).toBe('W/"2"');
    expect(changed.body.meta.version).toBe('W/"2"');
    expect((await acme.send('PUT', `/Users/${id}`, { userName: 'etag@acme.example' }, { 'If-Match': first })).status).toBe(412);
    expect((await acme.send('DELETE', `/Users/${id}`, undefined, { 'If-Match': first })).status).toBe(412);
    expect((await acme.send('DELETE', `/Users/${id}`, undefined, { 'If-Match': '*' })).status).toBe(204);
  });
});

describe('PATCH', () => {
  test('is atomic: one operation that fails leaves nothing of the others', async () => {
    const { id } = await add('atomic');
    const answer = await patch(id, { op: 'add', path: 'title', value: 'T' }, { op: 'replace', path: 'active', value: 'perhaps' });
    expect(answer).toMatchObject({ status: 400, body: { scimType: 'invalidValue', detail: 'active must be true or false.' } });
    expect((await acme.send('GET', `/Users/${id}`)).body).not.toHaveProperty('title');
  });

  test('adds to lists without doubles, replaces them, and has one primary value', async () => {
    const { id } = await add('lists');
    const work = { type: 'work', value: '+1', primary: true };
    const both = await patch(id, { op: 'add', path: 'phoneNumbers', value: [work] }, { op: 'add', path: 'phoneNumbers', value: [work] });
    expect(both.body.phoneNumbers).toEqual([work]);
    const more = await patch(id, { op: 'add', path: 'phoneNumbers', value: [{ type: 'home', value: '+2', primary: true }] });
    expect(more.body.phoneNumbers).toEqual([
      { ...work, primary: false },
      { type: 'home', value: '+2', primary: true },
    ]);
    const part = await patch(id, { op: 'replace', path: 'phoneNumbers[value eq "+1"]', value: { value: '+3', primary: true } });
    expect(part.body.phoneNumbers).toEqual([
      { type: 'work', value: '+3', primary: true },
      { type: 'home', value: '+2', primary: false },
    ]);
    const gone = await patch(id, { op: 'remove', path: 'phoneNumbers', value: [{ value: '+2' }] });
    expect(gone.body.phoneNumbers).toEqual([{ type: 'work', value: '+3', primary: true }]);
    const sub = await patch(id, { op: 'remove', path: 'phoneNumbers[type eq "work"].primary' });
    expect(sub.body.phoneNumbers).toEqual([{ type: 'work', value: '+3' }]);
    expect((await patch(id, { op: 'remove', path: 'phoneNumbers' })).body).not.toHaveProperty('phoneNumbers');
  });

  test.each([
    [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
    [{ op: 'replace', path: 'meta.created', value: 'x' }, 'mutability'],
    [{ op: 'add', path: 'groups', value: [{ value: 'x' }] }, 'mutability'],
    [{ op: 'replace', value: { groups: [] } }, 'mutability'],
    [{ op: 'remove' }, 'noTarget'],
    [{ op: 'replace', path: 'emails[type co "z"].value', value: 'x' }, 'noTarget'],
    [{ op: 'replace', path: 'title[', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'title[type eq "x"]', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 5, value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'emails[type].value', value: 'x' }, 'invalidFilter'],
    [{ op: 'move', path: 'title', value: 'x' }, 'invalidSyntax'],
    [{ path: 'title', value: 'x' }, 'invalidSyntax'],
    ['replace', 'invalidSyntax'],
    [{ op: 'replace', path: 'title' }, 'invalidValue'],
    [{ op: 'replace', value: 'x' }, 'invalidValue'],
    [{ op: 'replace', path: 'title', value: { a: 1 } }, 'invalidValue'],
    [{ op: 'replace', path: 'name', value: 'x' }, 'invalidValue'],
    [{ op: 'remove', path: 'userName' }, 'invalidValue'],
    [{ op: 'replace', path: 'title', value: 'x'.repeat(5000) }, 'invalidValue'],
  ])('refuses %j as %s', async (operation, scimType) => {
    const { id } = (await find('userName eq "refusals@acme.example"')).body.Resources[0] ?? (await add('refusals'));
    expect(await patch(id, operation)).toMatchObject({ status: 400, body: { status: '400', scimType } });
  });

  test('holds no more values than a resource may, however many operations add some (attack 46.1494)', async () => {
    const { id } = await add('many');
    const some = (from: number) => Array.from({ length: 40 }, (_, at) => ({ value: String(from + at) }));
    const added = (count: number) => Array.from({ length: count }, (_, at) => ({ op: 'add', path: 'phoneNumbers', value: some(at * 40) }));
    expect((await patch(id, ...added(2))).body.phoneNumbers).toHaveLength(80);
    expect(await patch(id, ...added(600))).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    const unpathed = Object.fromEntries(Array.from({ length: 1001 }, (_, at) => [`phoneNumbers[type eq "${at}"].value`, 'x']));
    expect(await patch(id, { op: 'add', value: unpathed })).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
  });

  test('passes over passwords and what it does not know, beside what it does', async () => {
    const { id } = await add('unknown');
    const answer = await patch(
      id,
      { op: 'replace', path: 'password', value: 'hunter2' },
      { op: 'add', path: 'urn:example:2.0:User:shoeSize', value: 44 },
      { op: 'add', value: { hobby: 'chess', title: 'T', password: 'x', schemas: [] } },
    );
    expect(answer).toMatchObject({ status: 200, body: { title: 'T' } });
    expect(JSON.stringify(answer.body)).not.toMatch(/hunter2|shoeSize|chess/);
  });
});

describe('bodies', () => {
  test.each([
    ['application/xml', '<user/>', 415, undefined],
    ['application/scim+json; charset=latin1', '{}', 415, undefined],
    ['application/json', '{"userName":', 400, 'invalidSyntax'],
    ['application/json', '[]', 400, 'invalidSyntax'],
    ['application/json', '', 400, 'invalidSyntax'],
    ['application/json', '{"__proto__":{"admin":true}}', 400, 'invalidSyntax'],
    ['application/json', '{"userName":"\\u0000"}', 400, 'invalidSyntax'],
    ['application/json', '{}', 400, 'invalidValue'],
    ['application/json; charset=UTF-8', '{"userName":["x"]}', 400, 'invalidValue'],
    ['application/scim+json;charset=utf-8', '{"userName":"x@acme.example","emails":[{"value":{}}]}', 400, 'invalidValue'],
    [
      'application/json',
      JSON.stringify({ userName: 'x@acme.example', emails: Array.from({ length: 101 }, () => 'x') }),
      400,
      'invalidValue',
    ],
    ['application/json', `"${'x'.repeat(2_100_000)}"`, 413, undefined],
    ['application/json', `[${'0,'.repeat(130_000)}0]`, 413, undefined],
  ])('of %s are refused where they can not be read', async (type, body, status, scimType) => {
    const answer = await acme.send('POST', '/Users', body, { 'Content-Type': type });
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ status: String(status), ...(scimType && { scimType }) });
  });

  test('bear userName and externalId that nobody else of the directory has', async () => {
    const { id } = await add('unique', { externalId: 'unique' });
    const again = { userName: 'UNIQUE@acme.example', emails: [{ value: 'unique2@acme.example', primary: true }] };
    expect(await acme.send('POST', '/Users', again)).toMatchObject({
      status: 409,
      body: { scimType: 'uniqueness', detail: 'There is a User of this userName already.' },
    });
    expect(await acme.send('POST', '/Users', { userName: 'unique3@acme.example', externalId: 'unique' })).toMatchObject({
      status: 409,
      body: { scimType: 'uniqueness' },
    });
    const other = await add('unique4');
    expect(await patch(other.id, { op: 'replace', path: 'userName', value: 'unique@ACME.example' })).toMatchObject({ status: 409 });
    expect(
      await acme.send('POST', '/Users', { userName: 'elsewhere', emails: [{ value: 'unique@acme.example', primary: true }] }),
    ).toMatchObject({ status: 409, body: { scimType: 'uniqueness', detail: 'There is a User of this address already.' } });
    expect((await acme.send('GET', `/Users/${id}`)).body.externalId).toBe('unique');
  });
});

describe('ids', () => {
  test.each(['nonsense', '0195e8a2-6f00-7000-8000-000000000171', '%00', '..%2f'])('that are none are 404: %s', async (id) => {
    for (const path of ['/Users', '/Groups']) {
      expect(await acme.send('GET', `${path}/${id}`)).toMatchObject({ status: 404, body: { status: '404' } });
      expect((await acme.send('DELETE', `${path}/${id}`)).status).toBe(404);
      expect((await acme.send('PATCH', `${path}/${id}`, { Operations: [{ op: 'add', path: 'displayName', value: 'x' }] })).status).toBe(
        404,
      );
      expect((await acme.send('PUT', `${path}/${id}`, { userName: 'x@acme.example', displayName: 'x' })).status).toBe(404);
    }
    expect((await sendScim(`${acme.url}/Users`, acme.token, 'GET')).status).toBe(200);
  });
});

test('a name that no index holds is refused, never a failure (attack 46.1493)', async () => {
  const long = Array.from({ length: 4096 }, (_, at) => String.fromCodePoint(0x4e00 + ((at * 7919) % 20_000))).join('');
  const refusal = { status: 400, body: { scimType: 'invalidValue' } };
  const emails = [{ value: 'long@acme.example', primary: true }];
  expect(await acme.send('POST', '/Users', { userName: long, emails })).toMatchObject(refusal);
  expect(await acme.send('POST', '/Users', { userName: 'long', externalId: long, emails })).toMatchObject(refusal);
  expect(await acme.send('POST', '/Groups', { displayName: long })).toMatchObject(refusal);
  expect((await acme.send('POST', '/Groups', { displayName: long.slice(0, 512) })).status).toBe(201);
});

test('a resource is 65,536 characters of JSON at most, between the operations of a PATCH too (attack 70.1950)', async () => {
  const addresses = Array.from({ length: 20 }, (_, at) => ({ formatted: `${at}`.padEnd(4_000, 'x') }));
  const tooLong = {
    status: 400,
    body: { scimType: 'invalidValue', detail: 'The resource must be at most 65536 characters long, as JSON.' },
  };
  expect(await acme.send('POST', '/Users', { userName: 'heavy@acme.example', addresses })).toMatchObject(tooLong);
  const { id } = await add('heavy', { addresses: addresses.slice(0, 10) });
  const more = { op: 'add', path: 'addresses', value: addresses.slice(10) };
  expect(await patch(id, more)).toMatchObject(tooLong);
  expect(await patch(id, more, { op: 'remove', path: 'addresses' })).toMatchObject(tooLong);
  const title = {
    op: 'add',
    value: { title: 'x'.repeat(4_096), displayName: 'x'.repeat(4_096), [enterprise]: { division: 'x'.repeat(4_096) } },
  };
  expect(await patch(id, { ...more, value: addresses.slice(10, 15) }, title)).toMatchObject(tooLong);
  expect(await acme.send('PUT', `/Users/${id}`, { userName: 'heavy@acme.example', addresses })).toMatchObject(tooLong);
  expect((await acme.send('GET', `/Users/${id}`)).body.addresses).toHaveLength(10);
  expect(await patch(id, { ...more, value: addresses.slice(10, 15) })).toMatchObject({ status: 200 });
});

test('a filter by a time that the database does not have is refused, with no 500 (attack 70.1951)', async () => {
  for (const time of ['-271821-04-20T00:00:00Z', '-004800-01-01T00:00:00Z'])
    expect(await find(`meta.created gt "${time}"`)).toMatchObject({ status: 400 });
});
