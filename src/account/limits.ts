import type { Request, RequestHandler, Response } from 'express';
import type { RateLimit } from '../config.js';
import { isLinkToken } from '../domain/credentials/password-reset.js';
import { isKnownTo } from '../domain/sessions/known-browsers.js';
import { findUserByEmailKey } from '../db/tables/users.js';
import { browserSession } from '../http/auth/browser-session.js';
import { findClaimant } from '../http/auth/claimant.js';
import { cookieDeviceOf } from '../http/auth/device-cookie.js';
import { limitBy, limitByAddress, setRateLimitHeaders } from '../http/limits/rate-limits.js';
import type { Web } from '../http/web.js';
import { normalizeEmail } from '../lib/email-address.js';
import { own } from '../lib/named.js';
import { credentialIn } from './fields.js';

/** The key of a caller's address, which each environment counts for itself. */
const inEnvironment = (req: Request, address: string): string => `${req.ctx.environment.id} ${address}`;

const identifierOf = (req: Request, name: string): string | null => {
  const value: unknown = own(req.body as Record<string, unknown> | undefined, name);
  if (typeof value !== 'string' || value === '') return null;
  return name === 'email' ? (normalizeEmail(value)?.email_key ?? value.trim().toLowerCase().slice(0, 320)) : value.slice(0, 320);
};

/**
 * Two limits: per client address, and per submitted identifier wherever it comes from (specification 10.1), where that is a guess. Needs a parsed body
 * before.
 */
export const limitAttempts = (
  web: Web,
  name: string,
  limit: RateLimit,
  field: string,
  isGuess: (req: Request) => boolean = () => true,
): RequestHandler[] => [
  limitByAddress(web, { name, limit, key: inEnvironment }),
  limitBy(web, {
    name: `${name}_${field}`,
    limit,
    key: (req) => {
      const identifier = isGuess(req) ? identifierOf(req, field) : null;
      return identifier === null ? null : `${req.ctx.environment.id} ${identifier}`;
    },
  }),
];

/** Finds out whether the account of the submitted email knows the browser. One look-up, and only for a browser that shows a cookie of ours. */
const recognise: RequestHandler = async (req, _res, next) => {
  const [device, email_key] = [cookieDeviceOf(req), identifierOf(req, 'email')];
  const user = device === null || email_key === null ? null : await findUserByEmailKey(req.ctx.scope, email_key);
  req.knownBrowser = user !== null && isKnownTo(req.ctx, device, user);
  next();
};

/** The key of the submitted email, for browsers that its account knows or for all others; null for the other ones, and without an email. */
const emailKey =
  (ofKnown: boolean) =>
  (req: Request): string | null => {
    const email_key = identifierOf(req, 'email');
    return email_key !== null && (req.knownBrowser ?? false) === ofKnown ? `${req.ctx.environment.id} ${email_key}` : null;
  };

/**
 * The limits of a sign-in: per client address, and per submitted email wherever it comes from. A browser that has signed in to that account
 * before has a window of its own there: strangers who use theirs up don't keep it out. Needs a parsed body before.
 */
export function limitEmail(web: Web): RequestHandler[] {
  if (!web.limiter.enabled) return [];
  const limit = web.deps.config.rateLimits.login;
  return [
    limitByAddress(web, { name: 'login', limit, key: inEnvironment }),
    recognise,
    limitBy(web, { name: 'login_email', limit, key: emailKey(false) }),
    limitBy(web, { name: 'login_known', limit, key: emailKey(true) }),
  ];
}

/** The limit of a recovery's first step, per client address; {@link countRecoveryMail} comes after it. Needs a parsed body before. */
export function limitRecovery(web: Web): RequestHandler[] {
  if (!web.limiter.enabled) return [];
  return [limitByAddress(web, { name: 'password', limit: web.deps.config.rateLimits.login, key: inEnvironment }), recognise];
}

/**
 * Counts the mail of a recovery by the address that it goes to: one for each minute that a mail is good for, in that time. Whoever is refused has therefore
 * been sent one that still works, in any browser, and strangers who ask for more keep nobody from recovering (specification 10.1.9). A browser that the
 * account knows has a window of its own. @returns seconds until another may go; null: it may
 */
