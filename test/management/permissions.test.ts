// Who may do what: tokens, roles, grants, escalation, withdrawal, the last administrator, the audit log.
import { beforeAll, expect, test } from 'vitest';
import { managementCollections } from '../../src/domain/reach/management-permissions.js';
import { Browser } from '../support/browser.js';
import { addClient, addResource, password } from '../support/data.js';
import { Api, link, links, manage, managementToken, startManagedService, type Document } from '../support/management.js';
import { publishedDocument } from '../support/openapi.js';
import { allowCode, redeem, tokenRequest } from '../support/oauth.js';
import { shared, sharedService } from '../support/shared-service.js';

const service = sharedService(() => startManagedService({ ADMIN_EMAIL: 'root@example.com', ADMIN_PASSWORD: password }));
let management: Document;
let permissions: Map<string, string>;
const unknownId = '00000000-0000-7000-8000-000000000000';

const api = shared(() => manage(service.url));

beforeAll(async () => {
  management = (await api.get(`/api_resources?filter[identifier]=${service.url}/api`)).body['data'][0];
  const all = (await api.get(`/api_resources/${management['id']}/permissions?page[size]=100`)).body['data'] as Document[];
  permissions = new Map(all.map((one) => [one['attributes'].name, one['id']]));
});

const firstError = (answer: { body: Document }) => answer.body['errors'][0] as Document;
let count = 0;

/** A machine client with a grant of these Management permissions, and a caller for it. */
async function machine(...scopes: string[]): Promise<{ caller: Api; client: Document; grant: Document }> {
  const client = await api.create('clients', { name: `Machine ${++count}`, application_type: 'machine' });
  const relationships = { client: link('client', client['id']), api_resource: link('api_resource', management['id']) };
  const grant = await api.create('client_grants', { scopes }, relationships);
  const token = await managementToken(service.url, { id: client['id'], client_secret: client['attributes'].client_secret });
  return { caller: new Api(service.url, token), client, grant };
}

/** Lets the client ask people for these Management permissions. */
const askFor = (client_id: string, scopes: readonly string[]) =>
  api.create(
    'client_grants',
    { scopes, subject_type: 'user' },
    { client: link('client', client_id), api_resource: link('api_resource', management['id']) },
  );

/** A person who holds these Management permissions by a role, and a caller with their token. */
async function person(...names: string[]): Promise<{ caller: Api; user: Document; role: Document }> {
  const ctx = await service.context();
  const ids = names.map((name) => permissions.get(name) as string);
  const role = await api.create('roles', { name: `Role ${++count}` }, { permissions: links('permission', ...ids) });
  const email = `person-${count}@example.com`;
  const user = await api.create('users', { email, password, email_verified: true }, { roles: links('role', role['id']) });
  const client = await addClient(ctx);
  const browser = new Browser(service.url);
  await browser.login(email, password);
  await askFor(client.id, names);
  const token = await redeem(
    service.url,
    client,
    await allowCode(browser, client, { resource: `${service.url}/api`, scope: names.join(' ') }),
  );
  if (token.status !== 200) throw new Error(JSON.stringify(token.body));
  return { caller: new Api(service.url, token.body.access_token), user, role };
}

test('a token of a person names no permission that the person does not hold; scopes of other resources stay as asked', async () => {
  const ctx = await service.context();
  const { user } = await person('users:read');
  const client = await addClient(ctx, { first_party: false });
  const other = await addResource(ctx, { identifier: 'https://api.example/other' }, ['read', 'write']);
  const browser = new Browser(service.url);
  await browser.login(user['attributes'].email as string, password);
  const ask = async (resource: string, scope: string) => {
    const allowed = await allowCode(browser, client, { resource, scope });
    const token = await redeem(service.url, client, allowed);
    const { html } = allowed;
    return { html, scope: token.body['scope'], caller: new Api(service.url, token.body.access_token) };
  };
  await askFor(client.id, ['users:read', 'users:write', 'signing_keys:write']);
  const own = await ask(`${service.url}/api`, 'openid users:read users:write signing_keys:write');
  expect(own.scope).toBe('openid users:read');
  expect([
    own.html.includes('signing keys'),
    (await own.caller.get('/users')).status,
    (await own.caller.delete(`/users/${unknownId}`)).status,
  ]).toEqual([false, 200, 403]);
  const consent = (await api.get(`/users/${user['id']}/consents`)).body['data'][0] as Document;
  // What reaches everybody is asked for each time: only the rest is remembered.
  expect(consent['attributes']).toMatchObject({ scopes: ['openid'] });
  expect((await ask(other.identifier, 'openid read write')).scope).toBe('openid read write');
});

