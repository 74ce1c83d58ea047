// Configuration as code: what a document makes of an environment, and what is told of it.
import { beforeAll, expect, test } from 'vitest';
import { applied, apply, exported, plan, problemsOf, shopDocument, shopSecrets, told } from '../../support/configuration.js';
import { Api, link, manage, managementToken, secondEnvironment, startManagedService, type Document } from '../../support/management.js';
import { basic } from '../../support/oauth.js';
import { contextOf, shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

beforeAll(async () => {
  await api.create('webhooks', { name: 'everything', url: 'https://hooks.example/', events: ['*'], status: 'enabled' });
});

const countOf = async (table: string) => Number((await ctx.scope.knex(table).count('* as count').first())?.['count']);
const changeOf = (meta: Document, kind: string, key: string) =>
  (meta['changes'] as Document[]).find((one) => one['kind'] === kind && one['key'] === key)?.['attributes'] as Document | undefined;
const only = (kind: string, ...records: Document[]) => ({ version: 1, [kind]: records });

/** Whether the secret of the client is good at the token endpoint. */
async function signsIn(client_id: string, client_secret: string): Promise<boolean> {
  const answer = await fetch(`${service.url}/oauth/token`, {
    method: 'POST',
    headers: { authorization: basic({ id: client_id, client_secret }) },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'https://api.example' }),
  });
  return answer.status === 200;
}

test('a plan says what applying would do and leaves nothing; applying does it; applying again does nothing at all', async () => {
  const before = [await countOf('events'), await countOf('audit_logs'), await countOf('clients')];
  const planned = await plan(api, shopDocument, { secrets: shopSecrets });
  expect([planned.status, problemsOf(planned)]).toEqual([200, []]);
  expect(told(planned)).toEqual([
    'update environment default',
    'create api_resource https://api.example',
    'create permission https://api.example#orders:read',
    'create permission https://api.example#orders:write',
    'create authorization_detail_type https://api.example#order',
    'create role clerk',
    'create connection acme',
    'create trusted_issuer https://ci.example',
    'create client shop',
    'create client front',
    'create client wiki',
    'create client deploy',
    'create client_grant shop -> https://api.example',
    'create provider_grant shop -> acme',
    'create external_server https://auth.tools.example',
    'create outbound_grant shop -> https://auth.tools.example',
    'create outbound_grant shop -> https://auth.tools.example (clerk)',
    'create webhook erp',
    'create log_stream siem',
    'create mail_template register_code',
    'create mail_template register_code (de)',
    'create page_text login.title (en)',
    'create page_text login.title (de)',
  ]);
  expect(planned.body['meta'].summary).toEqual({ create: 22, update: 1, delete: 0 });
  expect([await countOf('events'), await countOf('audit_logs'), await countOf('clients')]).toEqual(before);
  const meta = await applied(api, shopDocument, { secrets: shopSecrets, expected_state: planned.body['meta'].state });
  expect(meta['changes']).toEqual(planned.body['meta'].changes);
  expect(changeOf(meta, 'environment', 'default')).toMatchObject({ branding: [{}, { name: 'Shop' }] });
  expect(changeOf(meta, 'client', 'shop')).toMatchObject({ client_secret: [null, '[secret]'], name: [null, 'Shop'] });
  expect(meta['secrets']).toEqual([]);
  expect(await signsIn('shop', shopSecrets['env:SHOP_SECRET'] as string)).toBe(true);
  const after = [await countOf('events'), await countOf('audit_logs')];
  expect(after[0]).toBeGreaterThan(before[0] as number);
  const again = await applied(api, shopDocument, { secrets: shopSecrets });
  expect([again['changes'], again['state']]).toEqual([[], meta['state']]);
  expect([await countOf('events'), await countOf('audit_logs')]).toEqual(after);
  const [entry] = (await api.get('/audit_logs?filter[action]=config.applied')).body['data'] as Document[];
  expect(entry?.['attributes'].changes).toMatchObject({ create: [null, 22], update: [null, 1], delete: [null, 0] });
  const [event] = (await api.get('/security_events?filter[event]=config.applied')).body['data'] as Document[];
  expect([event?.['id'], event?.['attributes'].severity]).toEqual([entry?.['id'], 'warning']);
});