export async function countRecoveryMail({ limiter }: Web, req: Request, res: Response, email_key: string): Promise<number | null> {
  const { id, otp_lifetime } = req.ctx.environment;
  const key = JSON.stringify(['recovery_mail', req.knownBrowser ?? false, id, email_key]);
  const verdict = await limiter.take(key, { limit: Math.ceil(otp_lifetime / 60), windowSeconds: otp_lifetime });
  if (limiter.enabled) setRateLimitHeaders(res, verdict);
  return verdict.allowed ? null : verdict.reset_seconds;
}

/** The limits of a recovery's second step: per client address, and per reset. The link's token isn't counted by the reset: nobody guesses it. */
export function limitReset(web: Web): RequestHandler[] {
  const limit = web.deps.config.rateLimits.login;
  return limitAttempts(web, 'password', limit, 'reset_id', (req) => !isLinkToken(own(req.body as Record<string, unknown>, 'code')));
}

/**
 * The limits of a further step of a sign-in, in the same windows as those of the first: per client address, and per person. Finds the claimant on
 * the way, once the address is counted. Needs a parsed body before.
 */
export function limitClaimant(web: Web): RequestHandler[] {
  if (!web.limiter.enabled) return [browserSession, findClaimant];
  const limit = web.deps.config.rateLimits.login;
  const keyOf = (req: Request, ofKnown: boolean): string | null => {
    const user = req.claimant?.user;
    return user && isKnownTo(req.ctx, cookieDeviceOf(req), user) === ofKnown ? `${req.ctx.environment.id} ${user.email_key}` : null;
  };
  return [
    limitByAddress(web, { name: 'login', limit, key: inEnvironment }),
    browserSession,
    findClaimant,
    limitBy(web, { name: 'login_email', limit, key: (req) => keyOf(req, false) }),
    limitBy(web, { name: 'login_known', limit, key: (req) => keyOf(req, true) }),
  ];
}

/** Options for ceremonies with a passkey: a page takes new ones every few minutes. */
export function limitOptions(web: Web): RequestHandler {
  const limit: RateLimit = { limit: 60, windowSeconds: 60 };
  return limitByAddress(web, { name: 'passkey_options', limit, key: inEnvironment });
}

/** The credential that a passkey sign-in presents, by which it is counted beside the address; null without one. */
export function limitCredential(web: Web): RequestHandler {
  const idOf = (req: Request): string | null => {
    const id = (credentialIn(req) as { id?: unknown } | null | undefined)?.id;
    return typeof id === 'string' ? id.slice(0, 1400) : null;
  };
  return limitBy(web, {
    name: 'login_credential',
    limit: web.deps.config.rateLimits.login,
    key: (req) => (idOf(req) === null ? null : `${req.ctx.environment.id} ${idOf(req)}`),
  });
}

/** Invitations that are opened or answered from one address. */
export const limitInvitations = (web: Web): RequestHandler =>
  limitByAddress(web, { name: 'invitation', limit: { limit: 60, windowSeconds: 60 }, key: inEnvironment });

/** How much mail strangers may have sent to one address, for a registration or a sign-in. */
const mailLimit: RateLimit = { limit: 30, windowSeconds: 3600 };

/**
 * A limit over an hour per submitted address, because each request sends a mail; a browser that the account knows has a window of its own, after
 * {@link limitEmail}. Needs a parsed body before.
 */
export const limitMails = (web: Web, name: string): RequestHandler[] => [
  limitBy(web, { name: `${name}_mail`, limit: mailLimit, key: emailKey(false) }),
  limitBy(web, { name: `${name}_mail_known`, limit: mailLimit, key: emailKey(true) }),
];

/** A limit per signed-in person, whatever the address. Needs `signedIn` before. */
export const limitSignedIn = (web: Web, name: string, limit: RateLimit): RequestHandler =>
  limitBy(web, { name, limit, key: (req) => (req.session ? `${req.ctx.environment.id} ${req.session.user_id}` : null) });