test('without the permission every verb on every collection is 403 and changes nothing (attack 15.168)', async () => {
  const { caller } = await machine('event_types:read');
  const others = managementCollections.filter((path) => path !== 'event_types');
  for (const path of [...others, 'webhook_deliveries']) {
    const answers = [
      await caller.get(`/${path}`),
      await caller.get(`/${path}/${unknownId}`),
      await caller.post(`/${path}`, { data: {} }),
      await caller.patch(`/${path}/${unknownId}`, {}),
      await caller.delete(`/${path}/${unknownId}`),
    ];
    for (const answer of answers) expect([path, [403, 405].includes(answer.status), answer.body['data']]).toEqual([path, true, undefined]);
  }
  expect((await caller.get('/event_types')).status).toBe(200);
});

test('write does not imply read, and an included record needs the permission to read it', async () => {
  const { caller } = await machine('roles:write', 'users:read');
  expect((await caller.attempt('roles', { name: 'Written' })).status).toBe(201);
  expect((await caller.get('/roles')).status).toBe(403);
  const included = await caller.get('/users?include=roles');
  expect([included.status, firstError(included)]).toMatchObject([
    403,
    { source: { parameter: 'include' }, meta: { required: ['roles:read'] } },
  ]);
  const user = (await caller.get('/users')).body['data'][0];
  expect((await caller.get(`/users/${user.id}/roles`)).status).toBe(403);
});

test('a token for another resource, or of another kind, is 401', async () => {
  const client = await api.create('clients', { name: 'Elsewhere', application_type: 'machine' });
  const other = await api.create('api_resources', { identifier: 'https://other.example', name: 'Other' });
  await api.create(
    'client_grants',
    { scopes: [] },
    { client: link('client', client['id']), api_resource: link('api_resource', other['id']) },
  );
  const token = await tokenRequest(
    service.url,
    { id: client['id'], client_secret: client['attributes'].client_secret },
    { grant_type: 'client_credentials', resource: 'https://other.example' },
  );
  for (const bad of [token.body.access_token, 'at_x', 'a.b.c', ''])
    expect((await new Api(service.url, bad).get('/users')).status).toBe(401);
});

test('nobody hands out what they do not hold: roles, permissions, grants, secrets, passwords (attack 15.171)', async () => {
  const { caller } = await person(
    'roles:read',
    'roles:write',
    'users:read',
    'users:write',
    'client_grants:write',
    'clients:read',
    'clients:write',
    'api_resources:read',
    'permissions:read',
  );
  const refused = async (answer: Promise<{ status: number; body: Document }>) => {
    const { status, body } = await answer;
    expect([status, body['errors']?.[0]?.code]).toEqual([403, 'scope_escalation']);
  };
  const keys = permissions.get('signing_keys:write') as string;
  await refused(caller.attempt('roles', { name: 'Up' }, { permissions: links('permission', keys) }));
  const mine = await caller.create(
    'roles',
    { name: 'Mine' },
    { permissions: links('permission', permissions.get('users:read') as string) },
  );
  await refused(caller.post(`/roles/${mine['id']}/relationships/permissions`, links('permission', keys)));
  const administrator = (await api.get('/roles?filter[name]=administrator')).body['data'][0];
  await refused(caller.attempt('users', { email: 'up@example.com' }, { roles: links('role', administrator.id) }));
  const root = (await api.get('/users?filter[email]=root@example.com')).body['data'][0];
  await refused(caller.update('users', root.id, { password: 'another long passphrase' }));
  await refused(caller.update('users', root.id, { email: 'mine@example.com' }));
  await refused(caller.patch(`/clients/management/rotate_secret`));
  const client = await caller.create('clients', { name: 'Tool', application_type: 'machine' });
  const relationships = { client: link('client', client['id']), api_resource: link('api_resource', management['id']) };
  await refused(caller.attempt('client_grants', { scopes: ['signing_keys:write'] }, relationships));
  const grant = await caller.create('client_grants', { scopes: ['users:read'] }, relationships);
  await refused(caller.update('client_grants', grant['id'], { scopes: ['users:read', 'signing_keys:write'] }));
  const denied = await api.get('/audit_logs?filter[outcome]=denied&page[size]=100');
  const escalations = (denied.body['data'] as Document[]).filter((one) => one['attributes'].reason === 'scope_escalation');
  expect(escalations.reduce((sum, one) => sum + one['attributes'].count, 0)).toBeGreaterThanOrEqual(8);
});

