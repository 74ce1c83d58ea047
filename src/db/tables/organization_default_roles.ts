import { insertMissing, table, type Scope } from '../scope.js';
import type { RoleRow } from './roles.js';

/** The roles of new members. */
export async function listDefaultRolesOfOrganization(scope: Scope, organization_id: string): Promise<RoleRow[]> {
  return (await table(scope, 'organization_default_roles')
    .join('roles as r', (on) =>
      on.on('r.environment_id', 'organization_default_roles.environment_id').andOn('r.id', 'organization_default_roles.role_id'),
    )
    .where('organization_default_roles.organization_id' as never, organization_id)
    .orderBy('r.name')
    .select('r.*')) as unknown as RoleRow[];
}

export async function addDefaultRolesOfOrganization(scope: Scope, organization_id: string, role_ids: readonly string[]): Promise<void> {
  await insertMissing(scope, 'organization_default_roles', role_ids.map((role_id) => ({ organization_id, role_id }))); // prettier-ignore
}

export async function removeDefaultRolesOfOrganization(scope: Scope, organization_id: string, role_ids: readonly string[]): Promise<void> {
  await table(scope, 'organization_default_roles')
    .where({ organization_id } as never)
    .whereIn('role_id' as never, [...role_ids])
    .delete();
}
