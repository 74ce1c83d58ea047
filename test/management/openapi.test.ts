import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, expect, test } from 'vitest';
import { eventTypes } from '../../src/domain/events/catalogue.js';
import { createOpenApi, createPublishedOpenApi } from '../../src/management/openapi/document.js';
import { attributeTexts } from '../../src/management/attribute-texts.js';
import { registry, resources } from '../../src/management/resources/index.js';
import { manage, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';
import { eventually } from '../support/webhooks.js';

const service = sharedManagedService();
let document: Document;

const api = shared(() => manage(service.url));

beforeAll(async () => {
  // A busy machine may tell the first caller to come again.
  document = await eventually(async () => {
    const answer = await fetch(`${service.url}/api/openapi.json`);
    return answer.ok && ((await answer.json()) as Document);
  });
});

test('the document needs no token, may be cached, and is found from every answer', async () => {
  const answer = await fetch(`${service.url}/api/openapi.json`);
  expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
    200,
    'application/json',
    'public, max-age=300',
  ]);
  const again = await fetch(`${service.url}/api/openapi.json`, { headers: { 'if-none-match': answer.headers.get('etag') as string } });
  expect([again.status, again.headers.get('cache-control'), await again.text()]).toEqual([304, 'public, max-age=300', '']);
  expect((await fetch(`${service.url}/api/openapi.json`, { method: 'POST' })).status).toBe(405);
  expect((await api.get('/roles')).body['links'].describedby).toBe(`${service.url}/api/openapi.json`);
});

test('a text that may be anything may not hold U+0000, which the API refuses too', async () => {
  const allowing: string[] = [];
  let texts = 0;
  const walk = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const schema = node as Record<string, unknown>;
    if (schema['type'] === 'string' && !['enum', 'const', 'format'].some((keyword) => keyword in schema)) {
      texts += 1;
      const pattern = schema['pattern'];
      if (typeof pattern !== 'string' || ['\0', 'a\0', 'https://a.example/\0'].some((text) => new RegExp(pattern, 'u').test(text)))
        allowing.push(path);
    }
    for (const [name, member] of Object.entries(schema)) if (name !== 'example' && name !== 'examples') walk(member, `${path}/${name}`);
  };
  walk(document, '#');
  expect(texts).toBeGreaterThan(300);
  expect(allowing).toEqual([]);
  const { status } = await api.attempt('roles', { name: 'a\0b' });
  expect(status).toBe(400);
});

test('members that a request is free to have hold no U+0000 either, by the document and by the API: names and values of any depth', async () => {
  const ajv = new Ajv2020({ strict: false, formats: { uuid: true } });
  ajv.addSchema({ $id: 'openapi', components: document['components'] });
  const allows = ajv.getSchema('openapi#/components/schemas/role_create') as (value: unknown) => boolean;
  const ignored: object[] = [{ x: 'a' }, { x: 'a\0' }, { x: { y: ['a\0'] } }, { 'x\0': 1 }, { x: [{ 'y\0': null }] }];
  const answers: unknown[] = [];
  for (const [at, members] of ignored.entries())
    for (const where of ['document', 'data']) {
      const data = { type: 'role', attributes: { name: `Ignored ${at} ${where}` }, ...(where === 'data' && members) };
      const sent = { data, ...(where === 'document' && members) };
      answers.push([allows(sent), (await api.post('/roles', sent)).status]);
    }
  const refused = Array.from({ length: 8 }, () => [false, 400]);
  expect(answers).toEqual([[true, 201], [true, 201], ...refused]);
});

