import { findUser } from '../../db/tables/users.js';
import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import type { Environment } from '../environment.js';
import type { AuthenticationClass } from '../proofs/classes.js';
import { Refusal } from '../refusal.js';
import { confirmationClass, isConfirmed } from './confirmation.js';
import { unmetOf } from '../proofs/sign-in-requirement.js';

/** The class of sign-in that people's writes through the Management API and the dashboard take; null: any. */
export function managementClass({ management_required_acr, second_factor_policy }: Environment): AuthenticationClass | null {
  if (management_required_acr !== null) return management_required_acr;
  return second_factor_policy === 'required' || second_factor_policy === 'required_for_management' ? '2' : null;
}

/**
 * Whether the actor may write: a person has to have reached the class within `confirmation_lifetime`. A token is as old as it says, however often it was
 * refreshed (RFC 9470 6); at the dashboard the session was confirmed. A client proves itself with every token.
 */
export function isStrongEnough(ctx: Pick<Context, 'environment' | 'clock'>, actor: Actor): boolean {
  const acr = managementClass(ctx.environment);
  return acr === null || hasReached(ctx, actor, acr);
}

/** Whether the actor, if it is a person, has reached the class within `confirmation_lifetime`. */
function hasReached(ctx: Pick<Context, 'environment' | 'clock'>, actor: Actor, acr: AuthenticationClass): boolean {
  if (actor.actor_kind !== 'user') return true;
  if (actor.proofs) return isConfirmed(ctx, actor.proofs, acr);
  if (!actor.signed_in) return false;
  return (
    unmetOf({ acr, max_age: ctx.environment.confirmation_lifetime }, actor.signed_in.acr, actor.signed_in.at, ctx.clock.now()) === null
  );
}

/**
 * Refuses to change what signs the actor in by less than the account's own pages take: an administrator's token, old or stolen, is no way
 * around their second step. @throws {Refusal} 401 `insufficient_user_authentication`
 */
export async function requireOwnConfirmation(tx: Context, actor: Actor, user_id: string): Promise<void> {
  if (actor.actor_kind !== 'user' || actor.actor_id !== user_id) return;
  const user = await findUser(tx.scope, user_id);
  const acr_values = confirmationClass({ two_step_enabled: user?.two_step_enabled ?? true });
  if (hasReached(tx, actor, acr_values)) return;
  const max_age = tx.environment.confirmation_lifetime;
  throw new Refusal({
    status: 401,
    code: 'insufficient_user_authentication',
    detail: `This changes how you sign in: show first that it is you, by a sign-in of the class ${acr_values} within the last ${max_age} seconds.`,
    meta: { acr_values, max_age },
  });
}
