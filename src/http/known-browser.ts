import type { Request, Response } from 'express';
import { knownBrowserOf, knownForSeconds, rememberAccount } from '../core/known-browsers.js';
import { cookieName, readCookie, setCookie } from './cookies.js';

const cookie = 'browser';

/** What the browser shows of accounts that it has signed in to; null when it shows nothing. Anybody can have written it. */
export function shownBrowser(req: Request): string | null {
  return readCookie(req, cookieName(req, cookie)) ?? null;
}

/** Whether the browser has signed in to the account of the address before: it goes before strangers, and their limits aren't its own. */
export function isKnownBrowser(req: Request, email_key: string): boolean {
  return knownBrowserOf(req.ctx, shownBrowser(req), email_key) !== null;
}

/** Lets the browser be known to the account that it has just signed in to by password; it outlives sign-out and sessions. */
export function rememberBrowser(req: Request, res: Response, email_key: string): void {
  setCookie(req, res, cookie, rememberAccount(req.ctx, shownBrowser(req), email_key), knownForSeconds);
}
