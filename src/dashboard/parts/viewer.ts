import type { Request } from 'express';
import type { Actor } from '../../domain/actor.js';
import { proofsOf } from '../../domain/proofs/proofs.js';
import { confirmationClass, confirmedAt } from '../../domain/sessions/confirmation.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import type { Call } from '../../management/call.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** The signed-in administrator's use of the Management operations; set by the gate of `shell`. */
    call: Call;
  }
}

export function viewerOf(req: Request): BrowserSession {
  if (!req.session) throw new Error('this handler belongs behind the gate');
  return req.session;
}

/** What the session says of the actor's sign-in: when it was last confirmed for changes of its person, and what it rests on. */
export function provenBy(session: BrowserSession): Pick<Actor, 'proven_at' | 'proofs'> {
  const proofs = proofsOf(session);
  return { proven_at: confirmedAt(proofs, confirmationClass({ two_step_enabled: session.user_two_step_enabled })), proofs };
}
