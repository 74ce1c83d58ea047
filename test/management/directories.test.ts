import { describe, expect, test } from 'vitest';
import { addDirectory, addOrganization, sendScim, type TestDirectory } from '../support/directories.js';
import { link, links, manage, type Api, type Document } from '../support/management.js';
import { auditRows } from '../support/security-events.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared<Api>(() => manage(service.url));

const ofOrganization = (id: string) => ({ organization: link('organization', id) });
const create = (organization_id: string, attributes: Document = {}) =>
  api.attempt('directories', attributes, ofOrganization(organization_id));

const addGroup = async (directory: TestDirectory, displayName: string): Promise<string> =>
  ((await directory.send('POST', '/Groups', { displayName, externalId: `id of ${displayName}` })).body as { id: string }).id;

describe('a directory', () => {
  test('is made for an organization; its token is shown once, and works (specification 16.6.1)', async () => {
    const organization = await addOrganization(ctx);
    const made = await create(organization.id);
    expect(made.status).toBe(201);
    const { id, attributes } = made.body['data'] as { id: string; attributes: Document };
    const token = attributes['token'] as string;
    expect(attributes).toMatchObject({
      status: 'enabled',
      base_url: `${service.url}/scim/v2/${id}`,
      token_hint: token.slice(-4),
      previous_token_expires_at: null,
      last_used_at: null,
    });
    expect(token).toMatch(/^scim_[\w-]{43}$/);
    expect((await sendScim(`${attributes['base_url']}/Users`, token, 'GET')).status).toBe(200);
    const read = await api.get(`/directories/${id}`);
    expect(read.text).not.toContain(token);
    expect(read.body['data'].attributes).not.toHaveProperty('token');
    expect(read.body['data'].attributes.last_used_at).not.toBeNull();
    const again = await create(organization.id);
    expect(again).toMatchObject({ status: 409, body: { errors: [{ code: 'already_exists' }] } });
    expect(JSON.stringify(await auditRows(service, 'directory.created'))).not.toContain(token);
  });

  test('is found by its organization, disabled, and deleted', async () => {
    const organization = await addOrganization(ctx);
    const { id, attributes } = (await create(organization.id)).body['data'] as { id: string; attributes: Document };
    const listed = await api.get(`/directories?filter[organization]=${organization.id}&include=organization`);
    expect(listed.body['data']).toMatchObject([{ id }]);
    const disabled = await api.update('directories', id, { status: 'disabled' });
    expect(disabled.body['data'].attributes.status).toBe('disabled');
    expect((await sendScim(`${attributes['base_url']}/Users`, attributes['token'] as string, 'GET')).status).toBe(401);
    expect((await api.get('/directories?filter[status]=disabled')).body['data']).toMatchObject([{ id }]);
    expect((await api.delete(`/directories/${id}`)).status).toBe(204);
    expect((await api.get(`/directories/${id}`)).status).toBe(404);
    expect((await create(organization.id)).status).toBe(201);
  });

  test('gets a new token beside the one before, which is revoked by itself', async () => {
    const { id, attributes } = (await create((await addOrganization(ctx)).id)).body['data'] as { id: string; attributes: Document };
    const none = await api.patch(`/directories/${id}/revoke_previous_token`);
    expect(none).toMatchObject({ status: 409, body: { errors: [{ code: 'invalid_transition' }] } });
    const rotated = await api.patch(`/directories/${id}/rotate_token`);
    const next = rotated.body['data'].attributes as Document;
    expect(next['previous_token_expires_at']).not.toBeNull();
    const status = async (token: unknown) => (await sendScim(`${attributes['base_url']}/Users`, token as string, 'GET')).status;
    expect([await status(attributes['token']), await status(next['token'])]).toEqual([200, 200]);
    const revoked = await api.patch(`/directories/${id}/revoke_previous_token`);
    expect(revoked.body['data'].attributes).toMatchObject({ previous_token_expires_at: null });
    expect([await status(attributes['token']), await status(next['token'])]).toEqual([401, 200]);
    expect(await auditRows(service, 'directory.token_rotated')).toHaveLength(1);
    expect((await auditRows(service, 'security_setting.changed')).map(({ target_type }) => target_type)).toContain('directory');
  });

  test('is no way to more than one holds: the token of one whose members hold more takes that (attack 46.1353)', async () => {
    const strong = await addDirectory(ctx, 'strong.example');
    const held = (await api.get('/permissions?page[size]=100')).body['data'] as Document[];
    const permission = held.find((one) => one['attributes'].name === 'signing_keys:write')!;
    const permissions = { permissions: links('permission', permission['id'] as string) };
    const role = await api.create('roles', { name: 'Key keeper', kind: 'organization' }, permissions);
    const group = await addGroup(strong, 'Keepers');
    const roles = `/organization_groups/${group}/relationships/roles`;
    const narrow = await manage(
      service.url,
      'directories:write directories:read organization_groups:write organization_groups:read roles:read',
    );
    const refused = { status: 403, body: { errors: [{ code: 'scope_escalation' }] } };
    expect(await narrow.patch(roles, links('role', role['id'] as string))).toMatchObject(refused);
    const update = { data: { type: 'organization_group', id: group, relationships: { roles: links('role', role['id'] as string) } } };
    expect(await narrow.patch(`/organization_groups/${group}`, update)).toMatchObject(refused);
    expect((await api.patch(roles, links('role', role['id'] as string))).status).toBe(204);
    expect(await narrow.patch(roles, links('role'))).toMatchObject(refused);
    expect(await narrow.patch(`/directories/${strong.directory.id}/rotate_token`)).toMatchObject(refused);
    expect(await narrow.delete(`/directories/${strong.directory.id}`)).toMatchObject(refused);
    expect((await narrow.get(`/directories/${strong.directory.id}`)).status).toBe(200);
  });
});

