import { insertMissing, table, type Scope } from '../scope.js';
import type { RoleRow } from './roles.js';

/** The roles that whoever accepts the invitation gets. */
export async function listRolesOfInvitation(scope: Scope, invitation_id: string): Promise<RoleRow[]> {
  const own = 'organization_invitation_roles';
  return (await table(scope, own)
    .join('roles as r', (on) => on.on('r.environment_id', `${own}.environment_id`).andOn('r.id', `${own}.role_id`))
    .where(`${own}.invitation_id` as never, invitation_id)
    .orderBy('r.name')
    .select('r.*')) as unknown as RoleRow[];
}

export async function addInvitationRoles(scope: Scope, invitation_id: string, role_ids: readonly string[]): Promise<void> {
  await insertMissing(scope, 'organization_invitation_roles', role_ids.map((role_id) => ({ invitation_id, role_id }))); // prettier-ignore
}
