// Configuration as code: what is refused, where it says so, and that nothing of a refused document stays.
import { beforeAll, expect, test } from 'vitest';
import { addUser } from '../../support/data.js';
import { applied, apply, plan, problemsOf, shopDocument, shopSecrets, told } from '../../support/configuration.js';
import { Api, manage, managementClient, managementToken, secondEnvironment, type Document } from '../../support/management.js';
import { publishedDocument } from '../../support/openapi.js';
import { contextOf, shared, sharedManagedService } from '../../support/shared-service.js';
import { stateOf } from '../../support/stored-state.js';
import { processorMs } from '../../support/processor-time.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

beforeAll(async () => {
  await applied(api, shopDocument, { secrets: shopSecrets });
});

/** A caller who holds these permissions alone. */
const holding = async (...scopes: string[]) =>
  new Api(service.url, await managementToken(service.url, managementClient, { scope: scopes.join(' ') }));
const machine = (client_id: string, more: Document = {}): Document => ({ client_id, name: 'M', application_type: 'machine', ...more });

/** What a document and what comes with it are refused for; plan and apply say the same, and nothing is left. */
async function refusedFor(document: unknown, secrets: Record<string, string> = {}): Promise<string[]> {
  const before = await stateOf(ctx);
  const [planned, done] = [await plan(api, document, { secrets }), await apply(api, document, { secrets })];
  expect(done.status).toBe(422);
  expect([planned.status, problemsOf(planned)]).toEqual([done.status, problemsOf(done)]);
  expect(await stateOf(ctx)).toBe(before);
  return problemsOf(done);
}

const at = '/meta/document';

test('unknown members are refused with the nearest name, wherever they stand, and whatever every object inherits (attack 33.691)', async () => {
  const document = {
    version: 1,
    client: [],
    environment: { session_lifetim: 1, constructor: 1 },
    clients: [machine('x', { redirect_uri: [], toString: 1 })],
    roles: [{ name: 'x', permissions: [{ api_resource: 'management', names: [], valueOf: 1 }] }],
  };
  const answer = await apply(api, document);
  expect(problemsOf(answer)).toEqual([
    `unknown_member ${at}/environment/session_lifetim`,
    `unknown_member ${at}/environment/constructor`,
    `unknown_member ${at}/client`,
    `unknown_member ${at}/roles/0/permissions/0/valueOf`,
    `unknown_member ${at}/clients/0/redirect_uri`,
    `unknown_member ${at}/clients/0/toString`,
  ]);
  const nearest = (answer.body['errors'] as Document[]).map(({ meta }) => (meta as Document | undefined)?.['nearest']);
  expect(nearest).toEqual(['session_lifetime', undefined, 'clients', undefined, 'redirect_uris', undefined]);
  expect(answer.body['errors'][0].detail).toContain('Did you mean "session_lifetime"?');
  const polluted = await api.request('POST', '/config/plan', {
    raw: '{"meta":{"document":{"version":1,"roles":[{"name":"x","__proto__":{"is_default":true}}]}}}',
  });
  expect([polluted.status, polluted.body['errors'][0].code]).toEqual([400, 'malformed_document']);
  const secrets = await apply(api, { version: 1, clients: [machine('x', { client_secret: { env: 'toString' } })] }, { secrets: {} });
  expect(problemsOf(secrets)).toEqual([`secret_missing ${at}/clients/0/client_secret`]);
});

