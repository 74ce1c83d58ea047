// What of the Management API concerns no single record: the checks that every endpoint passes, whatever it does.
import { beforeAll, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { endpoints, endpointsByPath } from '../../src/management/calls/index.js';
import { registry } from '../../src/management/resources/index.js';
import { Api, manage, managementClient, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let outside: Api;

const api = shared(() => manage(service.url));

beforeAll(async () => {
  outside = (await secondEnvironment(api)).api;
});

const firstError = (answer: { body: Document }) => answer.body['errors'][0] as Document;

/** A caller who holds all Management permissions but these. */
async function without(...missing: readonly string[]): Promise<Api> {
  const scope = managementPermissions.filter((name) => !missing.includes(name)).join(' ');
  return new Api(service.url, await managementToken(service.url, managementClient, { scope }));
}

test('addresses are nobody else’s: no collection has them, no two endpoints share one, and so it is with words', () => {
  expect(endpoints.filter(({ path }) => registry.byPath.has(path.split('/')[0] as string))).toEqual([]);
  expect(endpoints.flatMap(({ words }) => words).filter((word) => !/^[a-z][a-z-]*$/.test(word))).toEqual([]);
  expect(new Set(endpoints.map(({ words }) => words.join(' '))).size).toBe(endpoints.length);
  const made = endpoints.slice(0, 1);
  if (made.length > 0) expect(() => endpointsByPath([...made, ...made])).toThrow('there are two endpoints');
});

test.for(endpoints.map((one) => [`${one.method} /api/${one.path}`, one] as const))(
  '%s: each of its permissions is needed, and a refusal is noted',
  async ([, { method, path, permissions, group, name }]) => {
    for (const missing of permissions) {
      const answer = await (await without(missing)).request(method, `/${path}`, method === 'GET' ? {} : { body: { meta: {} } });
      expect([answer.status, firstError(answer)['code']]).toEqual([403, 'insufficient_scope']);
      expect(firstError(answer)['meta'].required).toContain(missing);
    }
    const noted = (await api.get(`/audit_logs?filter[action]=${group}.${name}&filter[outcome]=denied`)).body['data'] as Document[];
    expect(noted[0]?.['attributes']).toMatchObject({ reason: 'insufficient_scope', targets: [{ target_type: group, target_id: null }] });
  },
);

test.for(endpoints.map((one) => [`${one.method} /api/${one.path}`, one] as const))(
  '%s: no token, another method, a query and a foreign type are refused',
  async ([, { method, path, input, operators }]) => {
    const send = (caller: Api, query = '', headers = {}) =>
      caller.request(method, `/${path}${query}`, method === 'GET' ? { headers } : { body: { meta: {} }, headers });
    expect((await send(new Api(service.url, null))).status).toBe(401);
    const other = await api.request('DELETE', `/${path}`);
    expect([other.status, other.headers.get('allow')?.includes(method)]).toEqual([405, true]);
    expect(firstError(await send(api, '?include=roles'))['code']).toBe('invalid_include');
    expect((await send(api, '', { accept: 'text/html' })).status).toBe(406);
    if (input) {
      expect((await send(api, '', { 'content-type': 'application/json' })).status).toBe(415);
      const unknown = await api.request(method, `/${path}`, { body: { meta: { constructor: 1, nope: 1 } } });
      expect(unknown.status).toBe(422);
      expect(unknown.body['errors'].map((one: Document) => one['source'].pointer)).toContain('/meta/nope');
      expect(firstError(await api.request(method, `/${path}`, { body: {} }))['code']).toBe('malformed_document');
    }
    if (operators) expect(firstError(await send(outside))['code']).toBe('operators_only');
  },
);