test('export, apply elsewhere, export: equal, in another environment and at a fresh service', async () => {
  await applied(api, shopDocument, { secrets: shopSecrets });
  const document = await exported(api);
  const secrets = {
    'env:CLIENT_SHOP_SECRET': shopSecrets['env:SHOP_SECRET'] as string,
    'env:CONNECTION_ACME_SECRET': shopSecrets['env:ACME_SECRET'] as string,
    'env:CONNECTION_ACME_SIGNALS_TOKEN': shopSecrets['env:ACME_SIGNALS'] as string,
    'env:LOG_STREAM_SIEM_SECRET': shopSecrets['env:SIEM_SIGNING'] as string,
    'env:LOG_STREAM_SIEM_AUTHORIZATION': shopSecrets['env:SIEM_AUTHORIZATION'] as string,
    'env:WEBHOOK_ERP_SECRET': shopSecrets['file:/run/secrets/hook'] as string,
    'env:WEBHOOK_EVERYTHING_SECRET': `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
  };
  const { 'env:WEBHOOK_EVERYTHING_SECRET': _unknown, ...known } = secrets;
  expect(told(await plan(api, document, { secrets: known, prune: true }))).toEqual([]);
  const { api: elsewhere } = await secondEnvironment(api);
  await applied(elsewhere, document, { secrets, prune: true });
  expect(await exported(elsewhere)).toEqual(document);
  const fresh = await startManagedService();
  try {
    const third = await manage(fresh.url);
    await applied(third, document, { secrets });
    expect(await exported(third)).toEqual(document);
    expect(told(await plan(third, document, { secrets, prune: true }))).toEqual([]);
  } finally {
    await fresh.stop();
  }
});

test('what is absent is left alone; null is the default, or the absence of a value; lists are replaced as a whole', async () => {
  await applied(api, only('clients', { client_id: 'lists', name: 'Lists', application_type: 'web', redirect_uris: ['https://a.example/', 'https://b.example/'], id_token_lifetime: 120, contacts: ['ops@example.com'] })); // prettier-ignore
  const read = async () => (await api.get('/clients/lists')).body['data'].attributes as Document;
  const before = await read();
  await applied(api, only('clients', { client_id: 'lists', redirect_uris: ['https://c.example/'] }));
  expect(await read()).toMatchObject({ redirect_uris: ['https://c.example/'], id_token_lifetime: 120, contacts: ['ops@example.com'] });
  const change = await applied(api, only('clients', { client_id: 'lists', id_token_lifetime: null, contacts: null, grant_types: null }));
  expect(changeOf(change, 'client', 'lists')).toEqual({ id_token_lifetime: [120, null], contacts: [['ops@example.com'], []] });
  expect((await read())['grant_types']).toEqual(before['grant_types']);
  expect((await applied(api, only('clients', { client_id: 'lists', contacts: null })))['changes']).toEqual([]);
  await applied(api, { version: 1, environment: { otp_lifetime: 120, lockout_threshold: 7 } });
  const defaults = await applied(api, { version: 1, environment: { otp_lifetime: null } });
  expect(changeOf(defaults, 'environment', 'default')).toEqual({ otp_lifetime: [120, 600] });
  expect((await exported(api))['environment'].lockout_threshold).toBe(7);
  await applied(api, only('roles', { name: 'plain', is_default: true }));
  const plain = await applied(api, only('roles', { name: 'plain', is_default: null }));
  expect(changeOf(plain, 'role', 'plain')).toEqual({ is_default: [true, false] });
  expect((await api.get('/roles?filter[search]=x')).body['data']).toEqual([]);
});

test('a signing algorithm and who has it come and go in one document', async () => {
  const document = (algorithms: string[], alg: string) => ({
    version: 1,
    environment: { signing_algorithms: algorithms },
    api_resources: [{ identifier: 'urn:example:signed', name: 'Signed', signing_alg: alg }],
  });
  const coming = await applied(api, document(['RS256', 'ES256'], 'ES256'));
  expect(changeOf(coming, 'environment', 'default')).toEqual({ signing_algorithms: [['RS256'], ['RS256', 'ES256']] });
  const going = await applied(api, document(['RS256'], 'RS256'));
  expect(changeOf(going, 'environment', 'default')).toEqual({ signing_algorithms: [['RS256', 'ES256'], ['RS256']] });
  expect(changeOf(going, 'api_resource', 'urn:example:signed')).toEqual({ signing_alg: ['ES256', 'RS256'] });
  expect((await applied(api, document(['RS256'], 'RS256')))['changes']).toEqual([]);
  const stuck = await apply(api, { version: 1, environment: { signing_algorithms: ['ES256'] } });
  expect(problemsOf(stuck)[0]).toContain('/meta/document/environment/signing_algorithms');
});

test('what a grant says of exchanged tokens is described as well: exported, changed, and set back by null', async () => {
  const grant = { api_resource: 'urn:example:exchanged', subject_type: 'user', scopes: ['a'], token_exchange: 'delegation', subject_audiences: ['urn:example:exchanged'], assertions: false }; // prettier-ignore
  const document = (more: Document = {}) => ({
    version: 1,
    api_resources: [{ identifier: 'urn:example:exchanged', name: 'Exchanged', permissions: [{ name: 'a' }] }],
    clients: [{ client_id: 'exchanging', name: 'E', application_type: 'machine', grants: [{ ...grant, ...more }] }],
  });
  await applied(api, document());
  const own = ((await exported(api))['clients'] as Document[]).find((one) => one['client_id'] === 'exchanging');
  expect(own?.['grants']).toEqual([grant]);
  expect((await applied(api, document()))['changes']).toEqual([]);
  const back = await applied(api, document({ token_exchange: null, subject_audiences: null }));
  expect(changeOf(back, 'client_grant', 'exchanging -> urn:example:exchanged (user)')).toEqual({
    token_exchange: ['delegation', 'none'],
    subject_audiences: [['urn:example:exchanged'], []],
  });
  expect((await api.get('/api_resources?filter[search]=urn:x:')).body['data']).toEqual([]);
});

test('a stream that moves to another receiver is given its authorization anew, or not at all', async () => {
  await applied(api, shopDocument, { secrets: shopSecrets });
  const [stream] = shopDocument['log_streams'] as Document[];
  const moved = only('log_streams', { ...stream, url: 'https://other.example/in' });
  expect(problemsOf(await apply(api, moved))).toEqual(['secret_required /meta/document/log_streams/0']);
  const meta = await applied(api, moved, { secrets: shopSecrets });
  expect(changeOf(meta, 'log_stream', 'siem')).toMatchObject({ authorization: ['[secret]', '[secret]'] });
  await applied(api, only('log_streams', { ...stream, authorization: null }), { secrets: shopSecrets });
  await applied(api, shopDocument, { secrets: shopSecrets });
});

test('a connection that moves to another provider is given its secret anew, or not at all (attack 22.800)', async () => {
  await applied(api, shopDocument, { secrets: shopSecrets });
  const [connection] = shopDocument['connections'] as Document[];
  const moved = only('connections', { ...connection, issuer: 'https://other.example' });
  expect(problemsOf(await apply(api, moved))).toEqual(['secret_required /meta/document/connections/0']);
  const { provider_client_secret: _left, ...silent } = connection as Document;
  expect(problemsOf(await apply(api, only('connections', { ...silent, issuer: 'https://other.example' })))).toEqual([
    'secret_required /meta/document/connections/0',
  ]);
  const meta = await applied(api, moved, { secrets: shopSecrets });
  expect(changeOf(meta, 'connection', String(connection?.['name']))).toMatchObject({ provider_client_secret: ['[secret]', '[secret]'] });
  await applied(api, shopDocument, { secrets: shopSecrets });
});

test('clients that came by themselves are in no export, are not pruned, and a document can not take their name', async () => {
  const environment = (await api.get('/environments?filter[slug]=default')).body['data'][0].id as string;
  const open = { dynamic_registration_enabled: true };
  await api.update('environments', environment, open);
  const registered = await fetch(`${service.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'By itself', redirect_uris: ['https://itself.example/cb'] }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  expect(registered.status).toBe(201);
  expect(((await exported(api))['clients'] as Document[]).map((one) => one['client_id'])).not.toContain(client_id);
  const pruned = await plan(api, { version: 1, clients: [] }, { prune: true });
  expect(told(pruned).filter((one) => one.includes(client_id))).toEqual([]);
  const taken = await apply(api, only('clients', { client_id, name: 'Mine', redirect_uris: ['https://mine.example/cb'] }));
  expect(problemsOf(taken)).toEqual(['already_exists /meta/document/clients/0']);
});

test('secrets are changed, taken away and compared: the given ones of others as well as ours', async () => {
  await applied(api, shopDocument, { secrets: shopSecrets });
  const changed = {
    ...shopSecrets,
    'env:SIEM_AUTHORIZATION': 'Bearer another',
    'file:/run/secrets/hook': `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
  };
  const meta = await applied(api, shopDocument, { secrets: changed });
  expect((meta['changes'] as Document[]).map(({ key, attributes }) => [key, Object.keys(attributes as Document).filter((name) => /sec|auth/.test(name) && name !== 'secret_hint')])).toEqual([
    ['erp', ['signing_secret']],
    ['siem', ['authorization']],
  ]); // prettier-ignore
  const stream = (await api.get('/log_streams')).body['data'][0] as Document;
  expect(stream['attributes'].has_authorization).toBe(true);
  const away = await applied(api, only('log_streams', { name: 'siem', authorization: null }));
  expect(changeOf(away, 'log_stream', 'siem')).toMatchObject({ authorization: ['[secret]', null] });
  expect((await applied(api, only('log_streams', { name: 'siem', authorization: null })))['changes']).toEqual([]);
  await applied(api, shopDocument, { secrets: shopSecrets });
});

test('deletion takes prune, and happens only in collections that the document has', async () => {
  const document = {
    version: 1,
    api_resources: [{ identifier: 'urn:example:pruned', name: 'Pruned', permissions: [{ name: 'one' }, { name: 'two' }] }],
    roles: [{ name: 'going' }],
    clients: [{ client_id: 'going', name: 'Going', application_type: 'machine', grants: [{ api_resource: 'urn:example:pruned', scopes: ['one', 'two'] }] }], // prettier-ignore
  };
  await applied(api, document);
  const less = { version: 1, api_resources: [{ identifier: 'urn:example:pruned', permissions: [{ name: 'two' }] }] };
  expect((await applied(api, less))['changes']).toEqual([]);
  const names = ((await exported(api))['clients'] as Document[]).map((one) => ({ client_id: one['client_id'] as string }));
  const without = { version: 1, clients: names.filter((one) => one.client_id !== 'going') };
  const deleted = await applied(api, without, { prune: true });
  expect((deleted['changes'] as Document[]).map(({ action, key }) => `${action} ${key}`)).toEqual(['delete going']);
  expect((await api.get('/clients/going')).status).toBe(404);
  expect(((await exported(api))['roles'] as Document[]).map((one) => one['name'])).toContain('going');
  const inner = { version: 1, clients: [{ client_id: 'coming', name: 'Coming', application_type: 'machine', grants: [] }] };
  await applied(api, { ...inner, clients: [{ ...inner.clients[0], grants: [{ api_resource: 'urn:example:pruned', scopes: ['two'] }] }] });
  const role = await api.create('roles', { name: 'held' });
  await api.create('users', { email: 'holder@example.com' }, { roles: { data: [link('role', role['id']).data] } });
  const refused = await apply(api, { version: 1, roles: [] }, { prune: true });
  expect([refused.status, problemsOf(refused)]).toEqual([422, ['role_in_use /meta/document/roles']]);
});

test('the client that applies a document is never deleted by it, and keeps what it may do (attack 33.690)', async () => {
  const management = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0] as Document;
  const { client_secret } = (await api.create('clients', { name: 'Pipeline', application_type: 'machine' }))['attributes'];
  const id = (await api.get('/clients?filter[search]=Pipeline')).body['data'][0].id as string;
  const scopes = ['environments', 'clients', 'client_grants', 'connections', 'api_resources'].flatMap((one) => [
    `${one}:read`,
    `${one}:write`,
  ]);
  await api.create('client_grants', { scopes }, { client: link('client', id), api_resource: link('api_resource', management['id']) });
  const pipeline = new Api(service.url, await managementToken(service.url, { id, client_secret }));
  const all = ((await exported(api))['clients'] as Document[]).map((one) => ({ client_id: one['client_id'] as string }));
  const meta = await applied(pipeline, { version: 1, clients: all.filter((one) => one.client_id !== id) }, { prune: true });
  expect(meta['changes']).toEqual([]);
  expect((meta['warnings'] as Document[]).map((one) => one['code'])).toEqual(['acting_client_kept']);
  const emptied = await applied(pipeline, { version: 1, clients: [...all.filter((one) => one.client_id !== id), { client_id: id, grants: [] }] }, { prune: true }); // prettier-ignore
  expect([emptied['changes'], emptied['warnings'].length]).toEqual([[], 1]);
  expect((await pipeline.get('/clients')).status).toBe(200);
});

test('another state than the expected one is refused, whoever changed it; the right one is taken', async () => {
  const { state } = (await api.get('/config')).body['meta'] as Document;
  await api.create('roles', { name: 'meanwhile' });
  const document = only('roles', { name: 'expected' });
  const refused = await apply(api, document, { expected_state: state });
  expect([refused.status, problemsOf(refused)]).toEqual([409, ['state_changed /meta/expected_state']]);
  const now = refused.body['errors'][0].meta.state as string;
  const done = await applied(api, document, { expected_state: now });
  expect(done['state']).not.toBe(now);
  expect((await api.get('/config')).body['meta'].state).toBe(done['state']);
});

test('two documents at once are applied one after the other', async () => {
  const names = Array.from({ length: 6 }, (_, index) => `parallel-${index}`);
  const { state } = (await api.get('/config')).body['meta'] as Document;
  const answers = await Promise.all(names.map((name) => apply(api, only('roles', { name }), { expected_state: state })));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
});
