// A preview for an organization says what the tokens say, and refuses what is refused (specification 15.9.6).
import { beforeEach, expect, test } from 'vitest';
import { insert } from '../../src/db/scope.js';
import type { OrganizationRow } from '../../src/db/tables/organizations.js';
import type { UserRow } from '../../src/db/tables/users.js';
import { addClient, addResource, addUser, type TestClient } from '../support/data.js';
import { deviceCode } from '../support/device.js';
import { manage, type Api, type Document } from '../support/management.js';
import { addMembership, addOrganization, addRoleOf, changeRow } from '../support/organizations.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const resource = shared(() => addResource(ctx, { identifier: 'https://tenants.example', token_format: 'jwt' }));
const clientWith = (organization_usage: 'deny' | 'allow' | 'require'): TestClient =>
  shared(() => addClient(ctx, { organization_usage, grant_types: ['authorization_code', deviceCode, 'client_credentials'] }));
const clients = { deny: clientWith('deny'), allow: clientWith('allow'), require: clientWith('require') };

let api: Api;
let user: UserRow;
let acme: OrganizationRow;

beforeEach(async () => {
  api = await manage(service.url);
  user = await addUser(ctx);
  acme = await addOrganization(ctx);
  await addMembership(ctx, acme, user, { roles: [await addRoleOf(ctx, resource, ['read'])] });
  const elsewhere = await addRoleOf(ctx, resource, ['write'], 'environment');
  await insert<Record<string, unknown>>(ctx.scope, 'user_roles', { user_id: user.id, role_id: elsewhere.id });
});

const grantTypes = ['authorization_code', deviceCode];

async function preview(client: TestClient, fields: Document, by = api): Promise<Document> {
  const meta = {
    grant_type: 'authorization_code',
    client: client.id,
    user: user.id,
    scope: 'openid',
    resource: resource.identifier,
    ...fields,
  };
  const answer = await by.post('/token_preview', { meta });
  return answer.status === 200 ? (answer.body['meta'] as Document) : { status: answer.status, error: answer.body['errors'][0] };
}

test.each(grantTypes)(
  '%s: claims and permissions are those of the membership, or of the environment (specification 15.9.6)',
  async (grant_type) => {
    const named = { org_id: acme.id, org_name: acme.name };
    for (const organization of [acme.id, acme.name]) {
      const told = await preview(clients.allow, { grant_type, organization });
      expect(told).toMatchObject({ refusal: null, access_token: { claims: { ...named, permissions: ['read'] } }, id_token: named });
      expect(told['userinfo'].org_display_name).toBe(acme.display_name);
    }
    const free = await preview(clients.allow, { grant_type });
    expect(free).toMatchObject({ refusal: null, access_token: { claims: { permissions: ['write'] } } });
    expect(free['access_token'].claims).not.toHaveProperty('org_id');
    expect((await preview(clients.require, { grant_type }))['access_token'].claims.org_id).toBe(acme.id);
  },
);

test.each(grantTypes)('%s: refused, each with its rule', async (grant_type) => {
  const rule = async (client: TestClient, fields: Document) => (await preview(client, { grant_type, ...fields }))['refusal'].rule;
  expect(await rule(clients.deny, { organization: acme.name })).toBe('organizations_not_taken');
  expect(await rule(clients.allow, { organization: 'nobody' })).toBe('not_a_member');
  expect(await rule(clients.allow, { organization: (await addOrganization(ctx, { auto_membership: 'domain' })).name })).toBe(
    'not_a_member',
  );
  await addMembership(ctx, await addOrganization(ctx), user);
  expect(await rule(clients.require, {})).toBe('organization_open');
  expect(await rule(clients.allow, { organization: 'choose' })).toBe('organization_open');
  await changeRow(ctx, 'organizations', { id: acme.id }, { status: 'disabled' });
  expect(await rule(clients.allow, { organization: acme.name })).toBe('not_a_member');
});

test('who is a member takes organization_memberships:read, and a client of its own has no organization', async () => {
  const base = ['users:read', 'clients:read', 'api_resources:read'];
  const narrow = await manage(service.url, base.join(' '));
  for (const [client, fields] of [
    [clients.allow, { organization: acme.name }],
    [clients.require, {}],
  ] as const)
    expect(await preview(client, fields, narrow)).toMatchObject({
      status: 403,
      error: { meta: { required: ['organization_memberships:read'] } },
    });
  const wide = await manage(service.url, [...base, 'organization_memberships:read'].join(' '));
  expect((await preview(clients.allow, { organization: acme.name }, wide))['refusal']).toBeNull();
  const own = await preview(clients.allow, { grant_type: 'client_credentials', user: undefined, organization: acme.name });
  expect(own).toMatchObject({ status: 422, error: { code: 'invalid_value', source: { pointer: '/meta/organization' } } });
});
