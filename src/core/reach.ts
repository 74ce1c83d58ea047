import { refuseEscalation, type Actor } from './actor.js';
import { managementPermissions } from './management-permissions.js';

/** Whether the actor holds every permission of the Management API, so that nothing it does can raise anybody above it. */
export function holdsEverything(actor: Actor): boolean {
  return managementPermissions.every((permission) => actor.permissions.has(permission));
}

/**
 * Refuses what reaches everybody of the environment (its mails, its sign-ins) to whoever doesn't hold every Management permission.
 * @param at attribute or relationship that would reach so far, for the error's pointer
 * @throws {Refusal} 403 `scope_escalation`
 */
export function requireEverything(actor: Actor, at: { attribute?: string; relationship?: string } = {}): void {
  refuseEscalation(actor, managementPermissions, at);
}