test('what is withdrawn is refused at once: a grant, a role, a user, a client', async () => {
  const first = await machine('roles:read', 'users:read');
  expect((await first.caller.get('/roles')).status).toBe(200);
  const { id } = first.grant as { id: string };
  await api.update('client_grants', id, { scopes: ['users:read'] });
  expect([(await first.caller.get('/roles')).status, (await first.caller.get('/users')).status]).toEqual([403, 200]);
  await api.update('clients', first.client['id'], { status: 'disabled' });
  expect((await first.caller.get('/users')).status).toBe(401);

  const second = await person('roles:read');
  expect((await second.caller.get('/roles')).status).toBe(200);
  await api.patch(`/users/${second.user['id']}/relationships/roles`, { data: [] });
  expect((await second.caller.get('/roles')).status).toBe(403);
  await api.post(`/users/${second.user['id']}/relationships/roles`, links('role', second.role['id']));
  expect((await second.caller.get('/roles')).status).toBe(200);
  await api.patch(`/users/${second.user['id']}/block`);
  expect((await second.caller.get('/roles')).status).toBe(401);
});

test('blocking revokes the sessions; illegal moves are 409', async () => {
  const { user } = await person('roles:read');
  const sessions = `/sessions?filter[user]=${user['id']}&filter[status]=active`;
  expect((await api.get(sessions)).body['data']).toHaveLength(1);
  expect((await api.patch(`/users/${user['id']}/block`)).body['data'].attributes.status).toBe('blocked');
  expect((await api.get(sessions)).body['data']).toHaveLength(0);
  expect((await api.get(`/sessions?filter[user]=${user['id']}&filter[status]=revoked`)).body['data']).toHaveLength(1);
  const again = await api.patch(`/users/${user['id']}/block`);
  expect([again.status, firstError(again)['code']]).toEqual([409, 'invalid_transition']);
  expect((await api.patch(`/users/${user['id']}/unblock`)).status).toBe(200);
  expect((await api.patch(`/users/${user['id']}/unblock`)).status).toBe(409);
});

test('sessions are touched and revoked; the token is never shown', async () => {
  const { user } = await person('roles:read');
  const [session] = (await api.get(`/sessions?filter[user]=${user['id']}&include=user`)).body['data'] as Document[];
  const id = session?.['id'] as string;
  service.clock.advance(60_000);
  const touched = await api.patch(`/sessions/${id}/touch`, { data: null });
  expect(touched.body['data'].attributes.last_activity_at > session?.['attributes'].last_activity_at).toBe(true);
  expect(touched.body['data'].attributes.expires_at).toBe(session?.['attributes'].expires_at);
  expect((await api.patch(`/sessions/${id}/revoke`)).body['data'].attributes.status).toBe('revoked');
  expect((await api.patch(`/sessions/${id}/revoke`)).status).toBe(200);
  expect((await api.patch(`/sessions/${id}/touch`)).status).toBe(409);
  expect((await api.get(`/sessions/${id}`)).text).not.toMatch(/token|digest/);
});

