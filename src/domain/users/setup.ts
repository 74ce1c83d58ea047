import { insertUser, type UserRow } from '../../db/tables/users.js';
import { addUserRoles, findRoleByName, countRoleMembers } from '../../db/tables/roles.js';
import type { EmailAddress } from '../../lib/email-address.js';
import { uuidv7 } from '../../lib/random.js';
import { transaction, type Context } from '../context.js';
import { recordRoleChange } from '../roles/role-trail.js';
import { administratorRole } from '../reach/management-permissions.js';

const aad = 'setup';
const lifetimeMs = 3_600_000;

/** Whether nobody administers the environment yet. */
export async function needsSetup(ctx: Context): Promise<boolean> {
  const role = await findRoleByName(ctx.scope, administratorRole);
  return role !== null && (await countRoleMembers(ctx.scope, role.id)) === 0;
}

/** Where the first administrator is made: good for an hour, and only until there is one. */
export function setupUrl(ctx: Context): string {
  const token = ctx.crypto.sealer.sealText(String(ctx.clock.now().getTime() + lifetimeMs), `${aad} ${ctx.environment.id}`);
  return `${ctx.environment.base_url}/dashboard/setup?token=${token}`;
}

/** Whether the token came from `setupUrl`, isn't too old, and there is still no administrator. */
export async function mayUseSetup(ctx: Context, token: string): Promise<boolean> {
  const until = ctx.crypto.sealer.openText(token, `${aad} ${ctx.environment.id}`);
  return until !== null && Number(until) > ctx.clock.now().getTime() && (await needsSetup(ctx));
}

/** Makes the first administrator; null when somebody else was faster. The role's row is locked meanwhile. */
export const createFirstAdministrator = async (
  ctx: Context,
  input: EmailAddress & { first_name: string; last_name: string; password_hash: string; password_looked_up_at?: Date | null },
): Promise<UserRow | null> =>
  transaction(ctx, async (tx) => {
    const role = await findRoleByName(tx.scope, administratorRole, { lock: true });
    if (!role || (await countRoleMembers(tx.scope, role.id)) > 0) return null;
    const now = tx.clock.now();
    const times = { created_at: now, updated_at: now, password_changed_at: now };
    const user = await insertUser(tx.scope, { id: uuidv7(now.getTime()), ...input, email_verified: true, ...times });
    await addUserRoles(tx.scope, user.id, [role.id]);
    await recordRoleChange(tx, null, user, { added: [role], removed: [] });
    return user;
  });