test('it is sent compressed to whoever takes that, each coding with a tag of its own', async () => {
  const ask = (coding: string, more: Record<string, string> = {}) =>
    fetch(`${service.url}/api/openapi.json`, { headers: { 'accept-encoding': coding, ...more } });
  const plain = await ask('identity');
  const text = await plain.text();
  const tags = new Set([plain.headers.get('etag')]);
  for (const coding of ['br', 'gzip']) {
    const answer = await ask(coding);
    expect([answer.headers.get('content-encoding'), answer.headers.get('vary'), await answer.text()]).toEqual([
      coding,
      'Accept-Encoding',
      text,
    ]);
    expect(Number(answer.headers.get('content-length'))).toBeLessThan(text.length / 8);
    tags.add(answer.headers.get('etag'));
    const again = await ask(coding, { 'if-none-match': answer.headers.get('etag') ?? '' });
    expect([again.status, again.headers.get('vary'), again.headers.get('content-encoding')]).toEqual([304, 'Accept-Encoding', null]);
  }
  expect([plain.headers.get('content-encoding'), plain.headers.get('vary'), tags.size]).toEqual([null, 'Accept-Encoding', 3]);
});

test('it is built once for an environment, not for each request; only so many are kept (attack 15.261)', () => {
  const published = createPublishedOpenApi(registry);
  const at = (number: number) => ({ base_url: `https://${number}.example`, issuer: `https://${number}.example` });
  const first = published(at(0));
  expect(published(at(0))).toBe(first);
  expect(JSON.parse(first.body)).toMatchObject({ servers: [{ url: 'https://0.example' }] });
  expect(published(at(1)).etag).not.toBe(first.etag);
  for (let number = 1; number <= 20; number++) published(at(number));
  expect(published(at(0))).not.toBe(first);
});

test('what environments share is built once, however many of them are asked for at first (attack 15.261)', () => {
  const documentOf = createOpenApi(registry);
  const [one, other] = ['one', 'other'].map((name) =>
    documentOf({ base_url: `https://${name}.example`, issuer: `https://${name}.example/id` }),
  );
  expect(other?.paths).toBe(one?.paths);
  expect(other?.webhooks).toBe(one?.webhooks);
  expect(other?.components?.schemas).toBe(one?.components?.schemas);
  expect([one, other].map((document) => document?.servers?.[0]?.url)).toEqual(['https://one.example', 'https://other.example']);
  expect(JSON.stringify(one)).toContain('https://one.example/id/oauth/token');
  expect(JSON.stringify(other)).not.toContain('https://one.example');
});

test('operations are named as people speak: an environment, an API resource, a role', () => {
  const paths = document['paths'] as Record<string, Record<string, { summary: string }>>;
  const summary = (path: string, method: string) => paths[path]?.[method]?.summary;
  expect(summary('/api/environments', 'post')).toBe('Create an environment');
  expect(summary('/api/api_resources/{id}', 'patch')).toBe('Change an API resource');
  expect(summary('/api/roles/{id}', 'delete')).toBe('Delete a role');
  const all = Object.values(paths).flatMap((item) => Object.values(item).map((operation) => operation.summary));
  expect(all.length).toBeGreaterThan(150);
  expect(all.filter((text) => /\ba [aeio]|\ban [^aeiohA]/i.test(text))).toEqual([]);
});

test('an OpenAPI linter finds nothing', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const published = createOpenApi(registry)({ base_url: 'https://id.acme.org', issuer: 'https://id.acme.org' });
  const problems = await lintFromString({ source: JSON.stringify(published), config });
  expect(problems.map((problem) => `${problem.ruleId}: ${problem.message} at ${problem.location[0]?.pointer ?? ''}`)).toEqual([]);
});

test('every resource and every event type is described', () => {
  expect(document['openapi']).toBe('3.1.0');
  for (const resource of resources.filter((one) => one.routed !== false))
    expect(document['paths']).toHaveProperty([`/api/${resource.path}`]);
  expect(Object.keys(document['webhooks']).sort()).toEqual([...eventTypes].sort());
});

test('operation ids are unique, and every operation names its permission', () => {
  const operations = Object.values(document['paths'] as Document).flatMap((item) => Object.values(item as Document));
  const ids = operations.map((operation) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const operation of operations) expect(operation.security[0].oauth2.length).toBeGreaterThan(0);
});

