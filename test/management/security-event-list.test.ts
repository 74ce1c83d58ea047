// Security events at the Management API and in the dashboard, and that each change of what guards something leaves one.
import { describe, expect, test } from 'vitest';
import { flushSecurityTrail } from '../../src/domain/audit/security-trail.js';
import { createFirstAdministrator } from '../../src/domain/users/setup.js';
import { rotationPass } from '../../src/jobs/key-rotation.js';
import { securityEvents } from '../../src/lib/security-events.js';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { Api, link, links, manage, managementClient, managementToken, secondEnvironment, type Document } from '../support/management.js';
import { eventLines, marks, origin } from '../support/security-events.js';
import { createClientKey } from '../support/signed-jwt.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url));

async function listed(query: string, caller = api): Promise<Document[]> {
  await flushSecurityTrail(service.deps);
  return ((await caller.get(`/security_events?${query}`)).body['data'] as Document[]).map((one) => ({
    id: one['id'],
    ...one['attributes'],
  }));
}

/** The events of the name about the target, newest first. */
const eventsAbout = (event: string, target: string) => listed(`filter[event]=${event}&filter[target]=${target}`);

const byManagement = { actor_kind: 'client', actor_id: managementClient.id };

describe('the list', () => {
  test('shows what happened by its name, with whom it is about and where it came from', async () => {
    const user = await addUser(ctx);
    const browser = new Browser(service.url);
    for (let times = 0; times < 2; times++) await browser.postJson('/login', { email: user.email, password: 'wrong' }, marks);
    const failed = await eventsAbout('login.failed', user.id);
    expect(failed.reduce((sum, { count }) => sum + (count as number), 0)).toBe(2);
    expect(failed[0]).toEqual({
      id: expect.any(String),
      event: 'login.failed',
      severity: 'info',
      occurred_at: expect.any(String),
      outcome: 'failure',
      actor: { actor_kind: 'anonymous', actor_id: null, display: null },
      user_id: user.id,
      client_id: null,
      ...origin,
      count: expect.any(Number),
      detail: { reason: 'invalid_credentials', target: { target_type: 'user', target_id: user.id, display: user.email } },
    });
  });

  test('has denied operations under management.denied, with the operation that was tried', async () => {
    const reader = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'users:read' }));
    expect((await reader.get('/webhooks')).status).toBe(403);
    const [denied] = await listed('filter[event]=management.denied&filter[severity]=warning');
    expect(denied).toMatchObject({ outcome: 'denied', actor: byManagement, client_id: managementClient.id });
    expect(denied?.['detail']).toMatchObject({ reason: 'insufficient_scope', action: 'webhook.read' });
    expect((await listed('page[size]=100')).every(({ event }) => Object.hasOwn(securityEvents, event as string))).toBe(true);
  });

  test('takes its own permission, shows another environment nothing, and can not be written (attack 35.721)', async () => {
    const others = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'audit_logs:read' }));
    const refused = await others.get('/security_events');
    expect([refused.status, refused.body['errors'][0].meta.required]).toEqual([403, ['security_events:read']]);
    const reader = new Api(service.url, await managementToken(service.url, managementClient, { scope: 'security_events:read' }));
    const [own] = await listed('page[size]=1', reader);
    expect(own).toBeDefined();
    const { api: there } = await secondEnvironment(api, 'elsewhere');
    expect((await there.get(`/security_events/${own?.['id']}`)).status).toBe(404);
    expect((await listed('page[size]=100', there)).map(({ id }) => id)).not.toContain(own?.['id']);
    for (const method of ['post', 'patch', 'delete'] as const) {
      expect((await api[method](`/security_events${method === 'post' ? '' : `/${own?.['id']}`}`, { data: {} })).status).toBe(405);
    }
    expect((await api.get('/security_events?filter[event]=made.up')).status).toBe(400);
    const plain = await api.get('/audit_logs?filter[action]=webhook.created&page[size]=1');
    const operation = (plain.body['data'] as Document[])[0]?.['id'] ?? (await madeWebhook());
    expect((await api.get(`/security_events/${operation}`)).status).toBe(404);
  });

  const madeWebhook = async (): Promise<string> => {
    await api.create('webhooks', { name: 'x', url: 'https://x.example/', events: ['*'] });
    return ((await api.get('/audit_logs?filter[action]=webhook.created&page[size]=1')).body['data'] as Document[])[0]?.['id'] as string;
  };

  test('a name that only a newer release knows is shown as it is', async () => {
    const user = await addUser(ctx);
    await new Browser(service.url).postJson('/login', { email: user.email, password: 'wrong' });
    const [failed] = await eventsAbout('login.failed', user.id);
    await ctx.db.knex('audit_logs').where({ id: failed?.['id'] }).update({ event: 'made.later' });
    const answer = await api.get(`/security_events/${failed?.['id']}`);
    expect(answer.body['data'].attributes).toMatchObject({ event: 'made.later', severity: 'warning' });
    await ctx.db.knex('audit_logs').where({ id: failed?.['id'] }).update({ event: null });
    expect((await eventsAbout('login.failed', user.id)).map(({ id }) => id)).toEqual([failed?.['id']]);
  });

  test('the dashboard shows and filters it, and one event with what it means', async () => {
    const user = await addUser(ctx);
    await new Browser(service.url).postJson('/login', { email: user.email, password: 'wrong' });
    const [failed] = await eventsAbout('login.failed', user.id);
    const viewer = await signedInWith(service, 'security_events:read');
    const page = await (await viewer.get(`/dashboard/security_events?event=login.failed&target=${user.id}`)).text();
    for (const words of ['Wrong password', user.email, 'Security events']) expect(page).toContain(words);
    const none = await (await viewer.get(`/dashboard/security_events?event=password.changed&target=${user.id}`)).text();
    expect(none).not.toContain(user.email);
    const one = await (await viewer.get(`/dashboard/security_events/${failed?.['id']}`)).text();
    for (const words of ['invalid_credentials', '127.0.0.1', 'An address without a user is not recorded']) expect(one).toContain(words);
    expect((await (await signedInWith(service, 'audit_logs:read')).get('/dashboard/security_events')).status).toBe(403);
  });
});

