import type { Origin } from './origin.js';
import { Refusal } from './refusal.js';
import type { AuthenticationClass } from './sessions/classes.js';
import type { Proof } from './sessions/proofs.js';

/** Who acts through the Management API or the dashboard, and what they may do there right now. */
export type Actor = {
  readonly actor_kind: 'user' | 'client' | 'system';
  readonly actor_id: string | null;
  /** A name for people: an email address or a client's name. */
  readonly display: string;
  /** The Management permissions in force: what the token carries and its user or client still holds. */
  readonly permissions: ReadonlySet<string>;
  /** The session of a person's token, or of a person at the dashboard; absent for clients. */
  readonly session_id?: string | null;
  /** When a person at the dashboard last proved who they are, null when that isn't known; for a token the session tells. */
  readonly proven_at?: Date | null;
  /** How the person of a token signed in, as the token says it. */
  readonly signed_in?: { readonly acr: AuthenticationClass; readonly at: Date | null };
  /** What the session of a person at the dashboard rests on. */
  readonly proofs?: readonly Proof[];
  /** Where the request came from, for what a write itself records beside its entry of the audit log; absent outside of one. */
  readonly origin?: Origin;
};

/**
 * Refuses to hand out Management permissions that the actor doesn't hold (CWE-269).
 * @param attribute or relationship that would hand them out, for the error's pointer
 * @throws {Refusal} 403 `scope_escalation`
 */
export function refuseEscalation(
  actor: Pick<Actor, 'permissions'>,
  permissions: Iterable<string>,
  at: { attribute?: string; relationship?: string } = {},
): void {
  const missing = [...new Set(permissions)].filter((name) => !actor.permissions.has(name)).sort();
  if (missing.length === 0) return;
  throw new Refusal({
    status: 403,
    code: 'scope_escalation',
    detail: 'This would hand out, or take over, Management API permissions that you do not hold.',
    meta: { required: missing },
    ...at,
  });
}
