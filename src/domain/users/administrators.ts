import { countRoleHolders, findRoleByName, listRoleHolderAddresses, listRoleIdsOfUser } from '../../db/tables/roles.js';
import type { Context } from '../context.js';
import { administratorRole } from '../reach/management-permissions.js';
import { Refusal } from '../refusal.js';

/**
 * Refuses to take away the last active administrator: then nobody could sign in to change anything. Holds the role, so that two
 * administrators can't remove each other at the same moment. Call it in the transaction of the change.
 * @throws {Refusal} 409
 */
export async function refuseLastAdministrator(tx: Context, user_id: string): Promise<void> {
  const role = await findRoleByName(tx.scope, administratorRole, { lock: true });
  if (!role) return;
  const held = await listRoleIdsOfUser(tx.scope, user_id);
  if (!held.includes(role.id)) return;
  const others = await countRoleHolders(tx.scope, role.id, { status: 'active', except: user_id });
  if (others === 0)
    throw new Refusal({ status: 409, code: 'last_administrator', detail: 'The last active administrator can not be removed.' });
}

/** Where the active administrators get mail, and the language of each: proven addresses alone, at most fifty. */
export async function administratorAddresses(ctx: Context): Promise<{ email: string; locale: string | null }[]> {
  const role = await findRoleByName(ctx.scope, administratorRole);
  return role ? listRoleHolderAddresses(ctx.scope, role.id, 50) : [];
}
