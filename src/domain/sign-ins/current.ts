import type { SignInRow } from '../../db/tables/sign_ins.js';
import { proofsOf, type SessionProof } from '../proofs/proofs.js';
import type { BrowserSession } from '../sessions/sessions.js';

/** What a further proof is for: a half sign-in, or a session whose person shows that it is still them. */
export type CurrentSignIn = SignInRow | BrowserSession;

export const isSession = (current: CurrentSignIn): current is BrowserSession => !('stage' in current);

/** What was proven before. */
export const provenIn = (current: CurrentSignIn): readonly SessionProof[] => (isSession(current) ? proofsOf(current) : current.proofs);
