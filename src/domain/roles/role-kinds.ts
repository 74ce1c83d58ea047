import type { RoleRow } from '../../db/tables/roles.js';
import { Refusal, unfitRelationship } from '../refusal.js';

function requireKind(roles: readonly RoleRow[], kind: RoleRow['kind'], relationship: string): void {
  const wrong = roles.find((role) => role.kind !== kind);
  if (!wrong) return;
  const whose =
    kind === 'organization' ? 'Memberships take roles of the kind `organization`' : 'Users take roles of the kind `environment`';
  throw new Refusal(unfitRelationship(relationship, 'wrong_role_kind', `${whose}; ${wrong.name} is of the other kind.`));
}

/** What counts within an organization is given there alone. @throws {Refusal} 422 `wrong_role_kind` */
export const requireOrganizationRoles = (roles: readonly RoleRow[], relationship = 'roles'): void =>
  requireKind(roles, 'organization', relationship);

/** @throws {Refusal} 422 `wrong_role_kind` */
export const requireEnvironmentRoles = (roles: readonly RoleRow[], relationship = 'roles'): void =>
  requireKind(roles, 'environment', relationship);
