// Keys and their rotation, custom domains, connections, clients' rules, imported passwords, environments, and the events of all that.
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rotationPass } from '../../src/jobs/key-rotation.js';
import { Browser } from '../support/browser.js';
import { addClient } from '../support/data.js';
import { link, links, manage, managementToken, startManagedService, type Api, type Document } from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import type { TestService } from '../support/service.js';

const day = 86_400_000;
const records = new Map<string, string[]>();
let service: TestService;
let api: Api;

beforeAll(async () => {
  const txtLookup = async (name: string) => {
    if (name.includes('broken')) throw new Error('SERVFAIL');
    return records.get(name) ?? [];
  };
  service = await startManagedService({}, { overrides: { txtLookup } });
  api = await manage(service.url);
  await api.create('webhooks', { name: 'All', url: 'http://127.0.0.1:49151/', events: ['*'] });
});
afterAll(() => service?.stop());

const firstError = (answer: { body: Document }) => answer.body['errors'][0] as Document;
const jwks = async () =>
  ((await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: Document[] }).keys.map((key) => key['kid']);

async function lastEvent(type: string): Promise<Document> {
  const ctx = await service.context();
  const row = (await ctx.db.knex('events').where({ event_type: type }).orderBy('id', 'desc').first('body')) as { body: string } | undefined;
  return JSON.parse(row?.body ?? '{}') as Document;
}

test('users: created, updated, given roles, reset: each event with its data, never a secret', async () => {
  const role = await api.create('roles', { name: 'Clerk' });
  expect((await lastEvent('role.created'))['data']).toMatchObject({ name: 'Clerk', permissions: [], is_default: false });
  const user = await api.create('users', {
    email: 'ada@example.com',
    first_name: 'Ada',
    last_name: 'Lovelace',
    password: 'an old long passphrase',
  });
  expect(await lastEvent('user.created')).toMatchObject({
    event: 'user.created',
    data: { id: user['id'], first_name: 'Ada', last_name: 'Lovelace', created_by: { actor_kind: 'client', actor_id: 'management' } },
  });
  const patch = (attributes: Document) => api.update('users', user['id'], attributes);
  await patch({ last_name: 'King' });
  expect((await lastEvent('user.updated'))['data']).toMatchObject({ last_name: 'King', previous_attributes: { last_name: 'Lovelace' } });
  await api.post(`/users/${user['id']}/relationships/roles`, links('role', role['id']));
  expect((await lastEvent('user.updated'))['data']).toMatchObject({ roles: ['Clerk'], previous_attributes: { roles: [] } });
  const before = (await lastEvent('user.updated'))['event_id'];
  await patch({ password: 'a new long passphrase' });
  expect((await lastEvent('user.password_reset'))['data']).toMatchObject({ id: user['id'], initiated_by: 'admin', sessions_revoked: true });
  expect((await lastEvent('user.updated'))['event_id']).toBe(before);
  const { all } = { all: JSON.stringify(await (await service.context()).db.knex('events').select('body')) };
  expect(all).not.toMatch(/passphrase|argon2/);
});

test('passwords: rules as at registration, hashes of other systems, and nothing of it is shown', async () => {
  const create = (attributes: Document) => api.attempt('users', { email: `u${Math.random()}@example.com`, ...attributes });
  for (const [password, code] of [
    ['short', 'password_too_short'],
    ['password123', 'password_common'],
    ['x'.repeat(129), 'password_too_long'],
  ]) {
    expect(firstError(await create({ password }))).toMatchObject({ status: '422', code, source: { pointer: '/data/attributes/password' } });
  }
  expect(firstError(await create({ password_hash: '5f4dcc3b5aa765d61d8327deb882cf99' }))['code']).toBe('unsupported_hash');
  const bcrypt = await import('bcryptjs');
  const imported = await create({ email: 'imported@example.com', password_hash: await bcrypt.hash('carried over from before', 4) });
  expect(imported.status).toBe(201);
  expect(imported.body['data'].attributes.has_password).toBe(true);
  expect(imported.text).not.toContain('$2');
  expect((await new Browser(service.url).login('imported@example.com', 'carried over from before')).status).toBe(303);
});

