import { linkFunctions } from '../records.js';
import { table, type Scope } from '../scope.js';
import type { RoleRow } from './roles.js';

/** The roles that a member has directly, without those of groups. */
export const {
  list: listRolesOfMembership,
  add: addMembershipRoles,
  remove: removeMembershipRoles,
} = linkFunctions<RoleRow>('organization_membership_roles', 'membership_id', 'role_id', 'roles');

/** How many members of organizations have the role, not counting those who have it by a group. */
export async function countMembershipsWithRole(scope: Scope, role_id: string): Promise<number> {
  const query = table(scope, 'organization_membership_roles').where({ role_id } as never);
  const rows = (await query.count('* as count')) as unknown as { count: string }[];
  return Number(rows[0]?.count ?? 0);
}
