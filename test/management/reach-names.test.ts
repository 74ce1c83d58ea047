// What other systems go by (a role's name, an external id), what keeps them working (a limit, a format, a set of keys), and one permission.
import { beforeAll, expect, test } from 'vitest';
import { Api, link, links, manage, managementClient, managementToken, type ApiAnswer, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let role: Document;
let cashier: Document;
let charging: Document;

const only = async (...permissions: string[]) =>
  new Api(service.url, await managementToken(service.url, managementClient, { scope: permissions.join(' ') }));
const change = (caller: Api, collection: string, { id }: Document, attributes: Document) => caller.update(collection, id, attributes);
const verdict = ({ status, body }: ApiAnswer) => [status, body['errors']?.[0]?.code, body['errors']?.[0]?.meta?.required];
const refused = (...required: string[]) => [403, 'scope_escalation', required];
const refund = 'https://payments.example#refund';

const api = shared(() => manage(service.url));

beforeAll(async () => {
  const payments = await api.create('api_resources', { identifier: 'https://payments.example', name: 'Payments' });
  const of = { api_resource: link('api_resource', payments['id']) };
  const permission = await api.create('permissions', { name: 'refund' }, of);
  role = await api.create('roles', { name: 'Cashier' }, { permissions: links('permission', permission['id']) });
  const told = { email: 'cashier@example.com', external_id: 'staff-7' };
  cashier = await api.create('users', told, { roles: links('role', role['id']) });
  charging = await api.create('clients', { name: 'Charging', application_type: 'machine', token_rate_limit: 5000 });
  await api.create('client_grants', { scopes: ['refund'] }, { client: link('client', charging['id']), ...of });
});

test('roles:write takes no name from a role that gives more, to give it to a default role of its own (attack 22.1046)', async () => {
  const caller = await only('roles:write');
  const make = () => caller.attempt('roles', { name: 'Cashier', is_default: true });
  expect(verdict(await change(caller, 'roles', role, { name: 'Former cashier' }))).toEqual(refused(refund));
  expect((await make()).status).toBe(409);
  expect((await change(caller, 'roles', role, { description: 'Takes money back.' })).status).toBe(200);
  const own = await caller.create('roles', { name: 'Reader' });
  expect((await change(caller, 'roles', own, { name: 'Readers' })).status).toBe(200);
  expect((await change(await only('roles:write', 'credentials:write'), 'roles', role, { name: 'Till' })).status).toBe(200);
});

test('roles:write makes no role of a name that there is in another spelling, for applications that read it in any case (attack 22.1046)', async () => {
  const caller = await only('roles:write');
  const make = (name: string) => caller.attempt('roles', { name, is_default: true });
  for (const name of ['till', 'TILL', 'tILL']) expect([name, (await make(name)).status]).toEqual([name, 409]);
  for (const name of ['Till ', '\u00a0Till', 'Ti\u200bll']) expect([name, (await make(name)).status]).toEqual([name, 422]);
  const own = await caller.create('roles', { name: 'Till clerk' });
  expect(verdict(await change(caller, 'roles', own, { name: 'tiLL' }))).toEqual([409, 'already_exists', undefined]);
  expect((await change(caller, 'roles', own, { name: 'TILL clerk' })).status).toBe(200);
});

test('users:write takes no external id from somebody who holds more, to bear it at other systems (attack 22.1047)', async () => {
  const caller = await only('users:write');
  const plain = await caller.create('users', { email: 'plain@example.com', external_id: 'staff-8' });
  expect(verdict(await change(caller, 'users', cashier, { external_id: null }))).toEqual(refused(refund));
  expect((await change(caller, 'users', plain, { external_id: 'staff-7' })).status).toBe(409);
  expect((await change(caller, 'users', plain, { external_id: 'staff-9' })).status).toBe(200);
});

test('log_streams:write alone changes no format, which would blind the receiver (attack 35.1048)', async () => {
  const attributes = { name: 'SIEM', url: 'https://siem.example/', format: 'native', sources: ['audit_logs'] };
  const stream = await api.create('log_streams', attributes);
  const caller = await only('log_streams:write');
  expect(verdict(await change(caller, 'log_streams', stream, { format: 'ocsf' }))).toEqual(refused('audit_logs:read'));
  const reader = await only('log_streams:write', 'audit_logs:read');
  expect((await change(reader, 'log_streams', stream, { format: 'ocsf' })).status).toBe(200);
});

test('clients:write alone lowers no limit of a client that reaches more (attack 22.1049)', async () => {
  const caller = await only('clients:write');
  for (const token_rate_limit of [1, null])
    expect(verdict(await change(caller, 'clients', charging, { token_rate_limit }))).toEqual(refused(refund));
  const holder = await only('clients:write', 'credentials:write');
  expect((await change(holder, 'clients', charging, { token_rate_limit: 6000 })).status).toBe(200);
});

test('clients:write alone gives no other name, link or logo to a client that reaches more, to speak on our pages for it (attack 22.1089)', async () => {
  const caller = await only('clients:write');
  const own = await caller.create('clients', { name: 'Own', redirect_uris: ['https://own.example/cb'] });
  const faces: Document[] = [
    { name: 'Lottery' }, { client_uri: 'https://evil.example' }, { logo_uri: 'https://evil.example/x.png' }, { policy_uri: 'https://evil.example' },
    { tos_uri: 'https://evil.example' }, { contacts: ['help@evil.example'] },
  ]; // prettier-ignore
  for (const face of faces) {
    expect([face, verdict(await change(caller, 'clients', charging, face))]).toEqual([face, refused(refund)]);
    expect((await change(caller, 'clients', own, face)).status).toBe(200);
  }
  expect((await change(caller, 'clients', charging, { description: 'Takes money.' })).status).toBe(200);
  const holder = await only('clients:write', 'credentials:write');
  expect((await change(holder, 'clients', charging, { name: 'Charging 2' })).status).toBe(200);
});

test('api_resources:write alone gives no other name to an API whose permissions it lacks: people read it before they agree (attack 22.1089)', async () => {
  const [payments] = (await api.get('/api_resources?filter[identifier]=https://payments.example')).body['data'] as [Document];
  const caller = await only('api_resources:write');
  expect(verdict(await change(caller, 'api_resources', payments, { name: 'Weather' }))).toEqual(refused(refund));
  const own = await caller.create('api_resources', { identifier: 'https://own.example', name: 'Own' });
  expect((await change(caller, 'api_resources', own, { name: 'Weather' })).status).toBe(200);
});

test('environments:write alone verifies no clients by their host, and keeps none out that were let in by it (attack 22.1090)', async () => {
  const [environment] = (await api.get('/environments')).body['data'] as [Document];
  const caller = await only('environments:write');
  const settings: Document[] = [
    { client_id_metadata_documents: 'open' }, { client_id_metadata_documents: 'allow_list' }, { client_id_metadata_hosts: ['evil.example'] },
  ]; // prettier-ignore
  for (const one of settings) {
    const { status, body } = await change(caller, 'environments', environment, one);
    expect([one, status, body['errors']?.[0]?.code]).toEqual([one, 403, 'scope_escalation']);
    expect((await change(api, 'environments', environment, one)).status).toBe(200);
  }
});

test('signing_keys:write rotates no further than ten published keys, which every verifier can read (attack 22.1051)', async () => {
  const caller = await only('signing_keys:write');
  const [environment] = (await api.get('/environments')).body['data'] as [Document];
  const signing = { signing_algorithms: ['RS256', 'ES256'] };
  expect((await change(api, 'environments', environment, signing)).status).toBe(200);
  const make = () => caller.attempt('signing_keys', { algorithm: 'ES256' });
  const published = async () => {
    const { keys } = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: { alg: string }[] };
    return keys.filter(({ alg }) => alg === 'ES256').length;
  };
  let last: ApiAnswer;
  do {
    last = await make();
    if (last.status === 201) expect((await caller.patch(`/signing_keys/${last.body['data'].id}/activate`)).status).toBe(200);
  } while (last.status === 201 && (await published()) < 20);
  expect([last.status, last.body['errors'][0].code, await published()]).toEqual([409, 'invalid_transition', 10]);
  const [previous] = (await api.get('/signing_keys?filter[status]=previous&filter[algorithm]=ES256')).body['data'] as Document[];
  expect((await api.patch(`/signing_keys/${previous?.['id']}/deactivate`)).status).toBe(200);
  expect((await make()).status).toBe(201);
});

test('users:write fills nobody’s mailbox with codes: ten in ten minutes for each person (attack 12.1052)', async () => {
  const caller = await only('users:write');
  const [one, other] = [
    await api.create('users', { email: 'flooded@example.com' }),
    await api.create('users', { email: 'other@example.com' }),
  ];
  const send = async ({ id }: Document) => (await caller.post(`/users/${id}/send_password_reset`)).status;
  for (let sent = 0; sent < 10; sent++) expect(await send(one)).toBe(202);
  expect(await send(one)).toBe(429);
  expect(await send(other)).toBe(202);
});
