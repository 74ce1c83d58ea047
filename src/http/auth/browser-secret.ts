import type { Request, Response } from 'express';
import { randomToken } from '../../lib/random.js';
import { cookieName, readCookie, setCookie } from '../request/cookies.js';

const cookie = 'csrf';
const shape = /^[\w-]{43}$/;

/** Secrets that were given out with the answer to a request that brought none. */
const given = new WeakMap<Request, string>();

/** What tells this browser from others until it is closed: 256 random bits in a cookie; null when it has none. It authenticates nobody. */
export function browserSecretOf(req: Request): string | null {
  const secret = readCookie(req, cookieName(req, cookie)) ?? '';
  return shape.test(secret) ? secret : null;
}

/** The same; a browser without one gets it with the answer. CSRF tokens, WebAuthn challenges and emailed codes are bound to it. */
export function browserSecret(req: Request, res: Response): string {
  const known = browserSecretOf(req) ?? given.get(req);
  if (known !== undefined) return known;
  const secret = randomToken('');
  given.set(req, secret);
  setCookie(req, res, cookie, secret);
  return secret;
}
