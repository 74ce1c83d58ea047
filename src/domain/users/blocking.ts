import { revokeGrants } from '../../db/tables/revocations.js';
import { updateUser, type UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { actorData, personData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { invalidTransition } from '../refusal.js';
import { endSessions } from '../sessions/sessions.js';
import { endSignIns } from '../sessions/half-sign-ins.js';
import { grantRevocationEnd } from '../tokens/revoke.js';
import { refuseLastAdministrator } from './administrators.js';
import { emitUserDifference, refuseSelf } from './users.js';

/**
 * Blocks a user and ends the sessions and everything that was issued to clients, `offline_access` or not. Whom a directory has blocked an administrator may block
 * too: then the directory does not take it back. @throws {Refusal} 409
 */
export async function blockUser(tx: Context, actor: Actor, user: UserRow, reason: UserRow['blocked_reason'] = null): Promise<UserRow> {
  if (user.status === 'blocked' && user.blocked_reason === reason) throw invalidTransition('The user is blocked already.');
  refuseSelf(actor, user, 'block');
  await refuseLastAdministrator(tx, user.id);
  await endSessions(tx, { user_id: user.id }, 'user_blocked');
  await endSignIns(tx, user.id);
  await revokeGrants(tx.scope, { user_id: user.id }, grantRevocationEnd(tx));
  const blocked = await setStatus(tx, user, 'blocked', reason);
  await emit(tx, 'user.blocked', { ...personData(blocked), blocked_by: actorData(actor), blocked_at: blocked.updated_at.toISOString() });
  return blocked;
}

/** Lets a blocked user in again. @throws {Refusal} 409 */
export async function unblockUser(tx: Context, actor: Actor, user: UserRow): Promise<UserRow> {
  if (user.status === 'active') throw invalidTransition('The user is not blocked.');
  const active = await setStatus(tx, user, 'active', null);
  await emit(tx, 'user.unblocked', {
    ...personData(active),
    unblocked_by: actorData(actor),
    unblocked_at: active.updated_at.toISOString(),
  });
  return active;
}

async function setStatus(
  tx: Context,
  user: UserRow,
  status: UserRow['status'],
  blocked_reason: UserRow['blocked_reason'],
): Promise<UserRow> {
  const changed = (await updateUser(tx.scope, user.id, { status, blocked_reason, updated_at: tx.clock.now() })) ?? user;
  await emitUserDifference(tx, user, changed);
  return changed;
}
