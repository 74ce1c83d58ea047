import type { Request, Response } from 'express';
import { randomToken } from '../../lib/random.js';
import { cookieName, readCookie, setCookie } from '../request/cookies.js';

const cookie = 'csrf';
const shape = /^[\w-]{43}$/;

/** What tells this browser from others until it is closed: 256 random bits in a cookie; null when it has none. It authenticates nobody. */
export function browserSecretOf(req: Request): string | null {
  const secret = readCookie(req, cookieName(req, cookie)) ?? '';
  return shape.test(secret) ? secret : null;
}

/** The same; a browser without one gets it with the answer. CSRF tokens, WebAuthn challenges and emailed codes are bound to it. */
export function browserSecret(req: Request, res: Response): string {
  const known = browserSecretOf(req) ?? req.given_browser_secret;
  if (known !== undefined) return known;
  const secret = (req.given_browser_secret = randomToken(''));
  setCookie(req, res, cookie, secret);
  return secret;
}