describe('changes of what guards something leave an event, whoever makes them (attack 35.722)', () => {
  test('role.assigned and role.withdrawn: to a person, by the person or by the role, and at creation', async () => {
    const role = await api.create('roles', { name: 'clerk' });
    const made = await api.create('users', { email: 'made@example.com' }, { roles: links('role', role['id']) });
    expect(await eventsAbout('role.assigned', made['id'])).toMatchObject([
      { severity: 'warning', actor: byManagement, user_id: made['id'], detail: { roles: ['clerk'] } },
    ]);
    const user = await addUser(ctx);
    const body = { data: [{ type: 'role', id: role['id'] }] };
    expect((await api.post(`/users/${user.id}/relationships/roles`, body, marks)).status).toBe(204);
    expect((await api.post(`/users/${user.id}/relationships/roles`, body, marks)).status).toBe(204);
    expect(await eventsAbout('role.assigned', user.id)).toMatchObject([{ ...origin, detail: { roles: ['clerk'] } }]);
    const members = { data: [{ type: 'user', id: user.id }] };
    expect((await api.delete(`/roles/${role['id']}/relationships/users`, members)).status).toBe(204);
    expect(await eventsAbout('role.withdrawn', user.id)).toMatchObject([{ user_id: user.id, detail: { roles: ['clerk'] } }]);
    expect(eventLines(service, 'role.withdrawn').at(-1)).toMatchObject({ target_id: user.id, severity: 'warning' });
  });

  test('organization_member.*: who comes in, what they hold, who is kept out and goes', async () => {
    const role = await api.create('roles', { name: 'seller', kind: 'organization' });
    const of = (await api.create('organizations', { name: 'acme', display_name: 'Acme' }))['id'] as string;
    const user = await addUser(ctx);
    const parties = { organization: link('organization', of), user: link('user', user.id) };
    const data = { type: 'organization_membership', relationships: parties };
    const { id } = (await api.post('/organization_memberships', { data }, marks)).body['data'] as { id: string };
    expect(await eventsAbout('organization_member.added', user.id)).toMatchObject([
      { ...origin, actor: byManagement, user_id: user.id, detail: { organization_id: of, source: 'manual', roles: [] } },
    ]);
    const roles = { data: [{ type: 'role', id: role['id'] }] };
    expect((await api.post(`/organization_memberships/${id}/relationships/roles`, roles)).status).toBe(204);
    await api.patch(`/organization_memberships/${id}/suspend`);
    await api.patch(`/organization_memberships/${id}/resume`);
    expect((await eventsAbout('organization_member.changed', user.id)).map(({ detail }) => detail)).toMatchObject([
      { status: 'active' },
      { status: 'suspended' },
      { roles_added: ['seller'], roles_removed: [] },
    ]);
    expect((await api.patch(`/organization_memberships/${id}/resume`)).status).toBe(409);
    expect(await eventsAbout('organization_member.changed', user.id)).toHaveLength(3);
    await api.delete(`/organization_memberships/${id}`);
    expect(await eventsAbout('organization_member.removed', user.id)).toMatchObject([{ detail: { organization_id: of } }]);
    expect(await eventsAbout('security_setting.changed', id)).toEqual([]);
  });

  test('invitation.*, and what of an organization is a setting', async () => {
    const of = (await api.create('organizations', { name: 'umbrella', display_name: 'Umbrella' }))['id'] as string;
    const whose = { organization: link('organization', of) };
    const { id } = await api.create('organization_invitations', { email: 'new@umbrella.example' }, whose);
    await api.post(`/organization_invitations/${id}/resend`);
    await api.patch(`/organization_invitations/${id}/revoke`);
    const sent = await eventsAbout('invitation.sent', id as string);
    expect(sent).toMatchObject([{ actor: byManagement }, { detail: { organization_id: of, roles: [] } }]);
    expect(JSON.stringify(sent)).not.toContain('umbrella.example');
    expect(await eventsAbout('invitation.revoked', id as string)).toHaveLength(1);
    expect((await api.patch(`/organization_invitations/${id}/revoke`)).status).toBe(409);
    expect(await eventsAbout('invitation.revoked', id as string)).toHaveLength(1);

    const settings = async (target: string) => (await eventsAbout('security_setting.changed', target)).map(({ detail }) => detail.settings);
    await api.update('organizations', of, { require_sso: 'everyone', metadata: { a: 1 } });
    expect((await settings(of))[0]).toEqual(['require_sso']);
    const domain = (await api.create('organization_domains', { domain: 'umbrella.example' }, whose))['id'] as string;
    expect(await settings(domain)).toEqual([['domain', 'status']]);
    const directory = (await api.create('directories', {}, whose))['id'] as string;
    await api.patch(`/directories/${directory}/rotate_token`);
    await api.patch(`/directories/${directory}/revoke_previous_token`);
    await api.update('directories', directory, { status: 'disabled' });
    await api.delete(`/directories/${directory}`);
    expect(await settings(directory)).toEqual([['token'], ['status'], ['token'], ['token'], ['token']]);
  });

  test('role.assigned: the first administrator, by the service', async () => {
    const { ctx: empty } = await freshEnvironment('first');
    const user = await createFirstAdministrator(empty, {
      email: 'first@example.com', email_key: 'first@example.com', first_name: 'A', last_name: 'B', password_hash: 'x',
    }); // prettier-ignore
    const rows = await ctx.db.knex('audit_logs').where({ action: 'role.assigned', target_id: user?.id });
    expect(rows).toMatchObject([{ actor_kind: 'system', changes: { roles: [null, ['administrator']] } }]);
  });

  test('permission.changed: a permission, the permissions of a role, the grant of a client', async () => {
    const resource = await api.create('api_resources', { identifier: 'https://orders.example', name: 'Orders' });
    const permission = await api.create('permissions', { name: 'orders:read' }, { api_resource: link('api_resource', resource['id']) });
    expect(await eventsAbout('permission.changed', permission['id'])).toMatchObject([{ detail: { action: 'permission.created' } }]);
    const role = await api.create('roles', { name: 'reader' });
    expect(await eventsAbout('permission.changed', role['id'])).toEqual([]);
    expect((await api.update('roles', role['id'], { description: 'x' })).status).toBe(200);
    expect(await eventsAbout('permission.changed', role['id'])).toEqual([]);
    const held = { data: [{ type: 'permission', id: permission['id'] }] };
    expect((await api.post(`/roles/${role['id']}/relationships/permissions`, held)).status).toBe(204);
    expect(await eventsAbout('permission.changed', role['id'])).toMatchObject([
      { detail: { action: 'role.updated', changed: ['permissions'] } },
    ]);
    const client = await api.create('clients', { name: 'Shop', application_type: 'machine' });
    const grant = await api.create('client_grants', { scopes: ['orders:read'] }, { client: link('client', client['id']), api_resource: link('api_resource', resource['id']) }); // prettier-ignore
    expect((await api.delete(`/client_grants/${grant['id']}`)).status).toBe(204);
    expect((await eventsAbout('permission.changed', grant['id'])).map(({ detail }) => detail.action)).toEqual([
      'client_grant.deleted',
      'client_grant.created',
    ]);
  });

  test('signing_key.changed: by hand', async () => {
    const key = await api.create('signing_keys', {});
    expect((await api.patch(`/signing_keys/${key['id']}/activate`)).status).toBe(200);
    expect((await eventsAbout('signing_key.changed', key['id'])).map(({ detail }) => detail.action)).toEqual([
      'signing_key.activated',
      'signing_key.created',
    ]);
  });

  test('client_secret.rotated', async () => {
    const client = await api.create('clients', { name: 'Rotated', application_type: 'machine' });
    const rotated = await api.patch(`/clients/${client['id']}/rotate_secret`);
    const [event] = await eventsAbout('client_secret.rotated', client['id']);
    expect(event).toMatchObject({ client_id: client['id'], actor: byManagement });
    expect(JSON.stringify(event)).not.toContain(rotated.body['data'].attributes.client_secret);
  });

  test('client_tokens.revoked', async () => {
    const client = await api.create('clients', { name: 'Revoked', application_type: 'machine' });
    expect((await api.patch(`/clients/${client['id']}/revoke_tokens`)).status).toBe(200);
    expect(await eventsAbout('client_tokens.revoked', client['id'])).toMatchObject([{ client_id: client['id'], actor: byManagement }]);
  });

  test('security_setting.changed: what guards something, and nothing else', async () => {
    const own = ctx.environment.id;
    const change = (attributes: Document) => api.update('environments', own, attributes);
    expect((await change({ support_email: 'help@example.com' })).status).toBe(200);
    expect(await eventsAbout('security_setting.changed', own)).toEqual([]);
    expect((await change({ lockout_threshold: 20, support_email: null })).status).toBe(200);
    expect(await eventsAbout('security_setting.changed', own)).toMatchObject([{ detail: { settings: ['lockout_threshold'] } }]);
  });

  /** Names of the events about the record, with what they say was touched, oldest first. */
  const toldOf = async (id: string) =>
    (await listed(`filter[target]=${id}&page[size]=100`)).map(({ event, detail }) => [event, detail.action, detail.settings]).reverse();
  test('a client’s keys and method apart from its redirect URIs and guards, and nothing of its description (attack 35.1015)', async () => {
    const client = await api.create('clients', { name: 'Shop', redirect_uris: ['https://shop.example/cb'] });
    const [id, created] = [client['id'] as string, await toldOf(client['id'])];
    // Two of one write have one time.
    expect(created.map(([event]) => event).sort()).toEqual(['client_credential.changed', 'security_setting.changed']);
    expect((await api.update('clients', id, { description: 'Sells.' })).status).toBe(200);
    const key = await createClientKey('ES256');
    const attributes = {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [key.jwk] },
      redirect_uris: ['https://elsewhere.example/cb'],
      required_acr: '2',
      name: 'Renamed',
    };
    expect((await api.update('clients', id, attributes)).status).toBe(200);
    expect((await toldOf(id)).slice(2).sort()).toEqual([
      ['client_credential.changed', 'client.updated', ['jwks', 'token_endpoint_auth_method']],
      ['security_setting.changed', 'client.updated', ['name', 'redirect_uris', 'required_acr']],
    ]);
    const issuer = await api.create('trusted_issuers', {
      name: 'CI',
      issuer: 'https://ci.example',
      jwks: { keys: [key.jwk] },
    });
    const proven = { client: link('client', id), trusted_issuer: link('trusted_issuer', issuer['id']) };
    const credential = await api.create('federated_credentials', { claims: { sub: 'job' } }, proven);
    expect((await api.update('trusted_issuers', issuer['id'] as string, { name: 'Builds' })).status).toBe(200);
    expect((await api.delete(`/federated_credentials/${credential['id']}`)).status).toBe(204);
    expect((await toldOf(issuer['id'])).map(([event, action]) => [event, action])).toEqual([
      ['client_credential.changed', 'trusted_issuer.created'],
    ]);
    expect(await toldOf(credential['id'])).toEqual([
      ['client_credential.changed', 'federated_credential.created', ['audience', 'claims']],
      ['client_credential.changed', 'federated_credential.deleted', ['audience', 'claims']],
    ]);
  });

  test('a connection’s issuer and second_factor; a custom domain that comes, goes, or is no longer proven (attack 35.1015)', async () => {
    const provider = { strategy: 'oidc', issuer: 'https://provider.example', provider_client_id: 'id', provider_client_secret: 'secret' };
    const connection = await api.create('connections', { name: 'told', display_name: 'Told', ...provider });
    const moved = { issuer: 'https://other.example', provider_client_secret: 'another', second_factor: 'provider', display_name: 'New' };
    expect((await api.update('connections', connection['id'] as string, moved)).status).toBe(200);
    const [, updated] = await toldOf(connection['id']);
    expect(updated).toEqual([
      'security_setting.changed',
      'connection.updated',
      expect.arrayContaining(['issuer', 'provider_client_secret', 'second_factor']),
    ]);
    expect(updated?.[2]).not.toContain('display_name');
    const domain = await api.create('custom_domains', { domain: 'told.example.com' });
    expect((await api.delete(`/custom_domains/${domain['id']}`)).status).toBe(204);
    expect((await toldOf(domain['id'])).map(([event, action]) => [event, action])).toEqual([
      ['security_setting.changed', 'custom_domain.created'],
      ['security_setting.changed', 'custom_domain.deleted'],
    ]);
  });

  test('a client that changes its own registration (RFC 7592 2.2) tells of itself (attack 35.1015)', async () => {
    await ctx.db
      .knex('environments')
      .where({ id: ctx.environment.id })
      .update({ dynamic_registration_enabled: true, client_registration_policy: 'open' });
    ctx.cache.clear();
    const send = async (method: string, url: string, body: Document, token?: string) => {
      const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
      const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
      return (await answer.json()) as Document;
    };
    const metadata = { client_name: 'Own', redirect_uris: ['https://own.example/cb'] };
    const own = await send('POST', `${service.url}/oauth/register`, metadata);
    const put = (changes: Document) =>
      send(
        'PUT',
        own['registration_client_uri'],
        { client_id: own['client_id'], ...metadata, ...changes },
        own['registration_access_token'],
      );
    await put({ client_name: 'Other', contacts: ['a@own.example'] });
    expect(await toldOf(own['client_id'])).toEqual([]);
    const key = await createClientKey('ES256');
    await put({ redirect_uris: ['https://moved.example/cb'], jwks: { keys: [key.jwk] } });
    expect((await toldOf(own['client_id'])).sort()).toEqual([
      ['client_credential.changed', 'client.updated', ['jwks']],
      ['security_setting.changed', 'client.updated', ['redirect_uris']],
    ]);
    expect((await eventsAbout('client_credential.changed', own['client_id']))[0]).toMatchObject({
      actor: { actor_kind: 'client', actor_id: own['client_id'] },
      ip_address: '127.0.0.1',
    });
  });

  test('a change that is refused leaves none', async () => {
    const role = await api.create('roles', { name: 'refused' });
    const [administrator] = (await api.get('/roles?filter[name]=administrator')).body['data'] as Document[];
    const before = (await listed('filter[event]=permission.changed&page[size]=100')).length;
    const held = { data: [{ type: 'permission', id: role['id'] }] };
    expect((await api.post(`/roles/${administrator?.['id']}/relationships/permissions`, held)).status).toBeGreaterThanOrEqual(400);
    expect(await listed('filter[event]=permission.changed&page[size]=100')).toHaveLength(before);
  });
});

// Last: what the clock rotates away ends the token that the others use.
test('signing_key.changed: by the rotation of the service (attack 35.722)', async () => {
  const later = { ...service.clock, now: () => new Date(service.clock.now().getTime() + 89.5 * 86_400_000) };
  const { generated } = await rotationPass({ ...service.deps, clock: later });
  const rows = await ctx.db
    .knex('audit_logs')
    .where({ action: 'signing_key.changed', actor_kind: 'system' })
    .whereIn('target_id', generated);
  expect(generated.length).toBeGreaterThan(0);
  expect(rows).toHaveLength(generated.length);
});

async function freshEnvironment(slug: string) {
  const { id } = await secondEnvironment(api, slug);
  return { ctx: await service.contextOf(id) };
}
