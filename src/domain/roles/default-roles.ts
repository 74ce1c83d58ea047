import { addUserRoles, listDefaultRoles, listRoleNamesOfUser } from '../../db/tables/roles.js';
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