test('all problems are told at once: of the form, of the rules, of names; places are those of the document', async () => {
  const found = await refusedFor({
    version: 1,
    environment: { session_lifetime: 'long' },
    api_resources: [{ identifier: 'not a uri', name: 'X' }, { identifier: 'urn:example:new' }],
    roles: [{ name: 'x', permissions: [{ api_resource: 'https://api.example', names: ['orders:read', 'nope'] }, { api_resource: 'urn:none', names: ['a'] }] }], // prettier-ignore
    clients: [
      { client_id: 'web', name: 'Web', redirect_uris: ['https://ok.example/', 'http://not-ok.example/'] },
      machine('m', { application_type: 'machine', grants: [{ api_resource: 'urn:gone', scopes: [] }, { api_resource: 'https://api.example', scopes: ['zip'] }] }), // prettier-ignore
      machine('n', { connections: ['acme', 'none'] }),
    ],
    webhooks: [{ name: 'bad', url: 'ftp://x', events: ['user.created', 'user.nope'] }],
  });
  expect(found.sort()).toEqual(
    [
      `invalid_type ${at}/environment/session_lifetime`,
      `invalid_identifier ${at}/api_resources/0/identifier`,
      `required ${at}/api_resources/1`,
      `related_not_found ${at}/roles/0/permissions/0/names/1`,
      `related_not_found ${at}/roles/0/permissions/1/api_resource`,
      `invalid_redirect_uri ${at}/clients/0/redirect_uris/1`,
      `related_not_found ${at}/clients/1/grants/0/api_resource`,
      `unknown_scope ${at}/clients/1/grants/1/scopes/0`,
      `related_not_found ${at}/clients/2/connections/1`,
      `url_scheme ${at}/webhooks/0/url`,
      `unknown_event_type ${at}/webhooks/0/events/1`,
    ].sort(),
  );
});

test('what names a record that is refused itself is not told a second time', async () => {
  const grants = [{ api_resource: 'urn:example:bad', scopes: ['read'] }];
  const found = await refusedFor({
    version: 1,
    api_resources: [{ identifier: 'urn:example:bad', name: 'Bad', token_format: 'xml', permissions: [{ name: 'read' }] }],
    roles: [{ name: 'x', permissions: [{ api_resource: 'urn:example:bad', names: ['read'] }] }],
    clients: [machine('m', { grants })],
  });
  expect(found).toEqual([`invalid_value ${at}/api_resources/0/token_format`]);
});

test('a secret in a document is refused and never repeated: not in an answer, a plan, an export, the audit log, the log or the tables (attack 33.692)', async () => {
  const secret = 'hunter2-and-thirty-more-characters-of-it';
  const answer = await apply(api, {
    version: 1,
    connections: [{ name: 'acme', provider_client_secret: secret }],
    clients: [machine('leaky', { client_secret: secret }), machine('numbered', { client_secret: { env: 'X', value: secret } })],
    webhooks: [{ name: 'erp', signing_secret: [secret] }],
  });
  expect([answer.status, problemsOf(answer)]).toEqual([
    422,
    [
      `secret_in_document ${at}/connections/0/provider_client_secret`,
      `secret_in_document ${at}/clients/0/client_secret`,
      `secret_in_document ${at}/clients/1/client_secret`,
      `secret_in_document ${at}/webhooks/0/signing_secret`,
    ],
  ]);
  const given = { ...shopSecrets, 'env:SHOP_SECRET': `${secret}-new` };
  const planned = await plan(api, shopDocument, { secrets: given });
  expect(planned.body['meta'].changes).toEqual([
    { action: 'update', kind: 'client', key: 'shop', attributes: expect.objectContaining({ client_secret: ['[secret]', '[secret]'] }) },
  ]);
  const done = await apply(api, shopDocument, { secrets: given });
  const everywhere = [
    answer.text,
    planned.text,
    done.text,
    (await api.get('/config')).text,
    (await api.get('/config/drift')).text,
    (await api.get('/audit_logs?page[size]=100')).text,
    JSON.stringify(await ctx.scope.knex('configurations').select()),
    service.log.join(''),
  ].join('\n');
  for (const value of Object.values(given)) expect(everywhere.includes(value)).toBe(false);
  expect(everywhere).not.toContain('hunter2');
});

test('a value that is needed and absent, too short, or of the wrong form is refused; one that is there already need not come', async () => {
  expect(await refusedFor({ version: 1, clients: [machine('new', { client_secret: { env: 'NONE' } })] })).toEqual([
    `secret_missing ${at}/clients/0/client_secret`,
  ]);
  const short = { version: 1, clients: [machine('new', { client_secret: { env: 'SHORT' } })] };
  expect(await refusedFor(short, { 'env:SHORT': 'x'.repeat(31) })).toEqual([`too_short ${at}/clients/0/client_secret`]);
  const hook = { version: 1, webhooks: [{ name: 'n', url: 'https://x.example/', events: ['*'], signing_secret: { file: 'x' } }] };
  expect(await refusedFor(hook, { 'file:x': 'not a signing secret, though it is long enough' })).toEqual([
    `invalid_format ${at}/webhooks/0/signing_secret`,
  ]);
  const spa = { version: 1, clients: [{ client_id: 'spa', name: 'S', application_type: 'spa', redirect_uris: ['https://s.example/'], client_secret: { env: 'S' } }] }; // prettier-ignore
  expect(await refusedFor(spa, { 'env:S': 'x'.repeat(40) })).toEqual([`public_client ${at}/clients/0/client_secret`]);
  const meta = await applied(api, shopDocument);
  expect(meta['changes']).toEqual([]);
  expect((meta['warnings'] as Document[]).map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
    `secret_not_compared ${at}/connections/0/provider_client_secret`,
    `secret_not_compared ${at}/connections/0/signals_token`,
    `secret_not_compared ${at}/clients/0/client_secret`,
    `secret_not_compared ${at}/webhooks/0/signing_secret`,
    `secret_not_compared ${at}/log_streams/0/signing_secret`,
    `secret_not_compared ${at}/log_streams/0/authorization`,
  ]);
});

