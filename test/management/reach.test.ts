// Ways in which a narrow permission became the whole installation, each closed: clients, their registration, domains, people, environments.
import { beforeAll, describe, expect, test } from 'vitest';
import { bootstrap } from '../../src/domain/configuration/bootstrap.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { authorizeGet, authorizeQuery } from '../support/authorize.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { lastMailTo } from '../support/mailbox.js';
import { Api, link, links, manage, managementToken, secondEnvironment, startManagedService, type Document } from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import { allowCode, redeem } from '../support/oauth.js';
import { sampleKeys } from '../support/reach/interesting.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(() => startManagedService(later));
let api: Api;
let administrator: Document;
let root: Document;
const redirect_uris = ['https://app.example/cb'];
const later = { ADMIN_EMAIL: 'root@example.com', ADMIN_PASSWORD: password };

beforeAll(async () => {
  await service.deps.db.knex('environments').update({ dynamic_registration_enabled: true });
  service.deps.cache.clear();
  api = await manage(service.url);
  administrator = (await api.get('/roles?filter[name]=administrator')).body['data'][0];
  // A second one, so that the last administrator is not what a refusal is about.
  await api.create('users', { email: 'second@example.com' }, { roles: links('role', administrator['id']) });
  root = (await api.get('/users?filter[email]=root@example.com')).body['data'][0];
});

const only = (...permissions: string[]) => manage(service.url, permissions.join(' '));
const nearlyAll = (left: string) => only(...managementPermissions.filter((name) => name !== left));
const patch = (caller: Api, ...change: Parameters<Api['update']>) => caller.update(...change);

async function expectRefused(answer: Promise<{ status: number; body: Document }>, ...required: string[]): Promise<void> {
  const { status, body } = await answer;
  expect([status, body['errors']?.[0]?.code]).toEqual([403, 'scope_escalation']);
  expect(body['errors'][0].meta.required).toEqual(expect.arrayContaining(required));
}