test('the last administrator can not be blocked, deleted, or lose the role; nobody deletes themselves', async () => {
  const root = (await api.get('/users?filter[email]=root@example.com')).body['data'][0];
  const administrator = (await api.get('/roles?filter[name]=administrator')).body['data'][0];
  const attempts = [
    await api.patch(`/users/${root.id}/block`),
    await api.delete(`/users/${root.id}`),
    await api.delete(`/users/${root.id}/relationships/roles`, links('role', administrator.id)),
    await api.patch(`/users/${root.id}`, { data: { type: 'user', id: root.id, relationships: { roles: { data: [] } } } }),
    await api.delete(`/roles/${administrator.id}/relationships/users`, links('user', root.id)),
  ];
  for (const answer of attempts) expect([answer.status, firstError(answer)['code']]).toEqual([409, 'last_administrator']);
  const second = await api.create('users', { email: 'second@example.com' }, { roles: links('role', administrator.id) });
  const both = await Promise.all([api.patch(`/users/${root.id}/block`), api.patch(`/users/${second['id']}/block`)]);
  expect(both.map((answer) => answer.status).sort()).toEqual([200, 409]);
  await Promise.all([api.patch(`/users/${root.id}/unblock`), api.patch(`/users/${second['id']}/unblock`)]);
  const { caller, user } = await person('users:write');
  expect(firstError(await caller.delete(`/users/${user['id']}`))['code']).toBe('own_account');
});

test('what the service made for itself can not be changed', async () => {
  const administrator = (await api.get('/roles?filter[name]=administrator')).body['data'][0];
  expect((await api.update('roles', administrator.id, { name: 'x' })).status).toBe(403);
  expect((await api.delete(`/roles/${administrator.id}`)).status).toBe(403);
  expect((await api.delete(`/permissions/${permissions.get('users:read')}`)).status).toBe(403);
  expect((await api.delete(`/api_resources/${management['id']}`)).status).toBe(409);
  expect((await api.delete('/clients/management')).status).toBe(409);
});

test('every write leaves an audit entry in its transaction, secrets redacted; a denied one too', async () => {
  const user = await api.create('users', { email: 'audited@example.com', password: 'a secret passphrase 1' });
  await api.patch(
    `/users/${user['id']}`,
    { data: { type: 'user', id: user['id'], attributes: { first_name: 'Ann', password: 'a secret passphrase 2' } } },
    { 'x-request-id': 'audit-1' },
  );
  await api.patch(`/users/${user['id']}/block`);
  const log = await api.get(`/audit_logs?filter[target]=${user['id']}&sort=occurred_at`);
  const entries = (log.body['data'] as Document[]).map((one) => one['attributes']);
  const actions = entries.map(({ action }) => action as string);
  // The change of the password is a security event beside the write, of the same moment.
  expect([actions[0], actions.slice(1, 3).toSorted(), actions.slice(3)]).toEqual([
    'user.created',
    ['security_setting.changed', 'user.updated'],
    ['user.blocked'],
  ]);
  const { changes, actor, request_id, targets } = entries[actions.indexOf('user.updated')] as Document;
  expect(changes).toMatchObject({ first_name: [null, 'Ann'], password: ['[redacted]', '[redacted]'] });
  expect([actor.actor_kind, actor.actor_id, request_id, targets[0].display]).toEqual([
    'client',
    'management',
    'audit-1',
    'audited@example.com',
  ]);
  expect(log.text).not.toContain('passphrase');
  const { caller, client } = await machine('users:read');
  await caller.delete(`/users/${user['id']}`);
  const denied = (await api.get(`/audit_logs?filter[actor]=${client['id']}`)).body['data'] as Document[];
  expect(denied.map((one) => [one['attributes'].outcome, one['attributes'].reason])).toEqual([['denied', 'insufficient_scope']]);
});

