// What a narrow permission could turn into reach in two steps: where something that reaches far already would hide that more is given.
import { expect, test } from 'vitest';
import { bootstrap } from '../../src/domain/configuration/bootstrap.js';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';
import { links, manage, secondEnvironment, type Api, type Document } from '../support/management.js';
import { shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const api = shared(() => manage(service.url));

const only = (...permissions: string[]) => manage(service.url, permissions.join(' '));

async function expectRefused(answer: Promise<{ status: number; body: Document }>, ...required: string[]): Promise<void> {
  const { status, body } = await answer;
  expect([status, body['errors']?.[0]?.code, body['errors']?.[0]?.meta?.required]).toEqual([403, 'scope_escalation', required]);
}

const permissionOf = async (caller: Api, name: string): Promise<string> =>
  (await caller.get(`/permissions?filter[name]=${name}`)).body['data'][0].id as string;

test('a user who reaches as far already is given no role that its giver doesn’t hold: the others may go, it would stay (attack 22.278)', async () => {
  const permissions = links('permission', await permissionOf(api, 'webhooks:read'));
  const [first, second, harmless] = [
    await api.create('roles', { name: 'First' }, { permissions }),
    await api.create('roles', { name: 'Second' }, { permissions }),
    await api.create('roles', { name: 'Harmless' }),
  ];
  const user = await api.create('users', { email: 'held@example.com' }, { roles: links('role', first['id']) });
  const caller = await only('users:write', 'roles:write', 'roles:read', 'users:read');
  const roles = `/users/${user['id']}/relationships/roles`;
  const both = links('role', first['id'], second['id']);
  const update = (linkage: Document) => ({ data: { type: 'user', id: user['id'], relationships: { roles: linkage } } });
  await expectRefused(caller.post(roles, links('role', second['id'])), 'webhooks:read');
  await expectRefused(caller.patch(roles, both), 'webhooks:read');
  await expectRefused(caller.patch(`/users/${user['id']}`, update(both)), 'webhooks:read');
  await expectRefused(caller.post(`/roles/${second['id']}/relationships/users`, links('user', user['id'])), 'webhooks:read');
  expect((await api.post(roles, links('role', second['id']))).status).toBe(204);
  await expectRefused(caller.request('DELETE', roles, { body: links('role', second['id']) }), 'webhooks:read');
  await expectRefused(caller.request('DELETE', `/roles/${second['id']}/relationships/users`, { body: links('user', user['id']) }), 'webhooks:read'); // prettier-ignore
  // What the user has is no news, and what reaches nothing is free.
  expect((await caller.post(roles, both)).status).toBe(204);
  expect((await caller.patch(`/users/${user['id']}`, update(links('role', first['id'], second['id'], harmless['id'])))).status).toBe(200);
  const holder = await only('users:write', 'roles:write', 'webhooks:read');
  expect((await holder.request('DELETE', roles, { body: links('role', second['id']) })).status).toBe(204);
});

test('an environment for development is opened to what default roles give only by those who hold that (attack 22.279)', async () => {
  const { id, api: there } = await secondEnvironment(api, 'dev');
  await service.deps.db.knex('environments').where({ id }).update({ kind: 'development', registration_enabled: false });
  service.deps.cache.clear();
  const permissions = links('permission', await permissionOf(there, 'webhooks:read'));
  await there.create('roles', { name: 'For all', is_default: true }, { permissions });
  const change = async (caller: Api, attributes: Document) => caller.update('environments', id, attributes);
  const caller = await only('environments:write');
  await expectRefused(change(caller, { registration_enabled: true }), 'webhooks:read');
  expect((await change(await only('environments:write', 'webhooks:read'), { registration_enabled: true })).status).toBe(200);
  // Whom it takes in decides who they are, even where default roles give nothing yet.
  const whom = await change(await only(...managementPermissions.filter((name) => name !== 'audit_logs:read')), { allowed_email_domains: ['elsewhere.example'] }); // prettier-ignore
  expect([whom.status, whom.body['errors']?.[0].meta.required]).toEqual([403, ['audit_logs:read']]);
});

test('an API resource that waits where BASE_URL moves to does not keep the service from starting there (attack 22.280)', async () => {
  const caller = await only('api_resources:write', 'api_resources:read');
  const moved = 'https://moved.example';
  const waiting = await caller.create('api_resources', { identifier: `${moved}/api`, name: 'Waiting' });
  // A start remembers nothing.
  service.deps.cache.clear();
  await bootstrap({ ...service.deps, config: { ...service.deps.config, baseUrl: moved } });
  const now = async (identifier: string) => service.deps.db.knex('api_resources').where({ identifier }).first();
  expect(await now(`${moved}/api`)).toMatchObject({ is_system: true });
  expect(await now(`urn:uuid:${waiting['id']}`)).toMatchObject({ id: waiting['id'], is_system: false });
  await bootstrap(service.deps);
  expect(await now(`${service.url}/api`)).toMatchObject({ is_system: true });
});
