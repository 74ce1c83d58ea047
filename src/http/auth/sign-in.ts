import type { Request, Response } from 'express';
import { openBrowserSession, type Browser, type SignedInUser, type WholeSignIn } from '../../domain/sign-ins/browser-session.js';
import { SignInOver } from '../../domain/sign-ins/sign-ins.js';
import { PageError } from '../../errors.js';
import { setSessionCookie } from './browser-session.js';
import { deviceAfterSignIn, deviceOf, lastSignInHere, setDevice } from './device-cookie.js';
import { errorMessage } from '../pages/error-texts.js';
import { originOf } from '../pages/mail-origin.js';
import { withReturnTo } from '../request/return-to.js';

/** 410: the half sign-in has ended, by time, tries, or because another request has completed it. */
export function signInExpired(return_to: string | null): PageError {
  const href = withReturnTo('/login', {}, return_to);
  return new PageError(410, 'sign_in_expired', errorMessage('sign_in_expired'), {}, undefined, { href, label: 'common.sign_in' });
}

/** Refuses a sign-in that is over. @throws {PageError} 401 or 410, and whatever else the error is */
export function refuseOver(error: unknown, return_to: string | null): never {
  if (!(error instanceof SignInOver)) throw error;
  throw error.reason === 'expired'
    ? signInExpired(return_to)
    : new PageError(401, 'invalid_credentials', errorMessage('invalid_credentials'));
}

/** The browser of the request, for the user to sign in with. Needs `browserSession` before. */
export const browserOf = (req: Request, user_id: string): Browser => ({
  session: req.session,
  known: deviceOf(req),
  device: deviceAfterSignIn(req, user_id),
  last_here: lastSignInHere(req, user_id),
  origin: originOf(req),
});

/** Hands the browser the cookies of somebody who is signed in. */
export function setSignedIn(req: Request, res: Response, { token }: SignedInUser, { device }: Browser): void {
  setSessionCookie(req, res, token);
  setDevice(req, res, device);
}

/**
 * Signs the user in to this browser. Needs `browserSession` before.
 * @throws {PageError} 401 when the user was blocked a moment ago
 */
export async function signIn(req: Request, res: Response, whole: WholeSignIn): Promise<void> {
  const browser = browserOf(req, whole.user.id);
  const signedIn = await openBrowserSession(req.ctx, whole, browser).catch((error: unknown) => refuseOver(error, null));
  setSignedIn(req, res, signedIn, browser);
}
