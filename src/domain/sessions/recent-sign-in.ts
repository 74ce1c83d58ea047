import { findSession } from '../../db/tables/sessions.js';
import { findUser } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import { Refusal } from '../refusal.js';
import { confirmationClass, confirmedAt } from './confirmation.js';
import { proofsOf } from '../proofs/proofs.js';

/** When the actor last proved who they are; null when unknown, as with a provider that doesn't send `auth_time`. */
async function provenAt(tx: Context, actor: Actor): Promise<Date | null> {
  if (actor.proven_at !== undefined) return actor.proven_at;
  const session = actor.session_id ? await findSession(tx.scope, actor.session_id) : null;
  const user = session && session.revoked_at === null ? await findUser(tx.scope, session.user_id) : null;
  return session && user && confirmedAt(proofsOf(session), confirmationClass(user));
}

/**
 * Refuses what reaches everybody to a person who proved who they are longer than `confirmation_lifetime` ago, whatever session or token is at hand: it may
 * be somebody else at their desk (RFC 9470). A sign-in of which the provider doesn't say when it was is no recent one. A client proves itself with every token.
 * @throws {Refusal} 401 `insufficient_user_authentication`
 */
export async function requireRecentSignIn(tx: Context, actor: Actor): Promise<void> {
  if (actor.actor_kind !== 'user') return;
  const { confirmation_lifetime: max_age } = tx.environment;
  const at = await provenAt(tx, actor);
  if (at !== null && tx.clock.now().getTime() - at.getTime() < max_age * 1000) return;
  throw new Refusal({
    status: 401,
    code: 'insufficient_user_authentication',
    detail: 'This takes a recent sign-in: sign in again first.',
    meta: { max_age },
  });
}
