import { findSession } from '../../db/tables/sessions.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { Refusal } from '../refusal.js';

/** For this many seconds a sign-in counts as recent. */
export const recentSignInSeconds = 600;

/** When the actor last authenticated; null when unknown, as with a provider that doesn't send `auth_time`. */
async function provenAt(tx: Context, actor: Actor): Promise<Date | null> {
  if (actor.proven_at !== undefined) return actor.proven_at;
  const session = actor.session_id ? await findSession(tx.scope, actor.session_id) : null;
  return session?.auth_time_known && session.revoked_at === null ? session.authenticated_at : null;
}

/**
 * Refuses what reaches everybody to a person who proved who they are more than ten minutes ago, whatever session or token is at hand: it may
 * be somebody else at their desk (RFC 9470). A sign-in of which the provider doesn't say when it was is no recent one. A client proves itself with every token.
 * @throws {Refusal} 401 `insufficient_user_authentication`
 */
export async function requireRecentSignIn(tx: Context, actor: Actor): Promise<void> {
  if (actor.actor_kind !== 'user') return;
  const at = await provenAt(tx, actor);
  if (at !== null && tx.clock.now().getTime() - at.getTime() < recentSignInSeconds * 1000) return;
  throw new Refusal({
    status: 401,
    code: 'insufficient_user_authentication',
    detail: 'This takes a sign-in of the last ten minutes: sign in again first.',
    meta: { max_age: recentSignInSeconds },
  });
}
