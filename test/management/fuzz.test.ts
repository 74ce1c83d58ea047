// Every operation of the OpenAPI document with malformed values: no 5xx, documented statuses only, nothing changed by what was refused.
import { addSignalStream } from '../support/signals.js';
import { beforeAll, expect, test } from 'vitest';
import { insertGroup } from '../../src/db/tables/organization_groups.js';
import { giveConsent } from '../../src/domain/grants/consents.js';
import { linkIdentity } from '../../src/domain/connections/identities.js';
import { uuidv7 } from '../../src/lib/random.js';
import { numberEventsOnce } from '../../src/jobs/event-feed.js';
import { png } from '../support/images.js';
import { link, manage, type Document, type Exchange } from '../support/management.js';
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
  const keep = async (path: string, record: Promise<Document>) => ids.set(path, (await record)['id'] as string);
  await keep('api_resources', api.create('api_resources', { identifier: 'https://one.example', name: 'One' }));
  const resource = link('api_resource', ids.get('api_resources') as string);
  await keep('permissions', api.create('permissions', { name: 'read' }, { api_resource: resource }));
  const detailType = { name: 'one', fields: [{ name: 'what', kind: 'text' }], sentence: { en: 'See {what}' } };
  await keep('authorization_detail_types', api.create('authorization_detail_types', detailType, { api_resource: resource }));
  await keep('roles', api.create('roles', { name: 'One' }));
  await keep('users', api.create('users', { email: 'one@example.com' }));
  await keep('clients', api.create('clients', { name: 'One', application_type: 'machine' }));
  await keep(
    'client_grants',
    api.create('client_grants', { scopes: ['read'] }, { client: link('client', ids.get('clients') as string), api_resource: resource }),
  );
  await keep(
    'webhooks',
    api.create('webhooks', { name: 'One', url: 'https://hooks.example/', events: ['role.created'], status: 'disabled' }),
  );
  await keep(
    'connections',
    api.create('connections', {
      name: 'one',
      display_name: 'One',
      strategy: 'oidc',
      provider_client_id: 'x',
      issuer: 'https://idp.example',
      token_storage: true,
    }),
  );
  const server = { name: 'One', issuer: 'https://server.example', resources: [{ identifier: 'https://mcp.example/', scopes: ['read'] }] };
  await keep('external_servers', api.create('external_servers', server));
  const outbound = {
    client: link('client', ids.get('clients') as string),
    external_server: link('external_server', ids.get('external_servers') as string),
  };
  await keep('outbound_grants', api.create('outbound_grants', { external_client_id: 'one' }, outbound));
  const provided = {
    client: link('client', ids.get('clients') as string),
    connection: link('connection', ids.get('connections') as string),
  };
  await keep('provider_grants', api.create('provider_grants', { scopes: ['calendar'] }, provided));
  await keep('custom_domains', api.create('custom_domains', { domain: 'one.example.com' }));
  await keep('organizations', api.create('organizations', { name: 'one', display_name: 'One' }));
  const organization = link('organization', ids.get('organizations') as string);
  const member = { organization, user: link('user', ids.get('users') as string) };
  await keep('organization_memberships', api.create('organization_memberships', {}, member));
  await keep('organization_domains', api.create('organization_domains', { domain: 'one.example.com' }, { organization }));
  await keep('directories', api.create('directories', {}, { organization }));
  await keep('setup_links', api.create('setup_links', { parts: ['domains'] }, { organization }));
  const group = { organization_id: ids.get('organizations') as string, directory_id: ids.get('directories') as string };
  const stamps = { id: uuidv7(ctx.clock.now().getTime()), created_at: ctx.clock.now(), updated_at: ctx.clock.now() };
  ids.set('organization_groups', (await insertGroup(ctx.scope, { ...group, ...stamps, display_name: 'One', display_name_key: 'one' })).id);
  const [user_id, connection_id] = [ids.get('users') as string, ids.get('connections') as string];
  ids.set('identities', (await linkIdentity(ctx, user_id, { connection_id, subject: 'one', email: null, claims: {}, generation: 1 })).id);
  await giveConsent(ctx, { user_id, client_id: ids.get('clients') as string, scopes: ['openid'], resource: null });
  ids.set('consents', (await api.get('/consents')).body['data'][0].id);
  ids.set('event_types', 'user.created');
  ids.set('environments', (await api.get('/environments')).body['data'][0].id);
  ids.set('signing_keys', (await api.get('/signing_keys')).body['data'][0].id);
  ids.set('saml_certificates', (await api.create('saml_certificates', {}))['id']);
  ids.set('audit_logs', (await api.get('/audit_logs')).body['data'][0].id);
  const stream = { name: 'One', url: 'https://siem.example/', format: 'ecs', sources: ['audit_logs'], status: 'paused' };
  ids.set('user_imports', (await api.create('user_imports', { mode: 'create' }))['id']);
  ids.set('user_exports', (await api.create('user_exports', {}))['id']);
  ids.set('log_streams', (await api.create('log_streams', stream))['id']);
  ids.set('signal_streams', (await addSignalStream(ctx, ids.get('clients') as string)).id);
  const template = { name: 'register_code', locale: 'de', subject: 'Code', text: '{{code}}' };
  ids.set('mail_templates', (await api.create('mail_templates', template))['id']);
  ids.set('page_texts', (await api.create('page_texts', { key: 'login.title', locale: 'de', text: 'Willkommen' }))['id']);
  ids.set('logos', (await api.create('logos', { image: png().toString('base64') }))['id']);
  await numberEventsOnce(service.deps);
  ids.set('events', (await api.get('/events')).body['data'][0].id);
  ids.set('security_events', (await api.get('/security_events')).body['data'][0].id);
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
