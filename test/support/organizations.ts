import { table, insert } from '../../src/db/scope.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { insertMembership, type MembershipRow } from '../../src/db/tables/organization_memberships.js';
import { insertOrganization, type OrganizationRow } from '../../src/db/tables/organizations.js';
import { listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import type { RoleRow } from '../../src/db/tables/roles.js';
import type { Context } from '../../src/domain/context.js';
import { randomToken, uuidv7 } from '../../src/lib/random.js';

const stamp = (ctx: Pick<Context, 'clock'>) => {
  const now = ctx.clock.now();
  return { id: uuidv7(now.getTime()), created_at: now, updated_at: now };
};

/** An enabled organization that nobody joins by signing in, unless told otherwise. */
export async function addOrganization(ctx: Context, row: Partial<OrganizationRow> = {}): Promise<OrganizationRow> {
  const name = row.name ?? `org-${randomToken('').slice(0, 8).toLowerCase().replaceAll('_', 'x')}`;
  const organization = await insertOrganization(ctx.scope, {
    ...stamp(ctx),
    name,
    display_name: 'Initech',
    auto_membership: 'none',
    ...row,
  });
  ctx.cache.invalidate(ctx.environment.id, 'organizations');
  return organization;
}

export async function addMembership(
  ctx: Context,
  organization: Pick<OrganizationRow, 'id'>,
  user: { readonly id: string },
  { roles = [], ...row }: Partial<MembershipRow> & { readonly roles?: readonly Pick<RoleRow, 'id'>[] } = {},
): Promise<MembershipRow> {
  const columns = { organization_id: organization.id, user_id: user.id, source: 'manual' as const, ...row };
  const membership = await insertMembership(ctx.scope, { ...stamp(ctx), ...columns });
  for (const { id } of roles)
    await insert<Record<string, unknown>>(ctx.scope, 'organization_membership_roles', { membership_id: membership.id, role_id: id });
  return membership;
}

/** A role that holds these permissions of the API resource. */
export async function addRoleOf(
  ctx: Context,
  resource: Pick<ApiResourceRow, 'id'>,
  names: readonly string[],
  kind: RoleRow['kind'] = 'organization',
): Promise<RoleRow> {
  const role = await insert<RoleRow>(ctx.scope, 'roles', { ...stamp(ctx), kind, name: `role-${randomToken('').slice(0, 8)}` });
  const permissions = await listPermissionsOfResource(ctx.scope, resource.id);
  for (const { id } of permissions.filter(({ name }) => names.includes(name)))
    await insert(ctx.scope, 'role_permissions', { role_id: role.id, permission_id: id });
  return role;
}

/** A domain that the organization has verified, unless told otherwise. */
export async function addDomain(
  ctx: Context,
  organization: Pick<OrganizationRow, 'id'>,
  domain: string,
  row: { readonly status?: 'pending' | 'verified' | 'failed'; readonly connection_id?: string } = {},
): Promise<void> {
  const columns = { organization_id: organization.id, domain, status: 'verified', verification_token: 'token', ...row };
  await insert<Record<string, unknown>>(ctx.scope, 'organization_domains', { ...stamp(ctx), ...columns } as never);
  for (const kind of ['organization_domains', 'connections']) ctx.cache.invalidate(ctx.environment.id, kind);
}

/** Changes a row of an organization's as another process would. */
export async function changeRow(
  ctx: Context,
  name: string,
  where: Record<string, unknown>,
  changes: Record<string, unknown>,
): Promise<void> {
  await table(ctx.scope, name)
    .where(where as never)
    .update(changes as never);
  ctx.cache.invalidate(ctx.environment.id, name);
}
