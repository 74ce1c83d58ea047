import type { RoleRow } from '../../db/tables/roles.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent, serviceActor, userParty } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { noOrigin } from '../origin.js';

/** Records which roles somebody was given and lost by the actor; null: by the service. Not for default roles, which everybody gets. */
export async function recordRoleChange(
  tx: Context,
  actor: Pick<Actor, 'actor_kind' | 'actor_id' | 'display' | 'origin'> | null,
  user: Pick<UserRow, 'id' | 'email'>,
  { added, removed }: { readonly added: readonly RoleRow[]; readonly removed: readonly RoleRow[] },
): Promise<void> {
  const about = { actor: actor ?? serviceActor, target: userParty(user).target, origin: actor?.origin ?? noOrigin };
  const names = (roles: readonly RoleRow[]) => ({ detail: { roles: roles.map(({ name }) => name).sort() } });
  if (added.length > 0) await recordSecurityEvent(tx, 'role.assigned', { ...about, ...names(added) });
  if (removed.length > 0) await recordSecurityEvent(tx, 'role.withdrawn', { ...about, ...names(removed) });
}
