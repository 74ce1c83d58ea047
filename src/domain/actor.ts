import type { Origin } from './origin.js';
import type { AuthenticationClass } from './proofs/classes.js';
import type { SessionProof } from './proofs/proofs.js';

/** Who acts through the Management API or the dashboard, and what they may do there right now. */
export type Actor = {
  readonly actor_kind: 'user' | 'client' | 'system';
  readonly actor_id: string | null;
  /** A name for people: an email address or a client's name. */
  readonly display: string;
  /** The Management permissions in force: what the token carries and its user or client still holds. */
  readonly permissions: ReadonlySet<string>;
  /**
   * Permissions of other API resources that the actor holds, as `reach.ts` names them: looked up before a write changes anything. Absent: none count.
   */
  readonly elsewhere?: ReadonlySet<string>;
  /** Whether what the person holds elsewhere counts: not for a token that a client asked the person for, which is for the Management API alone. */
  readonly acts_in_full?: boolean;
  /** The organization that the actor acts for, and beyond which nothing is there for them; absent: none. */
  readonly organization_id?: string | null;
  /** What the actor holds beside `permissions` where reach is weighed, and acts with nowhere else: of a set-up link. */
  readonly reach?: ReadonlySet<string>;
  /** The set-up link that acts; absent for anybody else. */
  readonly setup_link_id?: string;
  /** The client whose token for an organization it is: where an invitation leads unless it says another. */
  readonly asking_client_id?: string;
  /** The session of a person's token, or of a person at the dashboard; absent for clients. */
  readonly session_id?: string | null;
  /** When a person at the dashboard last proved who they are, null when that isn't known; for a token the session tells. */
  readonly proven_at?: Date | null;
  /** How the person of a token signed in, as the token says it. */
  readonly signed_in?: { readonly acr: AuthenticationClass; readonly at: Date | null };
  /** What the session of a person at the dashboard rests on. */
  readonly proofs?: readonly SessionProof[];
  /** Where the request came from, for what a write itself records beside its entry of the audit log; absent outside of one. */
  readonly origin?: Origin;
};
