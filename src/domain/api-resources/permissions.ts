import { newStamps } from '../../db/records.js';
import { findApiResource, removeDefaultScope, type ApiResourceRow } from '../../db/tables/api_resources.js';
import { isDeletedName, noteDeletedName, permissionName } from '../../db/tables/deleted_names.js';
import { removeScopeFromCodes } from '../../db/tables/authorization_codes.js';
import { removeScopeFromClientGrants } from '../../db/tables/client_grants.js';
import { removeScopeFromConsents } from '../../db/tables/consents.js';
import { removeScopeFromDeviceCodes } from '../../db/tables/device_codes.js';
import { deletePermission, insertPermission, updatePermission, type PermissionRow } from '../../db/tables/permissions.js';
import { previousAttributes } from '../changes.js';
import type { Context } from '../context.js';
import { emit } from '../events/emit.js';
import { Refusal, refuseDuplicates, systemRecord, unfit } from '../refusal.js';
import { isOpenidScope } from '../claims/scopes.js';

const duplicates = {
  permissions_environment_id_api_resource_id_name_key: {
    attribute: 'name',
    detail: 'The API resource has a permission of this name already.',
  },
};

function permissionData(permission: PermissionRow, identifier: string) {
  const { id, name, description, api_resource_id, created_at, updated_at } = permission;
  const times = { created_at: created_at.toISOString(), updated_at: updated_at.toISOString() };
  return { id, name, description, api_resource_id, api_resource_identifier: identifier, ...times };
}

const refuseSystem = (record: { is_system: boolean }) => {
  if (record.is_system) throw systemRecord('The permissions of the Management API are part of the service and can not be changed.');
};

/** Adds a permission, which is a scope, to an API resource; emits `permission.created`. @throws {Refusal} 403, 409, 422 */
export async function createPermission(
  tx: Context,
  input: { name: string; description?: string | null },
  resource: ApiResourceRow,
): Promise<PermissionRow> {
  refuseSystem(resource);
  if (isOpenidScope(input.name)) {
    throw new Refusal(unfit('name', 'reserved_name', 'OpenID Connect has a scope of this name.'));
  }
  const now = tx.clock.now();
  const named = { api_resource_id: resource.id, name: input.name };
  const tokens_not_before = (await isDeletedName(tx.scope, 'permission', permissionName(named))) ? now : null;
  const row = { ...input, ...named, tokens_not_before, ...newStamps(now) };
  const permission = await refuseDuplicates(duplicates, () => insertPermission(tx.scope, row));
  await emit(tx, 'permission.created', permissionData(permission, resource.identifier));
  return permission;
}

/** Changes the description; emits `permission.updated`. @throws {Refusal} 403 */
export async function changePermission(
  tx: Context,
  permission: PermissionRow,
  input: { description?: string | null },
): Promise<PermissionRow> {
  refuseSystem(permission);
  const resource = await findApiResource(tx.scope, permission.api_resource_id);
  const changed = await updatePermission(tx.scope, permission.id, { ...input, updated_at: tx.clock.now() });
  if (!changed || !resource) throw new Refusal({ status: 404, code: 'not_found', detail: 'There is no such permission.' });
  const after = permissionData(changed, resource.identifier);
  const previous_attributes = previousAttributes(permissionData(permission, resource.identifier), after);
  if (Object.keys(previous_attributes).length > 0) await emit(tx, 'permission.updated', { ...after, previous_attributes });
  return changed;
}

/** Takes the scope out of all that holds it by its name. */
async function withdrawScope(tx: Context, { id, identifier }: ApiResourceRow, name: string): Promise<void> {
  const now = tx.clock.now();
  await removeScopeFromCodes(tx.scope, identifier, name);
  await removeScopeFromDeviceCodes(tx.scope, identifier, name);
  await removeScopeFromConsents(tx.scope, identifier, name, now);
  await removeScopeFromClientGrants(tx.scope, id, name, now);
  await removeDefaultScope(tx.scope, id, name, now);
}

/** Deletes a permission: roles, grants, consents, codes and tokens lose it at once, and for good. @throws {Refusal} 403 */
export async function removePermission(tx: Context, permission: PermissionRow): Promise<void> {
  refuseSystem(permission);
  const now = tx.clock.now();
  const resource = await findApiResource(tx.scope, permission.api_resource_id);
  await deletePermission(tx.scope, permission.id);
  await noteDeletedName(tx.scope, 'permission', permissionName(permission), now);
  if (resource) await withdrawScope(tx, resource, permission.name);
}