type Schema = Record<string, unknown>;

/** Every attribute of every record, creation, change and action, with where it stands. */
function attributes(): [place: string, schema: Schema][] {
  const schemas = document['components'].schemas as Record<string, Schema>;
  return Object.entries(schemas).flatMap(([name, schema]) => {
    const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
    const ofRecord = (properties['attributes']?.['properties'] ?? {}) as Record<string, Schema>;
    const ofInput = /_attributes$|_meta$/.test(name) ? (properties as Record<string, Schema>) : {};
    return Object.entries({ ...ofRecord, ...ofInput }).map(([attribute, one]): [string, Schema] => [`${name}.${attribute}`, one]);
  });
}

const mayBeNull = ({ type, anyOf }: Schema): boolean =>
  [type].flat().includes('null') || ((anyOf ?? []) as Schema[]).some((one) => one['type'] === 'null');

test('every attribute says what it means, and what null means where it may be null', () => {
  const all = attributes();
  expect(all.length).toBeGreaterThan(300);
  const text = (schema: Schema) => (schema['description'] ?? '') as string;
  const places = (list: typeof all) => list.map(([place]) => place);
  const wordless = all.filter(([, schema]) => text(schema).length < 4);
  expect(places(wordless), 'Say what it means in src/management/attribute-texts.ts, or where its schema is.').toEqual([]);
  const unsaid = all.filter(([, schema]) => mayBeNull(schema) && !/\bnull\b/.test(text(schema)));
  expect(places(unsaid), 'Say there what null means: “null = none.”').toEqual([]);
});

test('nothing is explained that is not there, and lifetimes name their unit', () => {
  const types = new Map(resources.map((one) => [one.type, one]));
  for (const [type, texts] of Object.entries(attributeTexts).filter(([one]) => one !== '*'))
    expect([type, Object.keys(texts).filter((name) => !Object.hasOwn(types.get(type)?.attributes.shape ?? {}, name))]).toEqual([type, []]);
  const lifetimes = attributes().filter(([place]) => place.endsWith('_lifetime'));
  expect(lifetimes.length).toBeGreaterThan(20);
  for (const [place, schema] of lifetimes) expect([place, schema['description']]).toEqual([place, expect.stringContaining('in seconds')]);
});

test('parameters say what they take: enumerations, ids, lengths, several values with commas', () => {
  const parameters = document['paths']['/api/users'].get.parameters as Schema[];
  const named = (name: string) => parameters.find((one) => one['name'] === name) as Schema & { schema: Schema };
  const commas = { style: 'form', explode: false };
  expect(named('filter[status]')).toMatchObject({ ...commas, schema: { type: 'array', items: { enum: ['active', 'blocked'] } } });
  expect(named('filter[role]')).toMatchObject({ ...commas, schema: { maxItems: 50, items: { format: 'uuid' } } });
  expect(named('filter[search]')).toMatchObject({ schema: { type: 'string', minLength: 1, maxLength: 255 } });
  expect(named('filter[created_at][gte]')).toMatchObject({ schema: { format: 'date-time' } });
  expect(named('sort')).toMatchObject({ ...commas, schema: { maxItems: 4, items: { enum: expect.arrayContaining(['email', '-email']) } } });
  expect(named('include')).toMatchObject({
    ...commas,
    schema: { items: { enum: expect.arrayContaining(['roles', 'roles.permissions']) } },
  });
  expect(named('fields[user]')).toMatchObject({ ...commas, schema: { items: { enum: expect.arrayContaining(['email', 'roles']) } } });
  const creation = document['paths']['/api/users'].post.parameters as Schema[];
  expect(creation.find((one) => one['name'] === 'Idempotency-Key')).toMatchObject({ schema: { minLength: 1, maxLength: 255 } });
  expect(document['paths']['/api/users/{id}'].get.parameters[0]).toMatchObject({ name: 'id', schema: { format: 'uuid' } });
});

