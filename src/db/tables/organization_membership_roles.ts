import { insertMissing, table, type Scope } from '../scope.js';
import type { RoleRow } from './roles.js';

/** The roles that a member has directly, without those of groups. */
export async function listRolesOfMembership(scope: Scope, membership_id: string): Promise<RoleRow[]> {
  const own = 'organization_membership_roles';
  return (await table(scope, 'organization_membership_roles')
    .join('roles as r', (on) => on.on('r.environment_id', `${own}.environment_id`).andOn('r.id', `${own}.role_id`))
    .where(`${own}.membership_id` as never, membership_id)
    .orderBy('r.name')
    .select('r.*')) as unknown as RoleRow[];
}

export async function addMembershipRoles(scope: Scope, membership_id: string, role_ids: readonly string[]): Promise<void> {
  await insertMissing(scope, 'organization_membership_roles', role_ids.map((role_id) => ({ membership_id, role_id }))); // prettier-ignore
}

export async function removeMembershipRoles(scope: Scope, membership_id: string, role_ids: readonly string[]): Promise<void> {
  await table(scope, 'organization_membership_roles')
    .where({ membership_id } as never)
    .whereIn('role_id' as never, [...role_ids])
    .delete();
}

/** How many members of organizations have the role, not counting those who have it by a group. */
export async function countMembershipsWithRole(scope: Scope, role_id: string): Promise<number> {
  const query = table(scope, 'organization_membership_roles').where({ role_id } as never);
  const rows = (await query.count('* as count')) as unknown as { count: string }[];
  return Number(rows[0]?.count ?? 0);
}