test('send_password_reset mails a code; a blocked user gets none', async () => {
  const user = await api.create('users', { email: 'forgetful@example.com' });
  const sent = await api.post(`/users/${user['id']}/send_password_reset`);
  // The user has an attribute that counts recovery codes.
  expect([sent.status, sent.text.replaceAll('recovery_codes', '').includes('code')]).toEqual([202, false]);
  const mailbox = (await (await fetch(`${service.url}/dev/mailbox?to=forgetful@example.com`)).json()) as { messages: Document[] };
  expect(mailbox.messages).toHaveLength(1);
  await api.patch(`/users/${user['id']}/block`);
  expect((await api.post(`/users/${user['id']}/send_password_reset`)).status).toBe(409);
});

test('signing keys: generate, activate, deactivate; tokens of the key before stay good', async () => {
  const token = await managementToken(service.url);
  const [primary] = (await api.get('/signing_keys?filter[status]=primary')).body['data'] as Document[];
  const next = await api.create('signing_keys', {});
  expect(next['attributes']).toMatchObject({ status: 'next', algorithm: 'RS256' });
  expect(JSON.stringify(next)).not.toMatch(/"d":|private/);
  expect((await lastEvent('signing_key.generated'))['data'].kid).toBe(next['id']);
  expect((await jwks()).sort()).toEqual([primary?.['id'], next['id']].sort());
  expect((await api.attempt('signing_keys', {})).status).toBe(409);
  expect(firstError(await api.patch(`/signing_keys/${primary?.['id']}/deactivate`))['code']).toBe('invalid_transition');
  expect((await api.patch(`/signing_keys/${next['id']}/activate`)).body['data'].attributes.status).toBe('primary');
  expect((await api.patch(`/signing_keys/${next['id']}/activate`)).status).toBe(409);
  expect((await api.get('/roles')).status).toBe(200);
  const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', service.url));
  for (const one of [token, await managementToken(service.url)]) await jwtVerify(one, keys, { issuer: service.url });
  expect((await api.patch(`/signing_keys/${primary?.['id']}/deactivate`)).body['data'].attributes.status).toBe('deactivated');
  expect((await lastEvent('signing_key.deactivated'))['data']).toMatchObject({
    kid: primary?.['id'],
    reason: 'manual',
    replaced_by: next['id'],
  });
  expect(await jwks()).toEqual([next['id']]);
  expect((await api.get('/roles')).status).toBe(401);
  api = await manage(service.url);
});

test('scheduled rotation: the next key a day before, the change after 90 days, the previous one kept while its tokens live (fault F19)', async () => {
  const [before] = await jwks();
  service.clock.advance(88 * day);
  expect(await rotationPass(service.deps)).toEqual({ generated: [], activated: [], deactivated: [] });
  service.clock.advance(1.5 * day);
  const { generated } = await rotationPass(service.deps);
  expect(generated).toHaveLength(1);
  service.clock.advance(0.6 * day);
  expect((await rotationPass(service.deps)).activated).toEqual([]);
  service.clock.advance(0.5 * day);
  const passes = await Promise.all([rotationPass(service.deps), rotationPass(service.deps), rotationPass(service.deps)]);
  expect(passes.flatMap((pass) => pass.activated)).toEqual(generated);
  expect((await jwks()).sort()).toEqual([before, ...generated].sort());
  service.clock.advance(day);
  expect((await rotationPass(service.deps)).deactivated).toEqual([before]);
  expect((await lastEvent('signing_key.deactivated'))['data']).toMatchObject({ reason: 'rotation', replaced_by: generated[0] });
  api = await manage(service.url);
});

