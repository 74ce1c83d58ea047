import type { NextFunction, Request, Response } from 'express';
import { clientOf } from '../../domain/clients/clients.js';
import { findBrowserSession, noteActivity, type BrowserSession } from '../../domain/sessions/sessions.js';
import { clearCookie, cookieName, readCookie, setCookie } from '../request/cookies.js';
import { onWayTo } from '../request/return-to.js';

const cookie = 'session';

/**
 * Looks the browser's session up; `req.session` is null for a stranger. One statement, and a second one once a minute. Of a step of a client's sign-in
 * also the client, which is remembered, for its branding.
 */
export async function browserSession(req: Request, _res: Response, next: NextFunction): Promise<void> {
  const token = readCookie(req, cookieName(req, cookie));
  req.session = token === undefined ? null : await findBrowserSession(req.ctx, token);
  if (req.session) await noteActivity(req.ctx, req.session);
  const client_id = req.path.startsWith('/oauth/') ? null : onWayTo(req);
  req.branded_for = client_id === null ? null : await clientOf(req.ctx, client_id);
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