describe('clients', () => {
  const control: Document = {
    jwks: sampleKeys(1),
    jwks_uri: 'https://keys.example/jwks',
    token_endpoint_auth_method: 'client_secret_post',
    redirect_uris,
    post_logout_redirect_uris: redirect_uris,
    allowed_origins: ['https://app.example'],
    first_party: true,
    status: 'disabled',
    scopes: ['openid'],
    backchannel_logout_uri: 'https://app.example/out',
  };

  test('clients:write does not become the client that MANAGEMENT_CLIENT_ID names: keys, method, any other way in (attack 22.230)', async () => {
    const caller = await only('clients:write', 'connections:write');
    for (const [name, value] of Object.entries(control)) {
      const answer = await patch(caller, 'clients', 'management', { [name]: value });
      expect([name, answer.status, answer.body['errors']?.[0].code]).toEqual([name, 403, 'scope_escalation']);
    }
    await expectRefused(
      patch(caller, 'clients', 'management', { token_endpoint_auth_method: 'private_key_jwt', jwks: sampleKeys(1) }),
      'users:write',
    );
    await expectRefused(caller.patch('/clients/management/rotate_secret'));
    await expectRefused(caller.delete('/clients/management'));
    const connection = await api.create('connections', { name: 'any', display_name: 'Any', strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'id', provider_client_secret: 'secret' }); // prettier-ignore
    const linkage = links('connection', connection['id']);
    await expectRefused(caller.post('/clients/management/relationships/connections', linkage));
    await expectRefused(patch(caller, 'clients', 'management', {}, { connections: linkage }));
    expect((await patch(caller, 'clients', 'management', { description: 'Ours' })).status).toBe(200);
    const denied = (await api.get('/audit_logs?filter[target]=management&filter[outcome]=denied&page[size]=100')).body[
      'data'
    ] as Document[];
    // The same refusal within a minute counts up.
    const refusals = denied.filter((one) => one['attributes'].reason === 'scope_escalation').map((one) => Number(one['attributes'].count));
    expect(refusals.reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(14);
    expect(await managementToken(service.url)).toMatch(/./);
  });

  test('the pointer of the refusal is the attribute, and unchanged values may be sent along', async () => {
    const caller = await only('clients:write');
    const answer = await patch(caller, 'clients', 'management', { description: 'Still ours', status: 'enabled', grant_types: ['client_credentials'], jwks: sampleKeys(1) }); // prettier-ignore
    expect(answer.body['errors'][0].source).toEqual({ pointer: '/data/attributes/jwks' });
    const whole = await patch(caller, 'clients', 'management', {
      description: 'Still ours',
      status: 'enabled',
      grant_types: ['client_credentials'],
    });
    expect(whole.status).toBe(200);
  });

  test('the start brings the configured client back wholly (attack 22.231)', async () => {
    await service.deps.db
      .knex('clients')
      .where({ id: 'management' })
      .update({
        application_type: 'web',
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: JSON.stringify(sampleKeys(1)),
        grant_types: ['authorization_code'],
        redirect_uris,
        first_party: true,
        scopes: ['openid'],
        secret_digest: null,
        previous_secret_digest: Buffer.alloc(32),
        previous_secret_expires_at: new Date('2100-01-01'),
        introspection_allowed: false,
        registration_token_digest: Buffer.alloc(32),
        status: 'disabled',
      });
    await service.deps.db
      .knex('client_grants')
      .where({ client_id: 'management' })
      .update({ scopes: ['users:read'] });
    await bootstrap(service.deps);
    const row = await service.deps.db.knex('clients').where({ id: 'management' }).first();
    expect(row).toMatchObject({
      application_type: 'machine',
      token_endpoint_auth_method: 'client_secret_basic',
      jwks: null,
      jwks_uri: null,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      first_party: false,
      scopes: null,
      previous_secret_digest: null,
      registration_token_digest: null,
      status: 'enabled',
    });
    expect((await (await manage(service.url)).get('/users')).status).toBe(200);
  });

  test('first_party is made true by holders of every permission, and moves with nothing less (attack 22.232)', async () => {
    const web = { name: 'Web', application_type: 'web', redirect_uris };
    for (const caller of [await only('clients:write'), await nearlyAll('audit_logs:read')]) {
      await expectRefused(caller.attempt('clients', { ...web, first_party: true }), 'audit_logs:read');
      const made = await caller.create('clients', web);
      expect(made['attributes'].first_party).toBe(false);
      await expectRefused(patch(caller, 'clients', made['id'], { first_party: true }));
    }
    const ours = await api.create('clients', web);
    expect(ours['attributes'].first_party).toBe(true);
    const caller = await nearlyAll('audit_logs:read');
    await expectRefused(patch(caller, 'clients', ours['id'], { redirect_uris: ['https://elsewhere.example/cb'] }), 'audit_logs:read');
    await expectRefused(patch(caller, 'clients', ours['id'], { grant_types: ['authorization_code', 'refresh_token'] }));
    await expectRefused(caller.patch(`/clients/${ours['id']}/rotate_secret`));
    expect((await patch(caller, 'clients', ours['id'], { description: 'Ours.' })).status).toBe(200);
  });
});

describe('a client that registered itself', () => {
  const send = async (method: string, address: string, body: object, token?: string) => {
    const headers = { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const response = await fetch(new URL(address, service.url), { method, headers, body: JSON.stringify(body) });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  const register = () => send('POST', '/oauth/register', { redirect_uris, client_name: 'Stranger' });

  test('may not name Management scopes, nor ask people for them, nor be granted any (attack 22.234)', async () => {
    const named = await send('POST', '/oauth/register', { redirect_uris, scope: 'openid users:read' });
    expect([named.status, named.body['scope']]).toEqual([201, 'openid']);
    const { body } = await register();
    const id = body['client_id'] as string;
    const update = { redirect_uris, client_id: id, scope: 'users:write' };
    expect((await send('PUT', body['registration_client_uri'] as string, update, body['registration_access_token'])).body['scope']).toBe(
      '',
    );
    const client = { ...(await service.deps.db.knex('clients').where({ id }).first()), client_secret: body['client_secret'] };
    const browser = new Browser(service.url);
    await browser.login('root@example.com', password);
    const answer = await authorizeGet(browser, authorizeQuery(client, { scope: 'openid users:read', resource: `${service.url}/api` }));
    expect(answer.headers.get('location')).toContain('error=invalid_target');
    const management = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0] as Document;
    const relationships = { client: link('client', id), api_resource: link('api_resource', management['id']) };
    const granted = await api.attempt('client_grants', { scopes: ['users:read'] }, relationships);
    expect([granted.status, granted.body['errors'][0].code]).toEqual([422, 'self_registered_client']);
  });

  test('promoted to first_party it loses that with its registration token’s first change (attack 22.234)', async () => {
    const { body } = await register();
    const id = body['client_id'] as string;
    expect((await patch(api, 'clients', id, { first_party: true })).status).toBe(200);
    const moved = { client_id: id, redirect_uris: ['https://elsewhere.example/cb'] };
    const answer = await send('PUT', body['registration_client_uri'] as string, moved, body['registration_access_token']);
    expect(answer.status).toBe(200);
    const after = (await api.get(`/clients/${id}`)).body['data'].attributes;
    expect([after.first_party, after.redirect_uris]).toEqual([false, ['https://elsewhere.example/cb']]);
  });

  test('what it was granted of the Management API is not its registration token’s to move (attack 22.234)', async () => {
    const { body } = await register();
    const id = body['client_id'] as string;
    const own = await service.deps.db
      .knex('api_resources')
      .where({ is_system: true, identifier: `${service.url}/api` })
      .first();
    const now = new Date();
    // An older release let it be granted.
    await service.deps.db.knex('client_grants').insert({ environment_id: own.environment_id, id: root['id'], client_id: id, api_resource_id: own.id, scopes: ['users:read'], created_at: now, updated_at: now }); // prettier-ignore
    const moved = { client_id: id, redirect_uris: ['https://elsewhere.example/cb'] };
    const answer = await send('PUT', body['registration_client_uri'] as string, moved, body['registration_access_token']);
    expect([answer.status, answer.body['error']]).toEqual([403, 'access_denied']);
  });
});

describe('custom domains', () => {
  async function verified(domain: string): Promise<Document> {
    const made = await api.create('custom_domains', { domain });
    await service.deps.db.knex('custom_domains').where({ id: made['id'] }).update({ status: 'verified', verified_at: new Date() });
    return made;
  }
  const primary = (caller: Api, id: string, is_primary = true) => patch(caller, 'custom_domains', id, { is_primary });

  test('becoming the primary one, and no longer being it, takes every permission, and all administrators get mail (attack 22.237)', async () => {
    const [one, other] = [await verified('one.example.com'), await verified('other.example.com')];
    const caller = await nearlyAll('audit_logs:read');
    await expectRefused(primary(caller, one['id']), 'audit_logs:read');
    await expectRefused(primary(await only('custom_domains:write'), one['id']));
    expect((await primary(api, one['id'])).status).toBe(200);
    const mail = await lastMailTo(service.url, 'root@example.com');
    expect([
      mail.subject,
      mail.text.includes('now lead to one dot example dot com'),
      mail.text.includes(`${service.url}/dashboard/custom_domains`),
    ]).toEqual(['The address of Default was changed', true, true]);
    await expectRefused(primary(caller, other['id']));
    await expectRefused(primary(caller, one['id'], false));
    await expectRefused(caller.delete(`/custom_domains/${one['id']}`));
    expect((await primary(api, one['id'], false)).status).toBe(200);
    expect((await lastMailTo(service.url, 'root@example.com')).text).toContain('now lead to localhost');
    await expectRefused(caller.delete(`/custom_domains/${other['id']}`));
    for (const { id } of [one, other]) expect((await api.delete(`/custom_domains/${id}`)).status).toBe(204);
  });

  test('a person’s token needs a sign-in of the last ten minutes (attacks 22.237, 22.930)', async () => {
    const domain = await verified('fresh.example.com');
    const web = await api.create('clients', { name: 'Console', application_type: 'web', redirect_uris });
    const management = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0] as Document;
    const row = await service.deps.db.knex('clients').where({ id: web['id'] }).first();
    const client = { ...row, client_secret: web['attributes'].client_secret };
    const browser = new Browser(service.url);
    await browser.login('root@example.com', password);
    const relationships = { client: link('client', client.id), api_resource: link('api_resource', management['id']) };
    await api.create('client_grants', { scopes: [...managementPermissions], subject_type: 'user' }, relationships);
    const grant = await allowCode(browser, client, {
      resource: management['attributes'].identifier,
      scope: managementPermissions.join(' '),
    });
    const token = (await redeem(service.url, client, grant)).body.access_token as string;
    service.clock.advance(9 * 60_000);
    const caller = new Api(service.url, token);
    service.clock.advance(2 * 60_000);
    const waiting = await api.create('custom_domains', { domain: 'waiting.example.com' });
    const unverified = await caller.patch(`/custom_domains/${waiting['id']}/verify`);
    expect([unverified.status, unverified.body['errors'][0].code]).toEqual([401, 'insufficient_user_authentication']);
    const stale = await primary(caller, domain['id']);
    expect([stale.status, stale.body['errors'][0].code, stale.headers.get('www-authenticate')]).toEqual([
      401,
      'insufficient_user_authentication',
      `Bearer resource_metadata="${service.url}/.well-known/oauth-protected-resource/api", realm="api", error="insufficient_user_authentication", max_age="600"`,
    ]);
    service.clock.advance(-11 * 60_000);
    expect((await primary(caller, domain['id'])).status).toBe(200);
    expect((await primary(caller, domain['id'], false)).status).toBe(200);
  });
});

describe('people', () => {
  test('PATCH of a user’s roles needs roles:write like the linkage route, and so does a creation (attack 22.238)', async () => {
    const user = await api.create('users', { email: 'plain@example.com' });
    const role = await api.create('roles', { name: 'Harmless' });
    const caller = await only('users:write', 'users:read');
    const roles = links('role', role['id']);
    for (const answer of [
      await patch(caller, 'users', user['id'], {}, { roles }),
      await caller.post(`/users/${user['id']}/relationships/roles`, roles),
      await caller.attempt('users', { email: 'other@example.com' }, { roles }),
    ])
      expect([answer.status, answer.body['errors'][0].code, answer.body['errors'][0].meta.required]).toEqual([403, 'insufficient_scope', expect.arrayContaining(['roles:write'])]); // prettier-ignore
    const both = await only('users:write', 'roles:write');
    expect((await patch(both, 'users', user['id'], {}, { roles })).status).toBe(200);
    await expectRefused(patch(both, 'users', user['id'], {}, { roles: links('role', administrator['id']) }), 'clients:write');
    await expectRefused(patch(both, 'users', root['id'], {}, { roles: { data: [] } }), 'clients:write');
    await expectRefused(both.post(`/roles/${administrator['id']}/relationships/users`, links('user', user['id'])), 'clients:write');
  });

  test('nobody blocks, unblocks, deletes, signs out or takes over people above themselves (attack 22.239)', async () => {
    const ctx = await service.context();
    const above = await addUser(ctx, { email: 'above@example.com' });
    await api.post(`/users/${above.id}/relationships/roles`, links('role', administrator['id']));
    const browser = new Browser(service.url);
    await browser.login('above@example.com', password);
    const session = (await api.get(`/sessions?filter[user]=${above.id}`)).body['data'][0] as Document;
    const provider = { strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'id', provider_client_secret: 'secret' };
    const connection = await api.create('connections', { name: 'linked', display_name: 'Linked', ...provider });
    const identity = {
      environment_id: ctx.environment.id,
      id: session['id'],
      user_id: above.id,
      connection_id: connection['id'],
      subject: 'x',
    };
    await ctx.db.knex('identities').insert({ ...identity, created_at: new Date(), updated_at: new Date() });
    const caller = await only('users:write', 'sessions:write', 'users:read');
    await expectRefused(caller.patch(`/users/${above.id}/block`), 'clients:write');
    await expectRefused(caller.delete(`/users/${above.id}`));
    await expectRefused(caller.patch(`/users/${above.id}/revoke_sessions`));
    await expectRefused(caller.patch(`/users/${above.id}/revoke_tokens`));
    await expectRefused(caller.patch(`/sessions/${session['id']}/revoke`));
    await expectRefused(caller.patch(`/sessions/${session['id']}/touch`));
    await expectRefused(caller.delete(`/sessions/${session['id']}`));
    await expectRefused(caller.delete(`/identities/${session['id']}`));
    for (const attributes of [
      { email: 'mine@example.com' },
      { email_verified: false },
      { phone_number: '+441632960961' },
      { phone_number_verified: true },
      { password: 'another long passphrase' },
    ])
      // prettier-ignore
      await expectRefused(patch(caller, 'users', above.id, attributes));
    expect((await patch(caller, 'users', above.id, { nickname: 'Boss' })).status).toBe(200);
    expect((await caller.post(`/users/${above.id}/send_password_reset`)).status).toBe(202);
    expect((await api.patch(`/users/${above.id}/block`)).status).toBe(200);
    await expectRefused(caller.patch(`/users/${above.id}/unblock`));
  });

  test('a new user brings no default role whose permissions its maker lacks', async () => {
    const permission = (await api.get('/permissions?filter[name]=webhooks:read')).body['data'][0] as Document;
    const role = await api.create('roles', { name: 'For all', is_default: true }, { permissions: links('permission', permission['id']) });
    await expectRefused((await only('users:write')).attempt('users', { email: 'given@example.com' }), 'webhooks:read');
    await expectRefused(patch(await only('roles:write'), 'roles', role['id'], { is_default: false }), 'webhooks:read');
    expect((await api.delete(`/roles/${role['id']}`)).status).toBe(204);
  });
});

describe('environments', () => {
  test('kind and what guards sign-ins take every permission, and so does a new environment (attack 22.240)', async () => {
    const caller = await only('environments:write', 'environments:read');
    const own = (await api.get('/environments')).body['data'][0] as Document;
    const doors: Document[] = [
      { kind: 'staging' },
      { session_lifetime: 86_400 },
      { session_idle_lifetime: 3600 },
      { refresh_token_lifetime: 86_400 },
      { refresh_token_idle_lifetime: 86_400 },
      { password_min_length: 9 },
      { otp_lifetime: 900 },
      { otp_max_attempts: 20 },
      { lockout_threshold: 1000 },
      { lockout_lifetime: 1 },
      { allowed_email_domains: ['elsewhere.example'] },
    ];
    for (const attributes of doors) {
      const answer = await patch(caller, 'environments', own['id'], attributes);
      expect([attributes, answer.status, answer.body['errors']?.[0].code]).toEqual([attributes, 403, 'scope_escalation']);
    }
    const made = { type: 'environment', attributes: { name: 'More', slug: 'more', kind: 'staging' } };
    await expectRefused(caller.post('/environments', { data: made }));
    expect((await patch(caller, 'environments', own['id'], { name: 'Default', support_email: 'help@example.com' })).status).toBe(200);
    const production = await secondEnvironment(api, 'closed');
    await expectRefused(patch(caller, 'environments', production.id, { kind: 'development' }), 'users:write');
    await expectRefused(caller.delete(`/environments/${production.id}`));
  });

  test('registration opens to what default roles give only by those who hold that', async () => {
    const { id, api: there } = await secondEnvironment(api, 'roles');
    const caller = await only('environments:write');
    expect((await patch(caller, 'environments', id, { registration_enabled: false })).status).toBe(200);
    const permission = (await there.get('/permissions?filter[name]=webhooks:read')).body['data'][0] as Document;
    await there.create('roles', { name: 'For all', is_default: true }, { permissions: links('permission', permission['id']) });
    await expectRefused(patch(caller, 'environments', id, { registration_enabled: true }), 'webhooks:read');
    const more = await only('environments:write', 'webhooks:read');
    expect((await patch(more, 'environments', id, { registration_enabled: true })).status).toBe(200);
  });

  test('whoever may do everything in one environment reaches no other', async () => {
    const staging = await secondEnvironment(api, 'staging');
    const own = (await api.get('/environments')).body['data'].find((one: Document) => one['attributes'].is_default) as Document;
    expect((await patch(staging.api, 'environments', own['id'], { kind: 'development' })).status).toBe(404);
    expect((await staging.api.delete(`/environments/${own['id']}`)).status).toBe(404);
    const made = { type: 'environment', attributes: { name: 'X', slug: 'x', kind: 'development' } };
    expect((await staging.api.post('/environments', { data: made })).status).toBe(403);
    expect((await new Api(service.url, staging.api.token).get('/users')).status).toBe(401);
  });
});

describe('keys and the Management API itself', () => {
  test('signing_keys:write rotates; what was signed is taken from everybody by holders of everything', async () => {
    const caller = await only('signing_keys:write', 'signing_keys:read');
    const key = await caller.create('signing_keys', {});
    expect((await caller.patch(`/signing_keys/${key['id']}/activate`)).status).toBe(200);
    const previous = (await caller.get('/signing_keys?filter[status]=previous')).body['data'][0] as Document;
    await expectRefused(caller.patch(`/signing_keys/${previous['id']}/deactivate`));
  });

  test('api_resources:write does not say where the metadata of the Management API send developers (attack 22.761)', async () => {
    const caller = await only('api_resources:read', 'api_resources:write');
    const own = await caller.create('api_resources', { name: 'Documented', identifier: 'https://documented.example' });
    const attributes = { documentation_url: 'https://docs.example/' };
    expect((await patch(caller, 'api_resources', own['id'], attributes)).status).toBe(200);
    const management = (await api.get('/api_resources?filter[search]=Management')).body['data'][0] as Document;
    await expectRefused(patch(caller, 'api_resources', management['id'], attributes), 'users:write');
  });

  test('api_resources:write does not change what tokens of the Management API are', async () => {
    const caller = await only('api_resources:write');
    const management = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0] as Document;
    await expectRefused(patch(caller, 'api_resources', management['id'], { access_token_lifetime: 86_400 }));
    await expectRefused(patch(caller, 'api_resources', management['id'], { token_format: 'opaque' }));
    const twin = { type: 'api_resource', attributes: { identifier: `${service.url}/api`, name: 'Twin' } };
    expect((await caller.post('/api_resources', { data: twin })).status).toBe(409);
    expect((await patch(caller, 'api_resources', management['id'], { identifier: 'https://elsewhere.example' })).status).toBe(403);
  });

  test('roles:write takes from roles no more than it holds, nor makes them everybody’s', async () => {
    const permission = (await api.get('/permissions?filter[name]=webhooks:read')).body['data'][0] as Document;
    const role = await api.create('roles', { name: 'Watching' }, { permissions: links('permission', permission['id']) });
    const caller = await only('roles:write');
    await expectRefused(
      caller.delete(`/roles/${role['id']}/relationships/permissions`, links('permission', permission['id'])),
      'webhooks:read',
    );
    await expectRefused(patch(caller, 'roles', role['id'], {}, { permissions: { data: [] } }), 'webhooks:read');
    await expectRefused(patch(caller, 'roles', role['id'], { is_default: true }), 'webhooks:read');
    await expectRefused(caller.delete(`/roles/${role['id']}`), 'webhooks:read');
    expect((await patch(caller, 'roles', role['id'], { description: 'Sees deliveries' })).status).toBe(200);
  });
});