test('custom domains: verified by a TXT record; the primary one makes the issuer, and tokens of the one before stay good', async () => {
  const domain = await api.create('custom_domains', { domain: 'login.acme.example' });
  const [record] = domain['attributes'].verification_records as Document[];
  expect((await lastEvent('custom_domain.created'))['data']).toMatchObject({ domain: 'login.acme.example', status: 'pending' });
  const address = `/custom_domains/${domain['id']}`;
  const verify = async () => (await api.patch(`${address}/verify`)).body['data'].attributes;
  const primary = (is_primary: boolean) =>
    api.patch(address, { data: { type: 'custom_domain', id: domain['id'], attributes: { is_primary } } });
  expect(await verify()).toMatchObject({ status: 'failed', failure_reason: 'record_not_found' });
  expect((await primary(true)).status).toBe(409);
  records.set(record?.['name'], ['something else']);
  expect(await verify()).toMatchObject({ status: 'failed', failure_reason: 'record_mismatch' });
  records.set(record?.['name'], ['something else', record?.['value']]);
  expect(await verify()).toMatchObject({ status: 'verified', failure_reason: null });
  expect((await primary(true)).body['data'].attributes.is_primary).toBe(true);
  const discovery = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Document;
  expect(discovery['issuer']).toBe('https://login.acme.example');
  expect((await api.get('/roles')).status).toBe(200);
  const [environment] = (await api.get('/environments')).body['data'] as Document[];
  expect(environment?.['attributes'].issuer).toBe('https://login.acme.example');
  expect((await primary(false)).status).toBe(200);
  expect((await api.delete(address)).status).toBe(204);
  expect((await lastEvent('custom_domain.deleted'))['data']).toMatchObject({ domain: 'login.acme.example', is_primary: false });
  const broken = await api.create('custom_domains', { domain: 'broken.acme.example' });
  expect((await api.patch(`/custom_domains/${broken['id']}/verify`)).body['data'].attributes).toMatchObject({
    status: 'failed',
    failure_reason: 'dns_error',
  });
  for (const bad of ['localhost', 'UPPER.example', 'x', '10.0.0.1', 'a..b', '*.example.com']) {
    expect([bad, (await api.attempt('custom_domains', { domain: bad })).status]).toEqual([bad, 422]);
  }
});

test('connections: the secret is sealed and never shown; what does not fit together is 422', async () => {
  const given = {
    name: 'acme',
    display_name: 'Acme',
    strategy: 'oidc',
    provider_client_id: 'x',
    provider_client_secret: 'the providers secret',
    issuer: 'https://idp.example',
  };
  const connection = await api.create('connections', given);
  expect(connection['attributes']).toMatchObject({
    has_client_secret: true,
    callback_url: `${service.url}/auth/sso/callback`,
    login_url: `${service.url}/auth/sso/${connection['id']}`,
  });
  const ctx = await service.context();
  const row = await ctx.db.knex('connections').where({ id: connection['id'] }).first();
  expect(ctx.crypto.sealer.open(row.provider_client_secret_sealed, `connections/${connection['id']}`)).toBe('the providers secret');
  const tested = await api.post(`/connections/${connection['id']}/test`);
  expect([tested.status, tested.body['meta'].login_url.startsWith(`${service.url}/auth/sso/${connection['id']}`)]).toEqual([202, true]);
  const patch = (attributes: Document) => api.update('connections', connection['id'], attributes);
  const refusals: [Document, string][] = [
    [{ issuer: 'ftp://idp.example' }, '/data/attributes/issuer'],
    [{ issuer: 'https://169.254.169.254/' }, '/data/attributes/issuer'],
    [{ claim_mapping: { password_hash: 'x' } }, '/data/attributes/claim_mapping/password_hash'],
    [{ options: { unknown: true } }, '/data/attributes/options/unknown'],
    [{ domains: ['no domain'] }, '/data/attributes/domains/0'],
    [{ issuer: null }, '/data/attributes/issuer'],
    [{ account_linking: 'always' }, '/data/attributes/account_linking'],
  ];
  for (const [attributes, pointer] of refusals) {
    const answer = await patch(attributes);
    expect([attributes, answer.status, firstError(answer)['source']]).toEqual([attributes, 422, { pointer }]);
  }
  expect((await patch({ strategy: 'google' })).status).toBe(403);
  expect((await patch({ provider_client_secret: null })).body['data'].attributes.has_client_secret).toBe(false);
  expect((await api.attempt('connections', given)).status).toBe(409);
  expect((await api.get('/audit_logs?page[size]=100')).text).not.toContain('the providers secret');
});