test('a client may have no id that is a user’s, whose tokens it could be taken for, however it is written, and none that no address can hold (attack 33.794)', async () => {
  const { id } = await addUser(ctx);
  for (const client_id of [id, id.toUpperCase(), `{${id}}`, `urn:uuid:${id}`, id.replaceAll('-', ''), id.replace(/^(....)/, '$1-')])
    expect(await refusedFor({ version: 1, clients: [machine(client_id)] })).toEqual([`invalid_value ${at}/clients/0`]);
  expect(await refusedFor({ version: 1, clients: [machine('.'), machine('..')] })).toEqual([
    `invalid_format ${at}/clients/0/client_id`,
    `invalid_format ${at}/clients/1/client_id`,
  ]);
  const odd = '019a0000-0000-7000-8000-000000000000';
  await applied(api, { version: 1, clients: [machine(odd), machine('...'), machine('a/../b')] });
  expect((await api.get(`/clients/${encodeURIComponent('a/../b')}`)).body['data'].id).toBe('a/../b');
});

test('null where an attribute has to be is refused, as is a name that is left out', async () => {
  expect(await refusedFor({ version: 1, clients: [{ client_id: 'shop', name: null }] })).toEqual([`invalid_type ${at}/clients/0/name`]);
  expect(await refusedFor({ version: 1, clients: [{ client_id: 'nameless', application_type: 'machine' }] })).toEqual([`required ${at}/clients/0`]); // prettier-ignore
});

test('secrets that nobody gives are made, named by a plan, and shown once by the answer that makes them', async () => {
  const document = { version: 1, clients: [machine('made')], webhooks: [{ name: 'made', url: 'https://x.example/', events: ['*'] }] };
  const planned = await plan(api, document);
  expect(planned.body['meta'].secrets).toEqual([
    { kind: 'client', key: 'made', attribute: 'client_secret' },
    { kind: 'webhook', key: 'made', attribute: 'signing_secret' },
  ]);
  const done = await apply(api, document);
  expect(done.headers.get('cache-control')).toBe('no-store');
  const [client, webhook] = done.body['meta'].secrets as Document[];
  expect([client?.['value'], webhook?.['value']]).toEqual([expect.stringMatching(/^cs_.{40}/), expect.stringMatching(/^whsec_/)]);
  expect(done.body['meta'].changes[0].attributes.client_secret).toEqual([null, '[secret]']);
  expect((await apply(api, document)).body['meta'].secrets).toEqual([]);
});

test('whoever may read secrets’ records but not write them learns nothing of a secret by guessing it (attack 33.795)', async () => {
  const kinds = ['clients', 'client_grants', 'connections', 'provider_grants', 'webhooks', 'log_streams', 'api_resources'];
  const reader = await holding('environments:read', ...kinds.map((one) => `${one}:read`));
  const document = {
    version: 1,
    connections: shopDocument['connections'],
    webhooks: shopDocument['webhooks'],
    log_streams: shopDocument['log_streams'],
    clients: [{ client_id: 'shop', client_secret: { env: 'SHOP_SECRET' } }],
  };
  const guesses = Object.fromEntries(Object.entries(shopSecrets).map(([name, value]) => [name, value.replace(/.(?==?$)/, '0')]));
  const answers = [];
  for (const secrets of [shopSecrets, guesses]) {
    const { status, body } = await plan(reader, document, { secrets });
    answers.push([status, told({ body } as never), ((body['meta']?.warnings ?? []) as Document[]).map(({ code, pointer }) => `${code} ${pointer}`)]); // prettier-ignore
  }
  expect(answers[0]).toEqual(answers[1]);
  // Of each secret, and that the document isn’t kept.
  expect(answers[0]?.[2]).toHaveLength(7);
});