test('what is documented as taken is taken: every filter, order, path and field of every list', async () => {
  for (const resource of resources.filter((one) => one.routed !== false)) {
    const parameters = document['paths'][`/api/${resource.path}`].get.parameters as { in: string; name: string; schema: Schema }[];
    for (const { name, schema } of parameters.filter((one) => one.in === 'query')) {
      const item = (schema['items'] ?? schema) as Schema;
      const values = ((item['enum'] ?? []) as string[]).filter((value) => name !== 'sort' || !value.startsWith('-'));
      const most = Number(schema['maxItems'] ?? values.length);
      for (let at = 0; at < values.length; at += most) {
        const value = schema['items'] ? values.slice(at, at + most).join(',') : (values[at] as string);
        const answer = await api.get(`/${resource.path}?${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
        expect([name, value, answer.status]).toEqual([name, value, 200]);
      }
    }
  }
});

/** Values that a parameter's schema excludes, each in one way. */
function excludedBy({ schema }: { schema: Schema }): string[] {
  const item = (schema['items'] ?? schema) as Schema;
  const [most, least] = [schema['maxItems'], schema['items'] ? schema['minItems'] : item['minLength']];
  const fitting = ((item['enum'] as string[] | undefined) ?? ['00000000-0000-7000-8000-000000000000'])[0] as string;
  return [
    ...(item['enum'] || item['format'] ? ['\u0001'] : []),
    ...(Number(least) > 0 ? [''] : []),
    ...(typeof item['maxLength'] === 'number' && item['maxLength'] < 2048 ? ['x'.repeat(item['maxLength'] + 1)] : []),
    ...(typeof most === 'number' && item['format'] === 'uuid' ? [Array.from({ length: most + 1 }, () => fitting).join(',')] : []),
    ...(item['type'] === 'integer' ? ['0', '101', 'x'] : []),
  ];
}

test('what is documented as not taken is refused: empty, too long, too many, and what no enumeration has', async () => {
  let refused = 0;
  for (const resource of resources.filter((one) => one.routed !== false)) {
    const parameters = document['paths'][`/api/${resource.path}`].get.parameters as { in: string; name: string; schema: Schema }[];
    for (const parameter of parameters.filter((one) => one.in === 'query')) {
      for (const value of excludedBy(parameter)) {
        const answer = await api.get(`/${resource.path}?${encodeURIComponent(parameter.name)}=${encodeURIComponent(value)}`);
        expect([resource.path, parameter.name, value.slice(0, 50), answer.status]).toEqual([
          resource.path,
          parameter.name,
          value.slice(0, 50),
          400,
        ]);
        refused++;
      }
    }
  }
  expect(refused).toBeGreaterThan(150);
});

test('a field sorted by twice counts once, and the pages hold together', async () => {
  for (const name of ['Sorted 1', 'Sorted 2', 'Sorted 3']) await api.create('roles', { name });
  const first = await api.get('/roles?sort=name,-name,name&filter[search]=sorted&page[size]=2');
  const next = await fetch(first.body['links'].next as string, { headers: { authorization: `Bearer ${api.token}` } });
  const names = (body: Document) => (body['data'] as Document[]).map((one) => one['attributes'].name as string);
  expect([...names(first.body), ...names((await next.json()) as Document)]).toEqual(['Sorted 1', 'Sorted 2', 'Sorted 3']);
});

test('relationships that a creation needs are required, and can not be null', () => {
  const create = document['components'].schemas.client_grant_create.properties.data;
  expect(create.required).toContain('relationships');
  expect(create.properties.relationships.required).toEqual(['client', 'api_resource']);
  expect(create.properties.relationships.properties.client).toMatchObject({
    required: ['data'],
    description: expect.stringMatching(/^Required\./),
  });
  expect(create.properties.relationships.properties.client.properties.data.type).toBe('object');
});
