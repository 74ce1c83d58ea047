import type { Actor } from '../actor.js';
import type { Context } from '../context.js';
import type { Environment } from '../environments/environment.js';
import type { AuthenticationClass } from './classes.js';
import { isConfirmed } from './confirmation.js';
import { lackOf } from './demand.js';

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
  if (acr === null || actor.actor_kind !== 'user') return true;
  if (actor.proofs) return isConfirmed(ctx, actor.proofs, acr);
  if (!actor.signed_in) return false;
  return lackOf({ acr, max_age: ctx.environment.confirmation_lifetime }, actor.signed_in.acr, actor.signed_in.at, ctx.clock.now()) === null;
}