test('two of one name are refused: in the document, and two webhooks of one name that are there', async () => {
  const document = {
    version: 1,
    roles: [{ name: 'twice' }, { name: 'twice' }],
    api_resources: [{ identifier: 'urn:x:1', name: 'X', permissions: [{ name: 'a' }, { name: 'a' }] }],
    webhooks: [
      { name: 'twice', url: 'https://x.example/', events: ['*'] },
      { name: 'twice', url: 'https://y.example/', events: ['*'] },
    ],
  };
  expect(await refusedFor(document)).toEqual([
    `duplicate_value ${at}/api_resources/0/permissions/1/name`,
    `duplicate_value ${at}/roles/1/name`,
    `ambiguous_name ${at}/webhooks/1/name`,
  ]);
  for (const url of ['https://a.example/', 'https://b.example/'])
    await api.create('webhooks', { name: 'same', url, events: ['role.created'] });
  const ambiguous = { version: 1, webhooks: [{ name: 'same', url: 'https://c.example/' }] };
  expect(await refusedFor(ambiguous)).toEqual([`ambiguous_name ${at}/webhooks/0/name`]);
});

test('what comes with the service is nobody’s to describe; what never changes is told so', async () => {
  const found = await refusedFor({
    version: 1,
    api_resources: [{ identifier: 'management', name: 'Mine' }],
    roles: [{ name: 'administrator', description: 'x' }],
    clients: [{ client_id: managementClient.id, name: 'x' }],
  });
  expect(found).toEqual(
    expect.arrayContaining([
      `system_record ${at}/api_resources/0/identifier`,
      `system_record ${at}/roles/0/name`,
      `system_record ${at}/clients/0/client_id`,
    ]),
  );
  const strategy = await apply(api, { version: 1, connections: [{ name: 'acme', strategy: 'google' }] });
  expect(problemsOf(strategy)).toContain(`attribute_read_only ${at}/connections/0/strategy`);
  const deleted = await plan(api, { version: 1, api_resources: [], roles: [], clients: [] }, { prune: true });
  expect(told(deleted).filter((one) => /management|administrator/.test(one))).toEqual([]);
});

test('a narrow permission applies no more than it may: neither a collection, nor a permission that it does not hold (attack 33.693)', async () => {
  const reading = ['environments:read', 'roles:read', 'permissions:read', 'api_resources:read'];
  const role = (...names: string[]) => ({ version: 1, roles: [{ name: 'narrow', permissions: [{ api_resource: 'management', names }] }] });
  const unread = await apply(await holding('environments:read', 'roles:write'), role('roles:read'));
  expect([unread.status, unread.body['errors'][0].meta.required]).toEqual([
    403,
    expect.arrayContaining(['roles:read', 'permissions:read']),
  ]);
  const unwritten = await apply(await holding(...reading), role('roles:read'));
  expect([unwritten.status, problemsOf(unwritten)]).toEqual([403, [`insufficient_scope ${at}/roles/0`]]);
  const narrow = await holding(...reading, 'roles:write');
  const raised = await apply(narrow, role('users:write'));
  expect([raised.status, problemsOf(raised)]).toEqual([403, [`scope_escalation ${at}/roles/0/permissions`]]);
  expect(raised.headers.get('www-authenticate')).toContain('scope="users:write"');
  expect((await apply(narrow, { version: 1, environment: { session_lifetime: 600 } })).status).toBe(403);
  expect((await apply(narrow, role('roles:read'))).status).toBe(200);
  const taken = await apply(narrow, { version: 1, roles: [{ name: 'clerk', permissions: [] }] });
  expect([taken.status, problemsOf(taken)]).toEqual([403, [`scope_escalation ${at}/roles/0/permissions`]]);
  const pruned = await apply(narrow, { version: 1, roles: [{ name: 'narrow' }] }, { prune: true });
  expect([pruned.status, problemsOf(pruned)]).toEqual([403, [`scope_escalation ${at}/roles`]]);
  const noted = (await api.get('/audit_logs?filter[action]=config.apply_config&filter[outcome]=denied')).body['data'] as Document[];
  expect(noted.map(({ attributes }) => attributes.reason)).toEqual(expect.arrayContaining(['scope_escalation', 'insufficient_scope']));
});

