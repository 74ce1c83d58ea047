// Every operation of the OpenAPI document with malformed values: no 5xx, documented statuses only, nothing changed by what was refused.
import { beforeAll, expect, test } from 'vitest';
import { manage, type Document, type Exchange } from '../support/management.js';
import { oneOfEach } from '../support/one-of-each.js';
import { publishedDocument, type OpenApi } from '../support/openapi.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { stateOf } from '../support/stored-state.js';

const service = sharedManagedService();
const ctx = contextOf(service);
let document: OpenApi;
const ids = new Map<string, string>();

const api = shared(() => manage(service.url));

beforeAll(async () => {
  document = await publishedDocument(service.url);
  for (const [path, { id }] of await oneOfEach(service, api)) ids.set(path, id as string);
  ids.set('event_types', 'user.created');
  // A delivery that is tried again changes a state that only requests may: none waits, and none is sent again.
  await ctx.db.knex('webhook_queue').delete();
  ids.delete('webhook_deliveries');
  await api.update('webhooks', ids.get('webhooks') as string, { status: 'disabled' });
});

const strange: unknown[] = [
  null,
  7,
  -1,
  1.5,
  true,
  '',
  ' ',
  'x'.repeat(5_000),
  '💥',
  "'; drop table users --",
  '../../etc/passwd',
  [],
  [null],
  [[]],
  {},
  { a: { b: [] } },
  9e99,
];

function resolve(schema: Document): Document {
  const reference = schema['$ref'] as string | undefined;
  return reference ? (document.document['components'].schemas[reference.split('/').at(-1) as string] as Document) : schema;
}

/** Bodies that are wrong in one place each, and a few that are wrong altogether. */
function bodiesFor(operation: Document, id: string): unknown[] {
  const content = operation['requestBody']?.content?.['application/vnd.api+json']?.schema as Document | undefined;
  if (!content) return [undefined, {}, { data: null }];
  const wholly = [
    {},
    [],
    null,
    'x',
    { data: null },
    { data: [] },
    { data: {} },
    { data: 'x' },
    { data: [{}] },
    { data: { type: 7 } },
    { errors: [] },
    { data: [{ type: 'role', id: 7 }] },
  ];
  const members = resolve(content)['properties'] as Document;
  if (members['meta'] && !members['data']) {
    const inputs = Object.keys(resolve(members['meta'] as Document)['properties'] ?? {});
    return [
      ...wholly,
      ...strange.map((meta) => ({ meta })),
      ...inputs.flatMap((name) => strange.map((value) => ({ meta: { [name]: value } }))),
    ];
  }
  const data = members['data'] as Document;
  const shape = (data['properties'] ?? {}) as Document;
  const type = shape['type']?.const as string | undefined;
  if (type === undefined) return wholly;
  const names = Object.keys(resolve((shape['attributes'] ?? {}) as Document)['properties'] ?? {});
  const identity = shape['id'] ? { type, id } : { type };
  const one = (attributes: unknown) => ({ data: { ...identity, attributes } });
  const related = strange.slice(0, 8).map((value) => ({
    data: { ...identity, attributes: {}, relationships: { roles: value, api_resource: { data: value }, nope: value } },
  }));
  return [
    ...wholly,
    ...related,
    ...strange.map(one),
    ...names.flatMap((name, turn) => strange.filter((_, at) => (at + turn) % 4 === 0).map((value) => one({ [name]: value }))),
  ];
}

const queries = [
  '',
  '?q=1',
  '?include=nope',
  '?sort=nope',
  '?page[size]=0',
  '?page[size]=99999',
  '?page[after]=x',
  '?filter[nope]=x',
  '?fields[nope]=x',
  '?filter[created_at][gte]=x',
  '?include=%00',
  '?a=%ff',
  '?page[size]=1&page[size]=2',
  '?fields[user]=%27',
  '?filter[search]=%25%5f%5c',
  '?filter[search]=',
  '?sort=',
  '?sort=created_at,-created_at',
  '?include=',
  `?page[after]=${'%2B'.repeat(2000)}`,
];
const headers: Record<string, string>[] = [
  {},
  { accept: 'text/html' },
  { 'content-type': 'text/plain' },
  { 'if-match': 'x' },
  { 'if-none-match': '""' },
  { 'idempotency-key': ' ' },
  { 'idempotency-key': 'k'.repeat(256) },
  { 'if-match': '' },
  { accept: 'application/vnd.api+json; x=y' },
];

function requestsFor({
  template,
  method,
  operation,
}: OpenApi['operations'][number]): { path: string; body: unknown; headers: Record<string, string> }[] {
  const collection = template.split('/')[2] as string;
  const known = encodeURIComponent(ids.get(collection) ?? '00000000-0000-7000-8000-000000000000');
  const at = (id: string) => template.slice('/api'.length).replace('{id}', id);
  const bodies = bodiesFor(operation, decodeURIComponent(known));
  const first = method === 'GET' || method === 'DELETE' ? undefined : bodies[0];
  return [
    ...(method === 'GET' ? [] : bodies.map((body) => ({ path: at(known), body, headers: {} }))),
    ...queries.map((query) => ({ path: at(known) + query, body: first, headers: {} })),
    ...headers.map((given) => ({ path: at(known), body: first, headers: given })),
    ...['x', '%00', '%ff', '00000000-0000-7000-8000-000000000000', 'y'.repeat(300)].map((id) => ({
      path: at(id),
      body: first,
      headers: {},
    })),
  ];
}

// What ends a record that the others need, or a whole environment, is driven with ids that don't exist alone.
const destructive = /^(delete_|deactivate_|activate_|block_)/;

test('every operation, some thousand malformed requests', async () => {
  const problems = new Set<string>();
  let refused = 0;
  for (const entry of document.operations) {
    if (destructive.test(entry.operation['operationId'])) ids.delete(entry.template.split('/')[2] as string);
    let before = await stateOf(ctx);
    const exchanges: Exchange[] = [];
    const requests = requestsFor(entry);
    for (const { path, body, headers: given } of requests) {
      const answer = await api.request(entry.method, path, { ...(body === undefined ? {} : { body }), headers: given });
      if (answer.status >= 500) problems.add(`${entry.method} ${path} ${JSON.stringify(body)}: ${answer.status}`);
      if (answer.status < 400 && entry.method !== 'GET') before = await stateOf(ctx);
      else refused++;
      exchanges.push({ method: entry.method, path, request: {}, answer });
    }
    if ((await stateOf(ctx)) !== before) problems.add(`${entry.method} ${entry.template}: a refusal left something`);
    for (const problem of document.problemsOf(exchanges)) problems.add(problem);
  }
  expect([...problems]).toEqual([]);
  expect(refused).toBeGreaterThan(1_500);
}, 1_800_000);
