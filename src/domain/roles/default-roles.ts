import { addRolesOfUsers, addUserRoles, listDefaultRoles, listRoleNamesOfUser, type RoleRow } from '../../db/tables/roles.js';
import type { Context } from '../context.js';

/**
 * Gives a new user the roles that every new user gets (`is_default`).
 * @param proven false: without roles that hold a Management permission, for users whose address nobody has proven but an untrusted connection
 * @returns the names of all roles that the user has then.
 */
export async function giveDefaultRoles(tx: Context, user_id: string, proven = true): Promise<string[]> {
  const roles = await listDefaultRoles(tx.scope, proven ? null : tx.environment.management_audience);
  if (roles.length === 0) return listRoleNamesOfUser(tx.scope, user_id);
  await addUserRoles(tx.scope, user_id, roles.map((role) => role.id)); // prettier-ignore
  return listRoleNamesOfUser(tx.scope, user_id);
}

/** Gives each of new users the roles of its own and those that every new user gets. @returns the latter */
export async function giveRolesToNewUsers(
  tx: Context,
  newcomers: readonly { readonly user_id: string; readonly roles: readonly RoleRow[] }[],
  administrators: boolean,
): Promise<RoleRow[]> {
  const defaults = await listDefaultRoles(tx.scope, administrators ? null : tx.environment.management_audience);
  const rows = newcomers.flatMap(({ user_id, roles }) => [...roles, ...defaults].map(({ id }) => ({ user_id, role_id: id })));
  await addRolesOfUsers(tx.scope, rows);
  return defaults;
}
