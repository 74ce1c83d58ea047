import { newStamps } from '../../db/records.js';
import type { PermissionRow } from '../../db/tables/permissions.js';
import {
  addRolePermissions, countRoleHolders, deleteRole, findRoleOfSpelling, insertRole, listPermissionIdsOfRole, listPermissionNamesOfRoles, removeRolePermissions, updateRole, type RoleRow,
} from '../../db/tables/roles.js'; // prettier-ignore
import { countMembershipsWithRole } from '../../db/tables/organization_membership_roles.js';
import { linkDifferences, previousAttributes, type LinkChange } from '../changes.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import { Refusal, refuseDuplicates, systemRecord, unfit } from '../refusal.js';

export type RoleInput = Partial<Pick<RoleRow, 'name' | 'description' | 'is_default' | 'kind'>>;

const duplicates = { roles_environment_id_name_key: { attribute: 'name', detail: 'There is a role of this name already.' } };

function roleData(role: RoleRow, permissions: readonly string[]) {
  const { id, name, description, is_default } = role;
  return {
    id,
    name,
    description,
    is_default,
    permissions: [...permissions],
    created_at: role.created_at.toISOString(),
    updated_at: role.updated_at.toISOString(),
  };
}

const refuseSystem = (role: RoleRow) => {
  if (role.is_system) throw systemRecord('The role is part of the service and can not be changed.');
};

/** Every new user gets a default role, and no user one of an organization. @throws {Refusal} 422 */
function refuseDefaultOfOrganization({ kind, is_default }: RoleInput): void {
  if (kind !== 'organization' || !is_default) return;
  const detail = 'New users get roles of the kind `environment`. Name this role in `default_roles` of an organization.';
  throw new Refusal(unfit('is_default', 'wrong_role_kind', detail));
}

/** Applications that are told roles may read them in any case: one of a name that differs in nothing else would be taken for it. @throws {Refusal} 409 */
async function refuseSameName(tx: Context, { name }: RoleInput, id: string | null = null): Promise<void> {
  const same = name === undefined ? null : await findRoleOfSpelling(tx.scope, name);
  if (!same || same.id === id) return;
  const detail = `There is the role ${same.name} already, which is the same name in another spelling.`;
  throw new Refusal({ status: 409, code: 'already_exists', detail, attribute: 'name' });
}

/** Makes a role with the given permissions; emits `role.created`. @throws {Refusal} 409 */
export async function createRole(tx: Context, input: RoleInput, permissions: readonly PermissionRow[]): Promise<RoleRow> {
  refuseDefaultOfOrganization(input);
  await refuseSameName(tx, input);
  const role = await refuseDuplicates(duplicates, () => insertRole(tx.scope, { ...input, ...newStamps(tx.clock.now()) }));
  await addRolePermissions(tx.scope, role.id, permissions.map((permission) => permission.id)); // prettier-ignore
  await emit(tx, 'role.created', roleData(role, await listPermissionNamesOfRoles(tx.scope, [role.id])));
  return role;
}

/** Changes a role and, when given, which permissions it has; emits `role.updated`. @throws {Refusal} 403, 409 */
export async function changeRole(
  tx: Context,
  role: RoleRow,
  input: RoleInput,
  change: LinkChange<Pick<PermissionRow, 'id'>> = {},
): Promise<RoleRow> {
  refuseSystem(role);
  refuseDefaultOfOrganization({ ...role, ...input });
  await refuseSameName(tx, input, role.id);
  const isNamed = Object.values(change).some((one) => one !== undefined);
  const { added, removed } = linkDifferences(isNamed ? await listPermissionIdsOfRole(tx.scope, role.id) : [], change);
  const names = await listPermissionNamesOfRoles(tx.scope, [role.id]);
  if (added.length > 0) await addRolePermissions(tx.scope, role.id, added);
  if (removed.length > 0) await removeRolePermissions(tx.scope, role.id, removed);
  const changed = await refuseDuplicates(duplicates, async () => updateRole(tx.scope, role.id, { ...input, updated_at: tx.clock.now() }));
  if (!changed) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such role.' });
  const isSame = added.length + removed.length === 0;
  const after = roleData(changed, isSame ? names : await listPermissionNamesOfRoles(tx.scope, [role.id]));
  const previous_attributes = previousAttributes(roleData(role, names), after);
  if (Object.keys(previous_attributes).length > 0) await emit(tx, 'role.updated', { ...after, previous_attributes });
  return changed;
}

/** Deletes a role that nobody holds. @throws {Refusal} 403 for a system role, 409 while users hold it */
export async function removeRole(tx: Context, role: RoleRow): Promise<void> {
  refuseSystem(role);
  const holders =
    role.kind === 'organization' ? await countMembershipsWithRole(tx.scope, role.id) : await countRoleHolders(tx.scope, role.id);
  if (holders > 0)
    throw new Refusal({ status: 409, code: 'role_in_use', detail: `${holders} users hold this role.`, meta: { user_count: holders } });
  await deleteRole(tx.scope, role.id);
}