test('clients: what does not fit together is 422 at its place', async () => {
  const web = { name: 'X', application_type: 'web', redirect_uris: ['https://a.example/cb'] };
  const refusals: [Document, string][] = [
    [{ ...web, redirect_uris: ['http://a.example/cb'] }, '/data/attributes/redirect_uris/0'],
    [{ ...web, redirect_uris: ['https://a.example/*'] }, '/data/attributes/redirect_uris/0'],
    [{ ...web, redirect_uris: ['com.example:/cb'] }, '/data/attributes/redirect_uris/0'],
    [{ ...web, redirect_uris: ['https://a.example/cb', 'javascript:alert(1)'] }, '/data/attributes/redirect_uris/1'],
    [{ ...web, grant_types: ['refresh_token'] }, '/data/attributes/grant_types'],
    [{ ...web, grant_types: ['password'] }, '/data/attributes/grant_types/0'],
    [{ ...web, application_type: 'spa', grant_types: ['authorization_code', 'client_credentials'] }, '/data/attributes/grant_types'],
    [{ ...web, application_type: 'spa', token_endpoint_auth_method: 'client_secret_basic' }, '/data/attributes/token_endpoint_auth_method'],
    [{ name: 'M', application_type: 'machine', token_endpoint_auth_method: 'none' }, '/data/attributes/token_endpoint_auth_method'],
    [{ ...web, allowed_origins: ['https://a.example/'] }, '/data/attributes/allowed_origins/0'],
    [{ ...web, logo_uri: 'javascript:alert(1)' }, '/data/attributes/logo_uri'],
    [{ ...web, backchannel_logout_uri: 'https://169.254.169.254/' }, '/data/attributes/backchannel_logout_uri'],
    [{ ...web, id_token_lifetime: 0 }, '/data/attributes/id_token_lifetime'],
  ];
  for (const [attributes, pointer] of refusals) {
    const answer = await api.attempt('clients', attributes);
    expect([attributes, answer.status, (answer.body['errors'] as Document[]).map((error) => error['source'].pointer)]).toEqual([
      attributes,
      422,
      expect.arrayContaining([pointer]),
    ]);
  }
  const native = await api.create('clients', {
    name: 'Native',
    application_type: 'native',
    require_pkce: false,
    redirect_uris: ['com.example.app:/cb', 'http://127.0.0.1/cb'],
  });
  expect(native['attributes']).toMatchObject({ token_endpoint_auth_method: 'none', require_pkce: true, secret_hint: null });
  expect(native['attributes']).not.toHaveProperty('client_secret');
  expect((await lastEvent('client.registered'))['data']).toMatchObject({ client_id: native['id'], application_type: 'native' });
  expect((await api.patch(`/clients/${native['id']}/rotate_secret`)).status).toBe(409);
  const confidential = await api.create('clients', {
    name: 'Public soon',
    application_type: 'web',
    redirect_uris: ['https://spa.example/cb'],
  });
  const left = { data: { type: 'client', id: confidential['id'], attributes: { token_endpoint_auth_method: 'none' } } };
  const publicNow = (await api.patch(`/clients/${confidential['id']}`, left)).body['data'].attributes;
  expect(publicNow).toMatchObject({ require_pkce: true, secret_hint: null, secret_rotated_at: null });
  await api.update('clients', native['id'], { name: 'Renamed', status: 'disabled' });
  expect((await lastEvent('client.updated'))['data']).toMatchObject({
    name: 'Renamed',
    previous_attributes: { name: 'Native', status: 'enabled' },
  });
});

test('introspection_allowed: confidential clients have it unless told otherwise, public and self-registered ones do not', async () => {
  const create = async (attributes: Document) =>
    (await api.create('clients', { name: 'Asks', ...attributes }))['attributes']['introspection_allowed'] as boolean;
  const patch = (id: string, introspection_allowed: boolean) => api.update('clients', id, { introspection_allowed });
  expect(await create({ application_type: 'machine' })).toBe(true);
  expect(await create({ application_type: 'machine', introspection_allowed: false })).toBe(false);
  expect(await create({ application_type: 'native', redirect_uris: ['com.example.app:/cb'] })).toBe(false);
  const client = await api.create('clients', { name: 'Asks', application_type: 'machine' });
  expect((await patch(client['id'] as string, false)).body['data'].attributes.introspection_allowed).toBe(false);
  const ctx = await service.context();
  const registered = await addClient(ctx, { registration_token_digest: Buffer.alloc(32) });
  const refused = await patch(registered.id, true);
  expect([refused.status, firstError(refused)['source'].pointer]).toEqual([422, '/data/attributes/introspection_allowed']);
  expect((await patch(registered.id, false)).status).toBe(200);
});

