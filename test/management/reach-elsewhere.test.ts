// Permissions of everybody's own APIs are reach too: whoever holds `refund` at the payments API is taken over by nobody who doesn't.
import { beforeAll, describe, expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { addClient, addGrant, addUser, password, type TestClient } from '../support/data.js';
import { Api, link, links, manage, managementClient, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { allowCode, redeem } from '../support/oauth.js';
import { observeApp } from '../support/observed-app.js';
import { sampleKeys } from '../support/reach/interesting.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const payments = 'https://payments.example';
const refund = `${payments}#refund`;
const redirect_uris = ['https://shop.example/cb'];
let resource: Document;
let permission: Document;
let role: Document;
let charging: Document;

const api = shared(() => manage(service.url));

beforeAll(async () => {
  await service.deps.db.knex('environments').update({ dynamic_registration_enabled: true, client_registration_policy: 'open' });
  service.deps.cache.clear();
  resource = await api.create('api_resources', { identifier: payments, name: 'Payments', required_acr: '2' });
  permission = await api.create('permissions', { name: 'refund' }, { api_resource: link('api_resource', resource['id']) });
  role = await api.create('roles', { name: 'Cashier' }, { permissions: links('permission', permission['id']) });
  charging = await granted({ name: 'Charging', application_type: 'machine' });
});

/** A client that may refund, for itself unless told otherwise. */
async function granted(attributes: Document, subject_type = 'client'): Promise<Document> {
  const client = await api.create('clients', attributes);
  await api.create('client_grants', { scopes: ['refund'], subject_type }, grantFor(client));
  return client;
}
const grantFor = (client: Document) => ({ client: link('client', client['id']), api_resource: link('api_resource', resource['id']) });

/** Machines that administer with all that their token says; `cashier` may also refund for itself. */
const machines = shared(async () => {
  const made = await Promise.all(['plain', 'cashier'].map((id) => addClient(ctx, { id, application_type: 'machine', grant_types: ['client_credentials'], first_party: false }))); // prettier-ignore
  const system = await service.deps.db.knex('api_resources').where({ is_system: true, environment_id: ctx.environment.id }).first();
  for (const one of made) await addGrant(ctx, one, system, [...managementPermissions]);
  const own = await service.deps.db.knex('api_resources').where({ identifier: payments }).first();
  await addGrant(ctx, made[1] as TestClient, own, ['refund']);
  return { plain: made[0] as TestClient, cashier: made[1] as TestClient };
});
const callerOf = async (client: { id: string; client_secret: string }, ...permissions: string[]) =>
  new Api(service.url, await managementToken(service.url, client, { scope: permissions.join(' ') }));
const only = (...permissions: string[]) => callerOf(managementClient, ...permissions);
const change = (caller: Api, collection: string, record: Document, attributes: Document) =>
  caller.update(collection, record['id'], attributes);

type Sent = Promise<{ status: number; body: Document; text: string }>;
async function expectRefused(sent: Sent, ...required: string[]): Promise<void> {
  const { status, body } = await sent;
  const error = body['errors']?.[0];
  expect([status, error?.code, error?.meta?.required]).toEqual([403, 'scope_escalation', required]);
}

describe('clients', () => {
  test('clients:write without refund rotates no secret of a payments client; refund of one’s own, or credentials:write, does (attack 22.960)', async () => {
    const rotate = (caller: Api) => caller.patch(`/clients/${charging['id']}/rotate_secret`);
    const refused = await rotate(await only('clients:write'));
    expect(refused.body['errors'][0]).toMatchObject({ code: 'scope_escalation', meta: { required: [refund] } });
    expect(refused.body['errors'][0].detail).toContain('credentials:write');
    await expectRefused(rotate(await callerOf(machines.plain, 'clients:write')), refund);
    expect((await rotate(await callerOf(machines.cashier, 'clients:write'))).status).toBe(200);
    expect((await rotate(await only('clients:write', 'credentials:write'))).status).toBe(200);
    const denied = (await api.get(`/audit_logs?filter[target]=${charging['id']}&filter[outcome]=denied`)).body['data'] as Document[];
    expect(denied[0]?.['attributes']).toMatchObject({ action: 'client.secret_rotated', reason: 'scope_escalation' });
  });

  test('nor moves its keys, method, redirect URIs or guards, nor renames or deletes it; its description is free (attack 22.960)', async () => {
    const shop = await granted({ name: 'Shop', redirect_uris, first_party: false, require_pkce: true, required_acr: '2' }, 'user');
    const caller = await only('clients:write');
    const guards: Document[] = [
      { jwks: sampleKeys(1) },
      { jwks_uri: 'https://shop.example/jwks' },
      { token_endpoint_auth_method: 'client_secret_post' },
      { redirect_uris: ['https://elsewhere.example/cb'] },
      { require_pkce: false },
      { dpop_bound_access_tokens: true },
      { require_signed_request_object: true, require_pushed_authorization_requests: true, jwks: sampleKeys(1) },
      { required_acr: null },
      { max_authentication_age: 600 },
      { status: 'disabled' },
    ];
    for (const attributes of guards) await expectRefused(change(caller, 'clients', shop, attributes), refund);
    await expectRefused(caller.delete(`/clients/${shop['id']}`), refund);
    await expectRefused(change(caller, 'clients', shop, { name: 'Shop of ours' }), refund);
    expect((await change(caller, 'clients', shop, { description: 'Shop of ours' })).status).toBe(200);
    const powerful = await only('clients:write', 'credentials:write');
    expect((await change(powerful, 'clients', shop, { required_acr: null })).status).toBe(200);
    expect((await powerful.delete(`/clients/${shop['id']}`)).status).toBe(204);
  });

  test('workloads and the issuers that they rest on are its credentials too: written, changed or deleted (attack 22.961)', async () => {
    const job = await granted({ name: 'Job', application_type: 'machine', token_endpoint_auth_method: 'private_key_jwt' });
    const trusted = { name: 'Platform', issuer: 'https://platform.example', jwks: sampleKeys(1) };
    const issuer = await api.create('trusted_issuers', trusted);
    const proven = { client: link('client', job['id']), trusted_issuer: link('trusted_issuer', issuer['id']) };
    const credential = await api.create('federated_credentials', { claims: { sub: 'job' } }, proven);
    const caller = await only('federated_credentials:write', 'trusted_issuers:write');
    const body = { data: { type: 'federated_credential', attributes: { claims: { sub: 'mine' } }, relationships: proven } };
    await expectRefused(caller.post('/federated_credentials', body), refund);
    await expectRefused(change(caller, 'federated_credentials', credential, { claims: { sub: 'mine' } }), refund);
    await expectRefused(caller.delete(`/federated_credentials/${credential['id']}`), refund);
    await expectRefused(change(caller, 'trusted_issuers', issuer, { jwks: sampleKeys(2) }), refund);
    await expectRefused(caller.delete(`/trusted_issuers/${issuer['id']}`), refund);
    const powerful = await only('federated_credentials:write', 'trusted_issuers:write', 'credentials:write');
    expect((await change(powerful, 'trusted_issuers', issuer, { jwks: sampleKeys(2) })).status).toBe(200);
  });

  test('what people allowed an application at an open API is asked of nobody again: it is reach, and of many it is everything (attack 22.967)', async () => {
    const client = await addClient(ctx, { name: 'Allowed', first_party: false });
    const allow = async (first: number, last: number) =>
      service.deps.db.knex.raw(
        `with made as (insert into users (environment_id, id, email, email_key, created_at, updated_at)
           select ?, gen_random_uuid(), 'allowed-' || n || '@example.com', 'allowed-' || n || '@example.com', now(), now() from generate_series(?::int, ?::int) n
           returning environment_id, id)
         insert into consents (environment_id, user_id, client_id, id, scopes, resources, resource_scopes, granted_at, updated_at)
           select environment_id, id, ?, gen_random_uuid(), '{openid,refund}', array[?], jsonb_build_object('', array['openid'], ?::text, array['refund']), now(), now()
           from made`,
        [ctx.environment.id, first, last, client.id, payments, payments],
      );
    const moved = { redirect_uris: ['https://elsewhere.example/cb'] };
    const caller = await only('clients:write');
    expect((await change(caller, 'clients', client, moved)).status).toBe(200);
    await allow(1, 1000);
    await expectRefused(change(caller, 'clients', client, { redirect_uris }), refund);
    expect((await change(await callerOf(machines.cashier, 'clients:write'), 'clients', client, { redirect_uris })).status).toBe(200);
    await allow(1001, 1001);
    await expectRefused(change(caller, 'clients', client, moved), 'credentials:write', refund);
    expect((await change(await only('clients:write', 'credentials:write'), 'clients', client, moved)).status).toBe(200);
  });

  test('what it was granted is not for its registration token to move or delete (attack 22.968)', async () => {
    const send = (method: string, address: string, body?: Document, token?: string) => {
      const headers = { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
      return fetch(new URL(address, service.url), { method, headers, ...(body && { body: JSON.stringify(body) }) });
    };
    const registered = (await (await send('POST', '/oauth/register', { redirect_uris, client_name: 'Arrived' })).json()) as Record<string, string>; // prettier-ignore
    const { client_id = '', registration_client_uri: address = '', registration_access_token: token } = registered;
    const grant = await api.create('client_grants', { scopes: ['refund'], subject_type: 'user' }, grantFor({ id: client_id })); // prettier-ignore
    const moved = await send('PUT', address, { client_id, redirect_uris: ['https://elsewhere.example/cb'] }, token);
    expect([moved.status, (await send('DELETE', address, undefined, token)).status]).toEqual([403, 403]);
    expect((await api.delete(`/client_grants/${grant['id']}`)).status).toBe(204);
    expect((await send('DELETE', address, undefined, token)).status).toBe(204);
  });
});

describe('people', () => {
  test('the password, address, authenticators and sessions of whoever holds refund are not users:write’s alone (attack 22.962)', async () => {
    const user = await api.create('users', { email: 'cashier@example.com', password }, { roles: links('role', role['id']) });
    const key = { kind: 'totp', secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' };
    const caller = await only('users:write', 'authenticators:write', 'sessions:write');
    for (const attributes of [{ password: 'another pass phrase of mine' }, { email: 'mine@example.com' }, { email_verified: true }])
      await expectRefused(change(caller, 'users', user, attributes), refund);
    const owned = { data: { type: 'authenticator', attributes: key, relationships: { user: link('user', user['id']) } } };
    await expectRefused(caller.post('/authenticators', owned), refund);
    for (const verb of ['block', 'reset_authenticators', 'forget_devices', 'revoke_sessions'])
      await expectRefused(caller.patch(`/users/${user['id']}/${verb}`), refund);
    await expectRefused(caller.delete(`/users/${user['id']}`), refund);
    expect((await change(caller, 'users', user, { first_name: 'Ada' })).status).toBe(200);
    const powerful = await only('users:write', 'credentials:write');
    expect((await change(powerful, 'users', user, { password: 'another pass phrase of ours' })).status).toBe(200);
  });

  test('a person’s own permissions count at the dashboard and at first-party clients; a token that a client asked for is for the Management API alone (attack 22.971)', async () => {
    const clerk = await addUser(ctx, { email: 'clerk@example.com' });
    const all = (await api.get('/permissions?page[size]=100')).body['data'] as Document[];
    const named = (name: string) => all.find((one) => one['attributes'].name === name)?.['id'] as string;
    const writing = await api.create('roles', { name: 'Writes' }, { permissions: links('permission', named('clients:write'), named('clients:read')) }); // prettier-ignore
    await api.post(`/users/${clerk.id}/relationships/roles`, links('role', writing['id']));
    const browser = await signedIn(service, clerk);
    const confirm = async () => browser.submit(`/dashboard/clients/${charging['id']}/rotate_secret`, {}, `/dashboard/clients/${charging['id']}/rotate_secret`); // prettier-ignore
    const refused = await confirm();
    expect([refused.status, (await refused.text()).includes('You can’t grant more than you have')]).toEqual([403, true]);
    await api.post(`/users/${clerk.id}/relationships/roles`, links('role', role['id']));
    expect((await confirm()).status).toBeLessThan(400);

    for (const first_party of [false, true]) {
      const app = await addClient(ctx, { first_party });
      const system = await service.deps.db.knex('api_resources').where({ is_system: true, environment_id: ctx.environment.id }).first();
      await addGrant(ctx, app, system, ['clients:write'], 'user');
      const code = await allowCode(browser, app, { resource: `${service.url}/api`, scope: 'clients:write' });
      const token = (await redeem(service.url, app, code)).body.access_token;
      const answer = new Api(service.url, token).patch(`/clients/${charging['id']}/rotate_secret`);
      if (first_party) expect((await answer).status).toBe(200);
      else await expectRefused(answer, refund);
    }
  });
});

describe('API resources', () => {
  test('what guards an API, and its end, take what its permissions give (attack 22.963)', async () => {
    const caller = await only('api_resources:write', 'permissions:write');
    const guards: Document[] = [
      { required_acr: null },
      { max_authentication_age: 600 },
      { user_access: 'granted' },
      { user_scopes: 'held' },
      { allow_unverified_clients: true },
      { dpop_bound_access_tokens: true },
      { token_typ: 'JWT' },
    ];
    for (const attributes of guards) await expectRefused(change(caller, 'api_resources', resource, attributes), refund);
    await expectRefused(caller.delete(`/permissions/${permission['id']}`), refund);
    await expectRefused(caller.delete(`/api_resources/${resource['id']}`), refund);
    await expectRefused(change(caller, 'api_resources', resource, { name: 'Payments of ours' }), refund);
    // A new one is nobody's yet.
    const made = await caller.create('permissions', { name: 'void' }, { api_resource: link('api_resource', resource['id']) });
    await expectRefused(caller.delete(`/permissions/${made['id']}`), `${payments}#void`);
    const powerful = await only('api_resources:write', 'permissions:write', 'credentials:write');
    expect((await powerful.delete(`/permissions/${made['id']}`)).status).toBe(204);
    expect((await change(powerful, 'api_resources', resource, { max_authentication_age: 600 })).status).toBe(200);
  });

  test('an API that clients exchange people’s tokens for is deleted by those who may act for people (attack 22.966)', async () => {
    const ledger = await api.create('api_resources', { identifier: 'https://ledger.example', name: 'Ledger' });
    const relationships = { client: link('client', charging['id']), api_resource: link('api_resource', ledger['id']) };
    await api.create('client_grants', { scopes: [], subject_type: 'user', token_exchange: 'delegation' }, relationships);
    await expectRefused((await only('api_resources:write')).delete(`/api_resources/${ledger['id']}`), 'users:write');
    expect((await (await only('api_resources:write', 'users:write')).delete(`/api_resources/${ledger['id']}`)).status).toBe(204);
  });

  test('nor is a permission that they exchange them for (attack 22.966)', async () => {
    const relationships = {
      api_resource: link('api_resource', (await api.create('api_resources', { identifier: 'https://tolls.example', name: 'Tolls' }))['id']),
    };
    const permission = await api.create('permissions', { name: 'charge' }, relationships);
    const grant = { ...grantFor(await granted({ name: 'Tolls', application_type: 'machine' })), ...relationships };
    const policy = { scopes: ['charge'], subject_type: 'user', token_exchange: 'delegation' };
    await api.create('client_grants', policy, grant);
    await expectRefused((await only('permissions:write', 'credentials:write')).delete(`/permissions/${permission['id']}`), 'users:write');
    const both = await only('permissions:write', 'credentials:write', 'users:write');
    expect((await both.delete(`/permissions/${permission['id']}`)).status).toBe(204);
  });
});

describe('handing out', () => {
  test('nobody gives a role, a client or a person what they don’t hold elsewhere, themselves least of all (attack 22.964)', async () => {
    const caller = await callerOf(machines.plain, 'roles:write', 'users:write', 'client_grants:write');
    const relationships = { permissions: links('permission', permission['id']) };
    await expectRefused(caller.attempt('roles', { name: 'Mine' }, relationships), refund);
    const user = await api.create('users', { email: 'nobody@example.com' });
    await expectRefused(caller.post(`/users/${user['id']}/relationships/roles`, links('role', role['id'])), refund);
    // What the write itself would give is not held before it.
    const own = { type: 'client_grant', attributes: { scopes: ['refund'] }, relationships: grantFor({ id: 'plain' }) };
    await expectRefused(caller.post('/client_grants', { data: own }), refund);
    const idle = { ...own, attributes: { scopes: [] } };
    const empty = await caller.create('client_grants', idle.attributes, idle.relationships);
    await expectRefused(change(caller, 'client_grants', empty, { scopes: ['refund'] }), refund);
    const cashier = await callerOf(machines.cashier, 'roles:write');
    expect((await cashier.attempt('roles', { name: 'Theirs' }, relationships)).status).toBe(201);
    expect((await caller.delete(`/client_grants/${empty['id']}`)).status).toBe(204);
  });

  test('credentials:write raises no Management permission, and no other permission implies it (attack 22.965)', async () => {
    const caller = await only('credentials:write', 'clients:write', 'users:write');
    const answer = await caller.patch('/clients/management/rotate_secret');
    expect([answer.status, answer.body['errors'][0].code]).toEqual([403, 'scope_escalation']);
    expect(answer.body['errors'][0].meta.required).toEqual(managementPermissions.filter((name) => !['credentials:write', 'clients:write', 'users:write'].includes(name)).sort()); // prettier-ignore
    const others = managementPermissions.filter((name) => name !== 'credentials:write');
    await expectRefused((await only(...others)).patch(`/clients/${charging['id']}/rotate_secret`), refund);
    await expectRefused((await only(...others)).patch('/clients/management/rotate_secret'), 'credentials:write');
    const administrator = (await api.get('/roles?filter[name]=administrator&include=permissions')).body['included'] as Document[];
    expect(administrator.map((one) => one['attributes'].name)).toContain('credentials:write');
    const described = administrator.find((one) => one['attributes'].name === 'credentials:write')?.['attributes'].description as string;
    expect(described).toContain('Control over all APIs');
  });

  test('what everybody gets by itself counts: new people, and a connection that registers them, trusted or not (attack 22.972)', async () => {
    const welcome = await api.create('roles', { name: 'Welcome', is_default: true }, { permissions: links('permission', permission['id']) }); // prettier-ignore
    const attributes = { name: 'own', display_name: 'Own', strategy: 'oidc', issuer: 'https://own.example', provider_client_id: 'id', provider_client_secret: 'secret', account_linking: 'never' }; // prettier-ignore
    const open = (caller: Api, allow_registration: boolean) => caller.attempt('connections', { ...attributes, allow_registration });
    const caller = await only('connections:write', 'users:write', 'roles:write');
    await expectRefused(open(caller, true), refund);
    await expectRefused(caller.attempt('users', { email: 'new@example.com' }), refund);
    await expectRefused(change(caller, 'roles', welcome, { is_default: false }), refund);
    const made = await open(caller, false);
    expect(made.status).toBe(201);
    await expectRefused(change(caller, 'connections', made.body['data'], { allow_registration: true }), refund);
    expect((await api.delete(`/roles/${welcome['id']}`)).status).toBe(204);
    expect((await change(caller, 'connections', made.body['data'], { allow_registration: true })).status).toBe(200);
  });

  test('an API of another environment is another one, whatever its identifier (attack 22.970)', async () => {
    const { id, api: there } = await secondEnvironment(api, 'other');
    const theirs = await there.create('api_resources', { identifier: payments, name: 'Payments' });
    const right = await there.create('permissions', { name: 'refund' }, { api_resource: link('api_resource', theirs['id']) });
    await there.create('roles', { name: 'All', is_default: true }, { permissions: links('permission', right['id']) });
    await service.deps.db.knex('environments').where({ id }).update({ registration_enabled: false });
    service.deps.cache.clear();
    const open = { data: { type: 'environment', id, attributes: { registration_enabled: true } } };
    await expectRefused((await callerOf(machines.cashier, 'environments:write')).patch(`/environments/${id}`, open), 'credentials:write');
    expect((await (await only('environments:write', 'credentials:write')).patch(`/environments/${id}`, open)).status).toBe(200);
  });

  test('a repeated Idempotency-Key is judged by what its first time took elsewhere, too (attack 22.243)', async () => {
    const once = { headers: { 'idempotency-key': 'rotate once' } };
    const rotate = (caller: Api) => caller.request('PATCH', `/clients/${charging['id']}/rotate_secret`, once);
    expect((await rotate(await only('clients:write', 'credentials:write'))).status).toBe(200);
    const repeated = await rotate(await only('clients:write'));
    expect([repeated.status, repeated.body['errors'][0].code]).toEqual([403, 'insufficient_scope']);
    expect((await rotate(await only('clients:write', 'credentials:write'))).headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('deleting', () => {
  test('a webhook or log stream that its holder may not pause is not theirs to delete (attack 22.966)', async () => {
    const events = ['client.registered'];
    const webhook = await api.create('webhooks', { name: 'Theirs', url: 'https://receiver.example/', events });
    const stream = await api.create('log_streams', { name: 'SIEM', url: 'https://siem.example/', format: 'native', sources: ['security_events'] }); // prettier-ignore
    const caller = await only('webhooks:write', 'log_streams:write');
    await expectRefused(caller.delete(`/webhooks/${webhook['id']}`), 'clients:read');
    await expectRefused(caller.delete(`/log_streams/${stream['id']}`), 'security_events:read');
    expect((await (await only('webhooks:write', 'clients:read')).delete(`/webhooks/${webhook['id']}`)).status).toBe(204);
    expect((await (await only('log_streams:write', 'security_events:read')).delete(`/log_streams/${stream['id']}`)).status).toBe(204);
  });

  test('the one connection that a client offers: without it, all are offered (attack 22.966)', async () => {
    const web = await granted({ name: 'Till', redirect_uris, first_party: false }, 'user');
    const plain = { strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'id', provider_client_secret: 'secret' };
    const connection = await api.create('connections', { ...plain, name: 'till', display_name: 'Till', account_linking: 'ask', allow_registration: false }); // prettier-ignore
    await api.post(`/clients/${web['id']}/relationships/connections`, links('connection', connection['id']));
    await expectRefused((await only('connections:write')).delete(`/connections/${connection['id']}`), refund);
    expect((await (await only('connections:write', 'credentials:write')).delete(`/connections/${connection['id']}`)).status).toBe(204);
  });
});

test('an issuer on which many clients rest costs as many statements as one with a single client', async () => {
  const app = await observeApp(service.deps);
  try {
    const token = await managementToken(service.url, managementClient, { scope: 'trusted_issuers:write' });
    const caller = new Api(app.origin, token, new URL(service.url).host);
    const statementsWith = async (clients: number) => {
      const issuer = await api.create('trusted_issuers', { name: 'Many', issuer: `https://many-${clients}.example` });
      for (let n = 0; n < clients; n++) {
        const job = await granted({ name: 'Job', application_type: 'machine', token_endpoint_auth_method: 'private_key_jwt' });
        const proven = { client: link('client', job['id']), trusted_issuer: link('trusted_issuer', issuer['id']) };
        await api.create('federated_credentials', { claims: { sub: `job-${n}` } }, proven);
      }
      // The fewest of some: the process has to remember what rarely changes, and a change that was made just before may still be on its way to it.
      let fewest = Infinity;
      for (let run = 0; run < 5; run++) {
        app.take();
        await expectRefused(caller.delete(`/trusted_issuers/${issuer['id']}`), refund);
        fewest = Math.min(fewest, app.take().length);
      }
      return fewest;
    };
    expect(await statementsWith(6)).toBe(await statementsWith(1));
  } finally {
    await app.close();
  }
});