test('a denied request is audited under the name that the operation has when it is done', async () => {
  const { caller, client } = await machine('webhooks:read');
  const user = await api.create('users', { email: 'denied@example.com' });
  const { id } = user;
  const requests: [() => Promise<{ status: number }>, string, string | null][] = [
    [() => caller.get('/users'), 'user.read', null],
    [() => caller.get(`/users/${id}/roles`), 'user.read', id],
    [() => caller.post('/users', { data: { type: 'user' } }), 'user.created', null],
    [() => caller.patch(`/users/${id}`, { data: { type: 'user', id } }), 'user.updated', id],
    [() => caller.patch(`/users/${id}/relationships/roles`, { data: [] }), 'user.updated', id],
    [() => caller.delete(`/users/${id}/relationships/roles`, { data: [] }), 'user.updated', id],
    [() => caller.delete(`/users/${id}`), 'user.deleted', id],
    [() => caller.patch(`/users/${id}/block`), 'user.blocked', id],
    [() => caller.post(`/users/${id}/send_password_reset`), 'user.password_reset_sent', id],
    [() => caller.delete(`/sessions/${unknownId}`), 'session.revoked', unknownId],
    [() => caller.patch(`/webhooks/${unknownId}/rotate_secret`), 'webhook.secret_rotated', unknownId],
    [() => caller.post(`/webhooks/${unknownId}/redeliver_failed`), 'webhook.failed_redelivered', unknownId],
    [() => caller.patch('/signing_keys/x/activate'), 'signing_key.activated', 'x'],
    [() => caller.delete('/users/%00'), 'user.deleted', null],
    [() => caller.delete(`/clients/${'y'.repeat(300)}`), 'client.deleted', null],
  ];
  // At the beginning of a minute: what is refused again within it is counted in its entry.
  service.clock.advance(60_000 - (service.clock.now().getTime() % 60_000));
  const counts = new Map<string, number>();
  for (const [send, action, target] of requests) {
    expect([action, (await send()).status]).toEqual([action, 403]);
    const entry = JSON.stringify([action, target, 'denied', 'insufficient_scope']);
    counts.set(entry, (counts.get(entry) ?? 0) + 1);
  }
  const expected = [...counts].map(([entry, count]) => [...(JSON.parse(entry) as unknown[]), count]);
  const log = (await api.get(`/audit_logs?filter[actor]=${client['id']}&sort=occurred_at&page[size]=100`)).body['data'] as Document[];
  expect(log.map(({ attributes: one }) => [one.action, one.targets[0].target_id, one.outcome, one.reason, one.count])).toEqual(expected);
});

test('every exchange of this file is as the OpenAPI document says', async () =>
  expect((await publishedDocument(service.url)).problemsOf(api.exchanges)).toEqual([]));

const filtersElsewhere: readonly (readonly [path: string, own: string, other: string])[] = [
  [`users?filter[role]=${unknownId}`, 'users:read', 'roles:read'],
  [`organization_memberships?filter[role]=${unknownId}`, 'organization_memberships:read', 'roles:read'],
  [`clients?filter[connection]=${unknownId}`, 'clients:read', 'connections:read'],
  ['organizations?filter[domain]=acme.example', 'organizations:read', 'organization_domains:read'],
];
test.each(filtersElsewhere)('%s tells nothing of what its caller may not read (attack 68.1932)', async (path, own, other) => {
  const refused = await (await machine(own)).caller.get(`/${path}`);
  expect([refused.status, firstError(refused)]).toMatchObject([403, { code: 'insufficient_scope', meta: { required: [other] } }]);
  expect((await (await machine(own, other)).caller.get(`/${path}`)).status).toBe(200);
});

test('the addresses of relationships name no records that their caller may not read (attack 68.1935)', async () => {
  const { user, role } = await person('users:read');
  for (const [path, own, other] of [
    [`users/${user['id']}/relationships/roles`, 'users:read', 'roles:read'],
    [`users/${user['id']}/relationships/sessions`, 'users:read', 'sessions:read'],
    [`roles/${role['id']}/relationships/permissions`, 'roles:read', 'permissions:read'],
  ] as const) {
    const refused = await (await machine(own)).caller.get(`/${path}`);
    expect([refused.status, firstError(refused).meta?.required]).toEqual([403, [own, other]]);
    const { status, body } = await (await machine(own, other)).caller.get(`/${path}`);
    expect([status, body['data'].length]).toEqual([200, 1]);
  }
});
