// Who comes to roles of an organization by an address in its domains: whoever may write people gives nobody such an address beyond their own reach.
import { beforeAll, expect, test } from 'vitest';
import { apiResourceOf } from '../../../src/domain/clients/clients.js';
import type { UserRow } from '../../../src/db/tables/users.js';
import { addUser } from '../../support/data.js';
import { imported } from '../../support/imports.js';
import { manage, type Api, type Document } from '../../support/management.js';
import { addDomain, addMembership, addOrganization, addRoleOf, changeRow } from '../../support/organizations.js';
import { insert } from '../../../src/db/scope.js';
import { contextOf, shared, sharedManagedService } from '../../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const domain = 'joins-by-address.example';
const given = 'connections:write';
const organization = shared(() => addOrganization(ctx, { auto_membership: 'domain' }));
let [narrow, wide, narrowImports]: Api[] = [];

beforeAll(async () => {
  const api = await apiResourceOf(ctx, ctx.environment.management_audience);
  const role = await addRoleOf(ctx, api as NonNullable<typeof api>, [given]);
  await insert(ctx.scope, 'organization_default_roles', { organization_id: organization.id, role_id: role.id });
  await addDomain(ctx, organization, domain);
  narrow = await manage(service.url, 'users:read users:write authenticators:read authenticators:write');
  narrowImports = await manage(service.url, 'users:read users:write user_imports:read user_imports:write');
  wide = await manage(service.url, `users:read users:write ${given}`);
});

let number = 0;
const email = () => `one-${(number += 1)}@${domain}`;
const create = (api: Api | undefined, attributes: Document) => (api as Api).attempt('users', attributes);
const change = (api: Api | undefined, { id }: Pick<UserRow, 'id'>, attributes: Document) => (api as Api).update('users', id, attributes);
const told = ({ status, body }: { status: number; body: Document }) => [status, body['errors']?.[0]?.code, body['errors']?.[0]?.meta];
const refused = [403, 'scope_escalation', { required: [given] }];

test('users:write alone makes nobody who joins with more than that, and proves no address there (attack 64.1882)', async () => {
  expect(told(await create(narrow, { email: email(), email_verified: true }))).toEqual(refused);
  const unproven = await create(narrow, { email: email() });
  expect(unproven.status).toBe(201);
  const { id } = unproven.body['data'] as { id: string };
  expect(told(await change(narrow, { id }, { email_verified: true }))).toEqual(refused);
  const elsewhere = await addUser(ctx);
  expect(told(await change(narrow, elsewhere, { email: email(), email_verified: true }))).toEqual(refused);
  expect((await create(wide, { email: email(), email_verified: true })).status).toBe(201);
});

test('whoever has such an address and has yet to come reaches as far already (attack 64.1882)', async () => {
  const user = await addUser(ctx, { email: email() });
  const password = 'a wholly different sentence';
  expect(told(await change(narrow, user, { password }))).toEqual(refused);
  const app = { kind: 'totp', name: 'Phone', secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP' };
  const relationships = { user: { data: { type: 'user', id: user.id } } };
  expect(told(await (narrow as Api).attempt('authenticators', app, relationships))).toEqual(refused);
  expect((await change(wide, user, { password })).status).toBe(200);
});

test('a member has the roles that they have, and who was removed comes to none', async () => {
  const [member, removed] = [await addUser(ctx, { email: email() }), await addUser(ctx, { email: email() })];
  await addMembership(ctx, organization, member);
  await insert(ctx.scope, 'removed_members', {
    organization_id: organization.id,
    user_id: removed.id,
    removed_at: ctx.clock.now(),
  } as never);
  for (const user of [member, removed]) expect((await change(narrow, user, { nickname: 'Ada', external_id: user.id })).status).toBe(200);
});

test('nor does an import (attack 64.1882)', async () => {
  const rows = [
    { email: email(), email_verified: true },
    { email: email() },
    { email: 'import-joins@elsewhere.example', email_verified: true },
  ];
  const job = await imported(service, narrowImports as Api, rows, { addresses_proven: true });
  expect(job).toMatchObject({ created_count: 2, failed_count: 1, errors: [[1, 'scope_escalation', expect.any(String)]] });
});

test('an organization that lets nobody in by address gives nothing', async () => {
  await changeRow(ctx, 'organizations', { id: organization.id }, { auto_membership: 'connection' });
  expect((await create(narrow, { email: email(), email_verified: true })).status).toBe(201);
});
