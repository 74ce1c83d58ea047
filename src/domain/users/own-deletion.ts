import { revokeGrants } from '../../db/tables/revocations.js';
import { lockUser, updateUser, type UserRow } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { queueMail } from '../mail/mail.js';
import { noOrigin, type Origin } from '../origin.js';
import { Refusal } from '../refusal.js';
import { endSessions } from '../sessions/sessions.js';
import { endTrust } from '../sessions/trust.js';
import { grantRevocationEnd } from '../tokens/revoke.js';
import { refuseLastAdministrator } from './administrators.js';
import { endUser } from './removal.js';

const byService = { actor_kind: 'system', actor_id: null, display: null } as const;

/**
 * Marks an account for deletion as its person asks, and signs the person out of everything; until then another sign-in keeps it. Asking again changes nothing.
 * @returns the account; null where people can't delete theirs
 * @throws {Refusal} 409 `last_administrator`
 */
export async function requestDeletion(tx: Context, user_id: string, origin: Origin): Promise<UserRow | null> {
  const delay = tx.environment.account_deletion_delay;
  if (delay === null) return null;
  // Before the user is held, as whoever removes one does: the two would wait for each other.
  await refuseLastAdministrator(tx, user_id);
  const user = await lockUser(tx.scope, user_id);
  if (!user || user.deletion_due_at !== null) return user;
  const deletion_due_at = new Date(tx.clock.now().getTime() + delay * 1000);
  const leaving = await updateUser(tx.scope, user_id, { deletion_due_at });
  if (!leaving) return null;
  await endSessions(tx, { user_id }, 'revoked');
  await endTrust(tx, user_id);
  await revokeGrants(tx.scope, { user_id }, grantRevocationEnd(tx));
  await recordSecurityEvent(tx, 'account.deletion_requested', {
    ...userParty(leaving),
    origin,
    detail: { deletion_due_at: deletion_due_at.toISOString() },
  });
  const model = { return_within: delay, login_url: `${tx.environment.issuer}/login` };
  await queueMail(tx, { template: 'account_deletion_requested', to: user.email, locale: user.locale, model, origin });
  return leaving;
}

/**
 * Keeps an account that waits for its deletion, and says so by mail: its user signs in, or an administrator cancels the deletion. Call it in the transaction of
 * the login or write, which holds the user.
 */
export async function keepAccount(tx: Context, user: UserRow, origin: Origin, by: Actor | null = null): Promise<UserRow> {
  if (user.deletion_due_at === null) return user;
  const staying = (await updateUser(tx.scope, user.id, { deletion_due_at: null })) ?? user;
  await recordSecurityEvent(tx, 'account.deletion_cancelled', {
    ...userParty(staying),
    ...(by && { actor: by, detail: { action: 'user.deletion_cancelled' } }),
    origin,
  });
  await tellEnd(tx, staying, false, origin);
  return staying;
}

async function tellEnd(tx: Context, { email, locale }: UserRow, deleted: boolean, origin: Origin): Promise<void> {
  const reset_url = `${tx.environment.issuer}/password/forgot`;
  const to = { to: email, locale, origin };
  await queueMail(
    tx,
    deleted ? { template: 'account_deleted', model: {}, ...to } : { template: 'account_kept', model: { reset_url }, ...to },
  );
}

/**
 * Deletes an account whose time to return is over, if that is still so: nobody has signed in, and no administrator has blocked it, which holds it back. The last
 * administrator's is kept. Emits `user.deleted`. Call it in a transaction.
 * @returns whether the account is gone
 */
export async function deleteDueAccount(tx: Context, user_id: string): Promise<boolean> {
  const isNeeded = await refuseLastAdministrator(tx, user_id).then(
    () => false,
    (error: unknown) => {
      if (error instanceof Refusal) return true;
      throw error;
    },
  );
  const user = await lockUser(tx.scope, user_id);
  if (!user?.deletion_due_at || user.deletion_due_at > tx.clock.now() || user.status !== 'active') return false;
  if (isNeeded) {
    await updateUser(tx.scope, user_id, { deletion_due_at: null });
    return false;
  }
  await endUser(tx, byService, user);
  await recordSecurityEvent(tx, 'account.deleted', { actor: byService, target: userParty(user).target, origin: noOrigin });
  await tellEnd(tx, user, true, noOrigin);
  return true;
}