test('environments: settings are flat, a change tells what was, and works at once', async () => {
  const [environment] = (await api.get('/environments?filter[slug]=default')).body['data'] as Document[];
  const id = environment?.['id'] as string;
  const patch = (attributes: Document) => api.update('environments', id, attributes);
  expect(environment?.['attributes']).toMatchObject({
    session_lifetime: 2_592_000,
    registration_enabled: true,
    password_min_length: 8,
    otp_max_attempts: 5,
    allowed_email_domains: [],
  });
  expect((await patch({ registration_enabled: false, session_lifetime: 3600 })).status).toBe(200);
  expect((await lastEvent('environment.updated'))['data']).toMatchObject({
    session_lifetime: 3600,
    auth_settings: { registration_enabled: false },
    previous_attributes: { session_lifetime: 2_592_000 },
  });
  const refused = await fetch(`${service.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: service.url },
    body: '{"email":"new@example.com"}',
  });
  expect(refused.status).toBe(403);
  await patch({ registration_enabled: true });
  expect((await patch({ slug: 'other' })).status).toBe(403);
  expect((await patch({ password_min_length: 4 })).status).toBe(422);
  for (const branding of [
    { primary_color: 'red' },
    { background_color: '#fff' },
    { corner_radius: 25 },
    { corner_radius: -1 },
    { font: 'Comic Sans' },
  ])
    expect((await patch({ branding })).status).toBe(422);
});

test('API resources and grants: identifiers are URIs, scopes are permissions, a deletion takes along what hangs on it', async () => {
  for (const identifier of ['orders', 'https://a.example/#x', '', 'https://a b.example']) {
    expect((await api.attempt('api_resources', { identifier, name: 'X' })).status).toBe(422);
  }
  const resource = await api.create('api_resources', { identifier: 'urn:orders', name: 'Orders', token_format: 'opaque' });
  const permission = await api.create('permissions', { name: 'orders:read' }, { api_resource: link('api_resource', resource['id']) });
  expect((await lastEvent('permission.created'))['data']).toMatchObject({ name: 'orders:read', api_resource_identifier: 'urn:orders' });
  await api.update('permissions', permission['id'], { description: 'Read.' });
  expect((await lastEvent('permission.updated'))['data'].previous_attributes).toEqual({ description: null });
  const client = await api.create('clients', { name: 'M', application_type: 'machine' });
  const relationships = { client: link('client', client['id']), api_resource: link('api_resource', resource['id']) };
  const bad = await api.attempt('client_grants', { scopes: ['orders:read', 'orders:write'] }, relationships);
  expect(firstError(bad)).toMatchObject({ code: 'unknown_scope', source: { pointer: '/data/attributes/scopes/1' } });
  const grant = await api.create('client_grants', { scopes: ['orders:read'] }, relationships);
  expect((await api.attempt('client_grants', { scopes: [] }, relationships)).status).toBe(409);
  expect((await api.delete(`/api_resources/${resource['id']}`)).status).toBe(204);
  expect([(await api.get(`/permissions/${permission['id']}`)).status, (await api.get(`/client_grants/${grant['id']}`)).status]).toEqual([
    404, 404,
  ]);
});

test('deliveries: read with their attempts, tested and sent again', async () => {
  const [webhook] = (await api.get('/webhooks')).body['data'] as Document[];
  const sent = await api.post(`/webhooks/${webhook?.['id']}/test`);
  expect([sent.status, sent.body['data'].attributes]).toMatchObject([202, { event_type: 'webhook.test', trigger: 'test' }]);
  const { id, attributes } = sent.body['data'] as Document;
  const again = await api.post(`/webhook_deliveries/${id}/redeliver`);
  expect([again.status, again.body['data'].attributes]).toMatchObject([
    202,
    { event_id: attributes.event_id, trigger: 'redelivery', payload: attributes.payload },
  ]);
  expect((await api.get(`/webhook_deliveries/${id}?include=attempts,webhook`)).body['included'].length).toBeGreaterThan(0);
  expect((await api.get(`/webhook_deliveries/${id}/attempts`)).status).toBe(200);
  expect(
    (await api.get('/webhook_deliveries?filter[status]=pending,retrying,failed&filter[event_type]=webhook.test')).body['data'].length,
  ).toBeGreaterThan(0);
  expect((await api.get(`/webhooks/${webhook?.['id']}/deliveries?page[size]=2`)).body['data']).toHaveLength(2);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));