test('a replayed Idempotency-Key is the actor’s own, takes what the request took, and repeats no secret (attack 22.243)', async () => {
  const machine = async (name: string) => {
    const client = await api.create('clients', { name, application_type: 'machine' });
    const management = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0] as Document;
    const relationships = { client: link('client', client['id']), api_resource: link('api_resource', management['id']) };
    const grant = await api.create('client_grants', { scopes: [...managementPermissions] }, relationships);
    const token = await managementToken(service.url, { id: client['id'], client_secret: client['attributes'].client_secret });
    return { caller: new Api(service.url, token), grant };
  };
  const [first, second] = [await machine('First'), await machine('Second')];
  const key = { 'idempotency-key': 'the same' };
  const body = { data: { type: 'client', attributes: { name: 'Kept', application_type: 'web', redirect_uris, first_party: true } } };
  const made = await first.caller.post('/clients', body, key);
  const again = await first.caller.post('/clients', body, key);
  expect([made.status, again.status, again.headers.get('idempotent-replayed'), again.body['meta']]).toEqual([
    201,
    201,
    'true',
    { secret_shown_before: true },
  ]);
  expect([again.body['data'].id, /\bcs_/.test(again.text)]).toEqual([made.body['data'].id, false]);
  const others = await second.caller.post('/clients', body, key);
  expect([others.status, others.headers.get('idempotent-replayed')]).toEqual([201, null]);
  await patch(api, 'client_grants', first.grant['id'], { scopes: ['clients:write', 'clients:read'] });
  const refused = await first.caller.post('/clients', body, key);
  expect([refused.status, refused.body['errors'][0].code, refused.body['errors'][0].meta.required]).toEqual([403, 'insufficient_scope', expect.arrayContaining(['users:write'])]); // prettier-ignore
  const slug = { data: { type: 'environment', attributes: { name: 'Once', slug: 'once', kind: 'staging' } } };
  const environment = await api.post('/environments', slug, key);
  const told = await api.post('/environments', slug, key);
  expect(environment.body['meta'].management_client.client_secret).toMatch(/^cs_/);
  const { client_id } = environment.body['meta'].management_client as Document;
  expect(told.body['meta']).toEqual({ management_client: { client_id }, secret_shown_before: true });
});

test('every exchange of this file is as the OpenAPI document says', async () => {
  const document = await publishedDocument(service.url);
  expect(document.problemsOf(api.exchanges)).toEqual([]);
});