test('the permissions for what a document describes are asked before it is validated: whoever lacks one learns nothing of what is wrong (attack 18.1082)', async () => {
  const hostile = { name: 'x'.repeat(5_000), nmae: 1, permissions: ' '.repeat(10_000) };
  const collections: [name: string, records: unknown, lacks: string][] = [
    ['clients', [hostile, hostile, { client_id: 7, federated_credentials: [0] }], 'clients:read'],
    ['api_resources', [hostile, { identifier: 'https://h.example', permissions: [0, hostile] }], 'permissions:read'],
    ['roles', Array.from({ length: 1_000 }, () => hostile.nmae), 'roles:read'],
    ['mail_templates', [{ name: 'register_code', locale: 'de', html: '{{#a}}'.repeat(5_000) }], 'mail_templates:read'],
  ];
  const narrow = await holding('environments:read', 'webhooks:read', 'webhooks:write');
  for (const [name, records, lacks] of collections)
    for (const ask of [plan, apply]) {
      const document = { version: 'none', [name]: records, webhooks: [hostile] };
      const refused = await ask(narrow, document);
      const [error] = refused.body['errors'] as Document[];
      expect([name, refused.status, problemsOf(refused).length, error?.['code']]).toEqual([name, 403, 1, 'insufficient_scope']);
      expect(error?.['meta'].required).toContain(lacks);
      expect([name, (await ask(api, document)).status]).toEqual([name, 422]);
    }
  expect((await plan(narrow, { version: 'none', webhooks: [hostile] })).status).toBe(422);
});

test('a document reaches its own environment alone, whatever it names (attack 33.694)', async () => {
  const { api: other } = await secondEnvironment(api);
  const named = await apply(other, { version: 1, roles: [{ name: 'x', permissions: [{ api_resource: 'https://api.example', names: ['orders:read'] }] }] }); // prettier-ignore
  expect(problemsOf(named)).toEqual([`related_not_found ${at}/roles/0/permissions/0/api_resource`]);
  const own = await applied(other, { version: 1, clients: [machine('shop')] });
  expect((own['changes'] as Document[])[0]?.['action']).toBe('create');
  await applied(other, { version: 1, environment: { otp_lifetime: 300 }, clients: [] }, { prune: true });
  expect((await api.get('/clients/shop')).status).toBe(200);
  expect((await api.get('/config')).body['meta'].document.environment.otp_lifetime).toBe(600);
  expect(told(await plan(other, { version: 1, environment: { slug: 'x' } }))).toEqual([]);
});

test('a document of more than 1 MiB, or of more than 20,000 values, is refused before it is read (attack 33.695)', async () => {
  const description = 'x'.repeat(1000);
  const roles = Array.from({ length: 1100 }, (_, index) => ({ name: `role ${index}`, description }));
  const answer = await apply(api, { version: 1, roles });
  expect([answer.status, answer.body['errors'][0].detail]).toEqual([
    413,
    'the body is larger than 1 MiB, the most that this address takes',
  ]);
  const many = await apply(api, { version: 1, roles: Array.from({ length: 20_000 }, () => 0) });
  expect([many.status, many.body['errors'][0].code]).toEqual([413, 'payload_too_large']);
});

test('a document that is wrong in ten thousand places is answered like any other, with twenty of them (attack 33.696)', async () => {
  const many = (make: (index: number) => unknown) => Array.from({ length: 3_000 }, (_, index) => make(index));
  const roles = many((index) => (index < 2000 ? { name: index } : { nmae: 'x' }));
  const environment = Object.fromEntries(many((index) => [`session_lifetime_${index}`, 1]) as [string, number][]);
  const ms = await processorMs(async () => {
    const answer = await apply(api, { version: 1, roles, environment });
    expect([answer.status, answer.body['errors'].length]).toEqual([422, 20]);
  });
  expect(ms).toBeLessThan(15_000);
});

test('answers are what the OpenAPI document says', async () => {
  await apply(api, { version: 2 });
  await api.get('/config/drift');
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]);
});
