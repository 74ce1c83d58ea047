import type { Request, RequestHandler, Response } from 'express';
import { attemptSecondStep, type SecondStepAnswer } from '../../domain/authenticators/second-step.js';
import { recordSignIn } from '../../domain/audit/sign-in-trail.js';
import { transaction } from '../../domain/context.js';
import { provePassword } from '../../domain/passwords/prove-password.js';
import { satisfies, type AuthenticationClass } from '../../domain/sessions/classes.js';
import { confirmationClass, isConfirmed } from '../../domain/sessions/confirmation.js';
import { proofNow, proofsOf, type Proof } from '../../domain/sessions/proofs.js';
import { addProofs } from '../../domain/sessions/sessions.js';
import { findUser, holdPassword } from '../../db/tables/users.js';
import { setSessionCookie } from './browser-session.js';
import { browserSecret } from './browser-secret.js';
import { deviceOf, lastSignInHere } from './device-cookie.js';
import { sessionOf } from './proof-ways.js';
import { limitBy, limitByAddress } from '../limits/rate-limits.js';
import { originOf } from '../pages/mail-origin.js';
import type { Web } from '../web.js';

/** The class that a change takes: the person's own for changes of what signs them in, or more where somebody demands it. */
export function demandedOf(req: Request, more: AuthenticationClass = '1'): AuthenticationClass {
  const own = confirmationClass({ two_step_enabled: sessionOf(req).user_two_step_enabled });
  return satisfies(own, more) ? own : more;
}

/** Whether the session must be confirmed before it may do what takes the class. @throws {Error} without a session */
export function isStale(req: Request, demanded: AuthenticationClass = demandedOf(req)): boolean {
  return !isConfirmed(req.ctx, proofsOf(sessionOf(req)), demanded);
}

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

const longest = 1024;

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
export function answerOf(req: Request, names: ProofNames): Answer | null {
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

/**
 * What came of a proof. `wrong`: the password or the code; `refused`: the passkey; `expired`: its challenge; `locked`: the second step, for so many
 * seconds; `method_unavailable`: the method isn't the person's, or is closed after too many wrong codes.
 */
export type ProofOutcome =
  | { readonly outcome: 'proven' | 'refused' | 'expired' | 'method_unavailable' }
  | { readonly outcome: 'wrong'; readonly attempts_left: number | null }
  | { readonly outcome: 'locked'; readonly retry_after: number };

/** What else is told of a proof: the hash of a password that was proven; `enrolled`: it comes of a factor that was just added, which is recorded as that. */
type Told = { readonly proven_hash?: string | null; readonly enrolled?: boolean };

/**
 * Adds a proof to the session of this browser: its class never falls, its cookie gets a new token (session fixation), and the sign-in is recorded.
 * @returns false when the session ended meanwhile, or the password was changed
 */
export async function addProof(
  req: Request,
  res: Response,
  proof: Proof,
  { proven_hash = null, enrolled = false }: Told = {},
): Promise<boolean> {
  const session = sessionOf(req);
  const { id: session_id, user_id } = session;
  const origin = originOf(req);
  const last_here = lastSignInHere(req, user_id);
  const renewed = await transaction(req.ctx, async (tx) => {
    const user = proven_hash === null ? null : await holdPassword(tx.scope, user_id, proven_hash);
    if (proven_hash !== null && !user) return null;
    const added = await addProofs(tx, session_id, [proof]);
    if (added && !enrolled) await recordSignIn(tx, { user_id, user, session_id, amr: added.session.amr, renewed: true, last_here, origin });
    return added;
  });
  if (!renewed) return false;
  setSessionCookie(req, res, renewed.token);
  req.session = { ...session, ...renewed.session };
  return true;
}

async function provePasswordOf(req: Request, res: Response, password: string): Promise<ProofOutcome> {
  const session = sessionOf(req);
  const wrong = { outcome: 'wrong', attempts_left: null } as const;
  if (password.length > longest) return wrong;
  const by = { origin: originOf(req), device: deviceOf(req) };
  const verdict = await provePassword(req.ctx, session.user_email, password, by);
  if (verdict.outcome !== 'ok' || verdict.user.id !== session.user_id) return wrong;
  const proof = proofNow('password', req.ctx.clock.now());
  return (await addProof(req, res, proof, { proven_hash: verdict.user.password_hash })) ? { outcome: 'proven' } : wrong;
}

/**
 * Judges a proof that somebody signed in gives, and adds it to the session. Wrong ones count towards the lock of the account or of the second
 * step. Needs {@link limitProofs} before.
 */
export async function prove(req: Request, res: Response, answer: Answer): Promise<ProofOutcome> {
  if (answer.method === 'password') return provePasswordOf(req, res, answer.password);
  const session = sessionOf(req);
  const user = await findUser(req.ctx.scope, session.user_id);
  if (!user) return { outcome: 'refused' };
  const verdict = await attemptSecondStep(req.ctx, {
    user,
    purpose: 'confirm',
    bound: { session_id: session.id, proofs: proofsOf(session) },
    answer,
    browser: browserSecret(req, res),
    host: req.headers.host,
    origin: originOf(req),
  });
  if (verdict.outcome !== 'proven') return verdict;
  return { outcome: (await addProof(req, res, verdict.proof)) ? 'proven' : 'refused' };
}

/**
 * Middleware: the limits of the login, per address and per account, for requests that bear a proof under one of the names; others aren't counted.
 * Needs `browserSession` and a parsed body before.
 */
export function limitProofs(web: Web, names: ProofNames): RequestHandler[] {
  const limit = web.deps.config.rateLimits.login;
  const proves = (req: Request) => req.session !== null && answerOf(req, names) !== null;
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
