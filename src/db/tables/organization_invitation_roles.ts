import { linkFunctions } from '../records.js';
import type { RoleRow } from './roles.js';

/** The roles that whoever accepts the invitation gets. */
export const { list: listRolesOfInvitation, add: addInvitationRoles } = linkFunctions<RoleRow>(
  'organization_invitation_roles',
  'invitation_id',
  'role_id',
  'roles',
);