describe('groups', () => {
  test('are listed, found and given roles, and neither made nor deleted here (specification 16.6.11)', async () => {
    const directory = await addDirectory(ctx, 'groups.example');
    const id = await addGroup(directory, 'Engineering');
    await addGroup(directory, 'Sales');
    const own = `filter[organization]=${directory.organization.id}`;
    const found = await api.get(`/organization_groups?${own}&filter[search]=engin&include=roles`);
    expect(found.body['data']).toMatchObject([{ id, attributes: { display_name: 'Engineering', external_id: 'id of Engineering' } }]);
    expect((await api.get(`/organization_groups?${own}&sort=-display_name`)).body['data']).toMatchObject([
      { attributes: { display_name: 'Sales' } },
      { id },
    ]);
    expect((await api.get(`/directories/${directory.directory.id}/groups`)).body['data']).toHaveLength(2);
    const role = await api.create('roles', { name: 'Engineer', kind: 'organization' });
    const replaced = { data: { type: 'organization_group', id, relationships: { roles: links('role', role['id'] as string) } } };
    expect((await api.patch(`/organization_groups/${id}`, replaced)).status).toBe(200);
    expect((await api.get(`/organization_groups/${id}/roles`)).body['data']).toMatchObject([{ id: role['id'] }]);
    expect((await api.delete(`/organization_groups/${id}/relationships/roles`, links('role', role['id'] as string))).status).toBeLessThan(
      300,
    );
    expect((await api.get(`/organization_groups/${id}/roles`)).body['data']).toEqual([]);
    expect((await api.delete(`/organization_groups/${id}`)).status).toBe(405);
    expect((await api.attempt('organization_groups', {})).status).toBe(405);
  });

  test('take roles of organizations alone', async () => {
    const directory = await addDirectory(ctx, 'kinds.example');
    const id = await addGroup(directory, 'G');
    const role = await api.create('roles', { name: 'Of the environment' });
    const refused = await api.patch(`/organization_groups/${id}/relationships/roles`, links('role', role['id'] as string));
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: 'wrong_role_kind' }] } });
    expect((await api.get(`/organization_groups/${id}/roles`)).body['data']).toEqual([]);
  });
});
