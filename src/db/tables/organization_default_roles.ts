import { linkFunctions } from '../records.js';
import type { RoleRow } from './roles.js';

/** The roles of new members. */
export const {
  list: listDefaultRolesOfOrganization,
  add: addDefaultRolesOfOrganization,
  remove: removeDefaultRolesOfOrganization,
} = linkFunctions<RoleRow>('organization_default_roles', 'organization_id', 'role_id', 'roles');
