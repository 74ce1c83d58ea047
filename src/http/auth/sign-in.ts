import type { Request, Response } from 'express';
import { advance, type SignInResult } from '../../domain/sign-ins/advance.js';
import type { Browser } from '../../domain/sign-ins/browser-session.js';
import type { CurrentSignIn } from '../../domain/sign-ins/current.js';
import type { PresentedProof, PresentedMethod, MethodRefusal } from '../../domain/sign-ins/proof-methods.js';
import { noteProvenPassword } from '../../domain/credentials/breached-sign-in.js';
import { SignInOver } from '../../domain/sessions/half-sign-ins.js';
import { PageError } from '../../errors.js';
import { browserSecretOf } from './browser-secret.js';
import { setSessionCookie, signInSession } from './browser-session.js';
import { clearSignInCookie, setSignInCookie } from './claimant.js';
import { cookieDeviceOf, setDevice } from './device-cookie.js';
import { errorMessage } from '../pages/error-texts.js';
import { originOf } from '../pages/mail-origin.js';
import { withReturnTo } from '../request/return-to.js';

/** 410: the half sign-in has ended, by time, tries, or because another request has completed it. */
export function signInExpired(return_to: string | null): PageError {
  const href = withReturnTo('/login', {}, return_to);
  return new PageError(410, 'sign_in_expired', errorMessage('sign_in_expired'), {}, undefined, { href, label: 'common.sign_in' });
}

/** Refuses a sign-in that is over. @throws {PageError} 401 or 410, and whatever else the error is */
function refuseOver(error: unknown, isCredential: boolean, return_to: string | null): never {
  if (!(error instanceof SignInOver)) throw error;
  throw isCredential && error.reason === 'overtaken'
    ? new PageError(401, 'invalid_credentials', errorMessage('invalid_credentials'))
    : signInExpired(return_to);
}

/** The browser of the request. Needs `browserSession` before. */
const browserOf = (req: Request, remember: boolean): Browser => ({
  session: signInSession(req),
  device: cookieDeviceOf(req),
  secret: browserSecretOf(req) ?? '',
  host: req.headers.host,
  origin: originOf(req),
  remember,
});

export type TakenStep<C extends CurrentSignIn | null = CurrentSignIn | null> = Exclude<SignInResult<C>, { outcome: 'ended' }>;

/** Whether a step was taken, and leads on. */
export const isTaken = (reached: { readonly outcome: string }): reached is TakenStep =>
  reached.outcome === 'signed_in' || reached.outcome === 'asked' || reached.outcome === 'confirmed';

/** Where a step leads: to what the sign-in was for, or to what is asked for next. */
export function onwardPath(reached: TakenStep, return_to: string | null): string {
  if (reached.outcome === 'asked') return withReturnTo(`/login/${reached.next.kind}`, {}, return_to);
  return return_to ?? '/account';
}

/** `current`: what the proof is for, a first step unless told. */
type StepOptions<C = CurrentSignIn | null> = { readonly current?: C; readonly return_to?: string | null; readonly remember?: boolean };

/**
 * Takes a step of a sign-in with the cookies of this browser, and hands it those that follow. Needs `browserSession` before.
 * @throws {PageError} 401 when the password of a first step was changed, the address proven, the user blocked or the session ended a moment ago, 410 when the
 * half sign-in has ended, or what it rests on has changed
 */
export async function takeStep<M extends PresentedMethod, C extends CurrentSignIn | null = null>(
  req: Request,
  res: Response,
  proof: PresentedProof<M>,
  options?: StepOptions<C>,
): Promise<TakenStep<C> | MethodRefusal<M, C>>;
export async function takeStep(
  req: Request,
  res: Response,
  proof: PresentedProof,
  { current = null, return_to = null, remember = false }: StepOptions = {},
): Promise<TakenStep | MethodRefusal<PresentedMethod, CurrentSignIn | null>> {
  const isCredential = current === null && proof.method !== 'provider';
  const reached = await advance(req.ctx, current, proof, browserOf(req, remember)).catch((error: unknown) =>
    refuseOver(error, isCredential, return_to),
  );
  // Once it is answered: nobody's sign-in waits for the look-up.
  if (isTaken(reached) && 'password' in proof)
    res.once('close', () => noteProvenPassword(req.ctx, reached.user, proof.password, originOf(req)));
  if (reached.outcome === 'ended') throw new PageError(401, 'login_required', errorMessage('login_required'));
  if (reached.outcome === 'asked' && reached.token !== null) setSignInCookie(req, res, reached.token);
  if (reached.outcome !== 'signed_in' && reached.outcome !== 'confirmed') return reached;
  setSessionCookie(req, res, reached.token);
  if (reached.outcome === 'signed_in') {
    setDevice(req, res, reached.device);
    if (current !== null) clearSignInCookie(req, res);
  } else if (req.session) req.session = { ...req.session, ...reached.session };
  return reached;
}
