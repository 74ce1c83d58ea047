import type { NextFunction, Request, Response } from 'express';
import { isGoodFor } from '../../domain/organizations/admission.js';
import { brandingOfSignIn } from './sign-in-organization.js';
import { clientOf } from '../../domain/clients/clients.js';
import { findBrowserSession, noteActivity, type BrowserSession } from '../../domain/sessions/sessions.js';
import { clearCookie, cookieName, readCookie, setCookie } from '../request/cookies.js';
import { onWayTo } from '../request/return-to.js';

const cookie = 'session';

declare module 'express-serve-static-core' {
  interface Request {
    /** The session of somebody who came only through connections of organizations that don't manage them: good for these alone (specification 16.2.7). */
    bounded_session?: BrowserSession | null;
  }
}

/** The session that a sign-in for a client goes by: it is looked at there what it is good for. */
export const signInSession = ({ session, bounded_session = null }: Request): BrowserSession | null => session ?? bounded_session;

/**
 * Looks the browser's session up; `req.session` is null for a stranger. One statement, and a second one once a minute. Of a step of a client's sign-in
 * also the client, which is remembered, for its branding.
 */
export async function browserSession(req: Request, _res: Response, next: NextFunction): Promise<void> {
  const token = readCookie(req, cookieName(req, cookie));
  req.session = token === undefined ? null : await findBrowserSession(req.ctx, token);
  if (req.session) await noteActivity(req.ctx, req.session);
  if (req.session && !(await isGoodFor(req.ctx, req.session, null))) [req.session, req.bounded_session] = [null, req.session];
  const client_id = req.path.startsWith('/oauth/') ? null : onWayTo(req);
  req.branded_for = client_id === null ? null : await brandingOfSignIn(req, await clientOf(req.ctx, client_id));
  next();
}

/** The session of a request that was let in. @throws {Error} without one */
export function sessionOf({ session }: Request): BrowserSession {
  if (!session) throw new Error('this handler is for somebody signed in');
  return session;
}

/** Hands the browser the token of its new session. */
export function setSessionCookie(req: Request, res: Response, token: string): void {
  setCookie(req, res, cookie, token, req.ctx.environment.session_lifetime);
}

/**
 * Takes the session's cookie away from a browser that has sent it. One that hasn't may come from another site's form, which is sent
 * without our SameSite cookie: that must not sign anybody out (CSRF).
 */
export function clearSessionCookie(req: Request, res: Response): void {
  if (readCookie(req, cookieName(req, cookie)) === undefined) return;
  clearCookie(req, res, cookie);
}
