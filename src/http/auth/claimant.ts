import type { NextFunction, Request, Response } from 'express';
import { proofsOf, type SessionProof } from '../../domain/proofs/proofs.js';
import { transaction } from '../../domain/context.js';
import { endSignInOf, findHalfSignIn, signInLifetime } from '../../domain/sessions/half-sign-ins.js';
import { endSessions } from '../../domain/sessions/sessions.js';
import type { SignInRow } from '../../db/tables/sign_ins.js';
import { findUser, type UserRow } from '../../db/tables/users.js';
import { clearSessionCookie, signInSession } from './browser-session.js';
import { clearCookie, cookieName, readCookie, setCookie } from '../request/cookies.js';
import { queryOf } from '../request/form.js';

/**
 * Somebody who has proven a part of who they are and is asked for more (NIST SP 800-63-4 A, claimant): half signed in, which opens nothing, or
 * signed in and asked for a higher class.
 */
export type Claimant = {
  readonly user: UserRow;
  /** What was proven so far. */
  readonly proofs: readonly SessionProof[];
  /** Null: a session is to reach a higher class. */
  readonly sign_in: SignInRow | null;
};

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by `findClaimant`; null for a stranger. */
    claimant?: Claimant | null;
  }
}

const cookie = 'signin';

/** Hands the browser the token of a half sign-in, which opens nothing but its second step. */
export function setSignInCookie(req: Request, res: Response, token: string): void {
  setCookie(req, res, cookie, token, signInLifetime);
}

/** The token of this browser's half sign-in; null without one. */
export const signInTokenOf = (req: Request): string | null => readCookie(req, cookieName(req, cookie)) ?? null;

/** Ends the session of this browser, with what was issued in it, and its half sign-in; also fine for somebody who isn't signed in. */
export async function signOut(req: Request, res: Response): Promise<void> {
  const { ctx } = req;
  const session = signInSession(req);
  if (session) await transaction(ctx, (tx) => endSessions(tx, { id: session.id }, 'logout'));
  clearSessionCookie(req, res);
  const token = signInTokenOf(req);
  if (token !== null) await endSignInOf(ctx, token);
  clearSignInCookie(req, res);
}

/** Takes the cookie of a half sign-in away from a browser that has sent it. */
export function clearSignInCookie(req: Request, res: Response): void {
  if (signInTokenOf(req) !== null) clearCookie(req, res, cookie);
}

/** Whether a session is to reach a higher class, as `acr_values` in the query or the body says: whoever else is half signed in here waits meanwhile. */
export const isStepUp = (req: Request): boolean =>
  queryOf(req).get('acr_values') !== undefined || (req.body as Record<string, unknown> | undefined)?.['acr_values'] !== undefined;

/** Who is half signed in with this browser, else who is signed in; null for a stranger and for somebody blocked. Needs `browserSession` before. */
async function claimantOf(req: Request): Promise<Claimant | null> {
  const { ctx, session } = req;
  const token = signInTokenOf(req);
  const sign_in = token === null || (session && isStepUp(req)) ? null : await findHalfSignIn(ctx, token);
  const user_id = sign_in?.user_id ?? session?.user_id;
  const user = user_id === undefined ? null : await findUser(ctx.scope, user_id);
  if (!user || user.status !== 'active') return null;
  if (sign_in) return { user, proofs: sign_in.proofs, sign_in };
  return session ? { user, proofs: proofsOf(session), sign_in: null } : null;
}

/** Middleware: sets `req.claimant`. Needs `browserSession` and a parsed body before. */
export async function findClaimant(req: Request, _res: Response, next: NextFunction): Promise<void> {
  req.claimant = await claimantOf(req);
  next();
}
