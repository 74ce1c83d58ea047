import { table, insert } from '../../src/db/scope.js';
import type { ApiResourceRow } from '../../src/db/tables/api_resources.js';
import { insertDirectory } from '../../src/db/tables/directories.js';
import { insertDirectoryUser } from '../../src/db/tables/directory_users.js';
import { insertGroup } from '../../src/db/tables/organization_groups.js';
import { insertMembership, type MembershipRow } from '../../src/db/tables/organization_memberships.js';
import { insertOrganization, type OrganizationRow } from '../../src/db/tables/organizations.js';
import { listPermissionsOfResource } from '../../src/db/tables/permissions.js';
import type { RoleRow } from '../../src/db/tables/roles.js';
import type { Context } from '../../src/domain/context.js';
import { digest } from '../../src/lib/digest.js';
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

/** A group of the organization's directory, to which people are added as the directory would; that answers their entries there. */
export async function addGroupOf(ctx: Context, { id: organization_id }: Pick<OrganizationRow, 'id'>) {
  const name = randomToken('').slice(0, 8);
  const token = { token_digest: digest(name), token_hint: 'hint' };
  const { id: directory_id } = await insertDirectory(ctx.scope, { ...stamp(ctx), ...token, organization_id });
  const called = { display_name: name, display_name_key: name };
  const { id } = await insertGroup(ctx.scope, { ...stamp(ctx), ...called, organization_id, directory_id });
  const add = async (user: { readonly id: string }): Promise<string> => {
    const named = { user_name: user.id, user_name_key: user.id };
    const entry = await insertDirectoryUser(ctx.scope, { ...stamp(ctx), ...named, directory_id, user_id: user.id });
    const member = { environment_id: ctx.environment.id, group_id: id, directory_user_id: entry.id };
    await ctx.db.knex('organization_group_members').insert(member);
    return entry.id;
  };
  return { id, add };
}
