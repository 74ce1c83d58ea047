import type { Request, RequestHandler, Response } from 'express';
import { sessionOf } from '../auth/browser-session.js';
import type { Confirmed } from '../../domain/sign-ins/advance.js';
import type { MethodRefusal } from '../../domain/sign-ins/proof-methods.js';
import type { SecondStepAnswer } from '../../domain/sign-ins/second-step.js';
import { reaches, satisfies, type AuthenticationClass } from '../../domain/proofs/classes.js';
import { confirmationClass, isConfirmed } from '../../domain/sessions/confirmation.js';
import type { BrowserSession } from '../../domain/sessions/sessions.js';
import { proofsOf, type SessionProof } from '../../domain/proofs/proofs.js';
import { lastSignInHere } from '../auth/device-cookie.js';
import { takeStep } from '../auth/sign-in.js';
import { limitBy, limitByAddress } from '../limits/rate-limits.js';
import type { Web } from '../web.js';

/** The class that a change takes: the person's own for changes of what signs them in, or more where somebody demands it. */
export function demandedOf(req: Request, more: AuthenticationClass = '1'): AuthenticationClass {
  const own = confirmationClass({ two_step_enabled: sessionOf(req).user_two_step_enabled });
  return satisfies(own, more) ? own : more;
}

/** The proofs of the session that were given since; of a provider that doesn't say when it signed somebody in none is. */
export const proofsSince = (req: Request, since: Date | null): readonly SessionProof[] => {
  const proofs = proofsOf(sessionOf(req));
  return since === null ? proofs : proofs.filter(({ at, at_unknown }) => at_unknown !== true && new Date(at) >= since);
};

/**
 * Whether the session must be confirmed before it may do what takes the class: was within `confirmation_lifetime`, or with `since` reached it by proofs since then
 * alone. @throws {Error} without a session
 */
export const isStale = (req: Request, demanded: AuthenticationClass = demandedOf(req), since: Date | null = null): boolean =>
  since === null ? !isConfirmed(req.ctx, proofsSince(req, null), demanded) : !reaches(proofsSince(req, since), demanded);

/** Names of the members that a proof is in: those of POST /account/confirm, or others where a form brings fields of its own. */
export type ProofNames = { readonly password: string; readonly code: string; readonly recovery_code: string; readonly credential: string };
export const ownNames: ProofNames = { password: 'password', code: 'code', recovery_code: 'recovery_code', credential: 'credential' };
export const heldNames: ProofNames = {
  password: 'current_password',
  code: 'confirm_code',
  recovery_code: 'confirm_recovery_code',
  credential: 'confirm_credential',
};

/** What was given as a proof. */
export type Answer = { readonly method: 'password'; readonly password: string } | SecondStepAnswer;

/** A credential as a page posts it: JSON as it is, in a form as text; null when that can't be read. */
export function credentialOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return null;
  }
}

/** The proof that the form or JSON body bears, or null. Empty fields count as none. */
export function confirmationAnswerOf(req: Request, names: ProofNames): Answer | null {
  const body = (req.body ?? req.form.all) as Record<string, unknown>;
  const given = (name: string) => (Object.hasOwn(body, name) && body[name] !== '' ? body[name] : undefined);
  const text = (name: string) => {
    const value = given(name);
    return typeof value === 'string' ? value : undefined;
  };
  const credential = given(names.credential);
  if (credential !== undefined) return { method: 'passkey', credential: credentialOf(credential) };
  const code = text(names.code);
  if (code !== undefined) return { method: text('method') === 'recovery_code' && names === ownNames ? 'recovery_code' : 'totp', code };
  const recovery_code = text(names.recovery_code);
  if (recovery_code !== undefined) return { method: 'recovery_code', code: recovery_code };
  const password = text(names.password);
  return password === undefined ? null : { method: 'password', password };
}

/** What came of a proof. */
export type ProofOutcome = Confirmed | MethodRefusal<Answer['method'], BrowserSession>;

/**
 * Takes a proof that somebody signed in gives. Wrong ones count towards the lock of the account or of the second step. Needs {@link limitProofs} before.
 * @throws {PageError} 401 when the session has ended meanwhile
 */
export async function prove(req: Request, res: Response, answer: Answer): Promise<ProofOutcome> {
  const current = sessionOf(req);
  const proof = answer.method === 'password' ? { ...answer, email: current.user_email } : answer;
  return takeStep(req, res, proof, { current });
}

/**
 * Middleware: the limits of the login, per address and per account, for requests that bear a proof under one of the names; others aren't counted.
 * Needs `browserSession` and a parsed body before.
 */
export function limitProofs(web: Web, names: ProofNames): RequestHandler[] {
  const limit = web.deps.config.rateLimits.login;
  const proves = (req: Request) => req.session !== null && confirmationAnswerOf(req, names) !== null;
  const accountOf = (req: Request, known: boolean): string | null => {
    if (!proves(req)) return null;
    const { user_id, user_email_key } = sessionOf(req);
    return (lastSignInHere(req, user_id) !== null) === known ? `${req.ctx.environment.id} ${user_email_key}` : null;
  };
  return [
    limitByAddress(web, { name: 'login', limit, key: (req, address) => (proves(req) ? `${req.ctx.environment.id} ${address}` : null) }),
    limitBy(web, { name: 'login_email', limit, key: (req) => accountOf(req, false) }),
    limitBy(web, { name: 'login_known', limit, key: (req) => accountOf(req, true) }),
  ];
}
