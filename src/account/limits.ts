import type { Request, RequestHandler } from 'express';
import type { RateLimit } from '../config.js';
import { addressKey, limitBy } from '../http/rate-limits.js';
import type { Web } from '../http/web.js';
import { normalizeEmail } from '../lib/email-address.js';

const identifierOf = (req: Request, name: string): string | null => {
  const value: unknown = (req.body as Record<string, unknown> | undefined)?.[name];
  if (typeof value !== 'string' || value === '') return null;
  return name === 'email' ? (normalizeEmail(value)?.email_key ?? value.trim().toLowerCase().slice(0, 320)) : value.slice(0, 320);
};

/** Two limits: per client address, and per submitted identifier wherever it comes from (specification 10.1). Needs a parsed body before. */
export function limitAttempts(web: Web, name: string, limit: RateLimit, field: string): RequestHandler[] {
  return [
    limitBy(web.limiter, { name, limit, key: (req) => `${req.ctx.environment.id} ${addressKey(req.ip)}` }),
    limitBy(web.limiter, {
      name: `${name}_${field}`,
      limit,
      key: (req) => {
        const identifier = identifierOf(req, field);
        return identifier === null ? null : `${req.ctx.environment.id} ${identifier}`;
      },
    }),
  ];
}

/** How much mail strangers may have sent to one address. */
const mailLimit: RateLimit = { limit: 30, windowSeconds: 3600 };

/** A limit over an hour per submitted address, because each request sends a mail. Needs a parsed body before. */
export function limitMails(web: Web, name: string): RequestHandler {
  return limitBy(web.limiter, {
    name: `${name}_mail`,
    limit: mailLimit,
    key: (req) => {
      const email_key = identifierOf(req, 'email');
      return email_key === null ? null : `${req.ctx.environment.id} ${email_key}`;
    },
  });
}

/** A limit per signed-in person, whatever the address. Needs `signedIn` before. */
export function limitSignedIn(web: Web, name: string, limit: RateLimit): RequestHandler {
  return limitBy(web.limiter, {
    name,
    limit,
    key: (req) => (req.session ? `${req.ctx.environment.id} ${req.session.user_id}` : null),
  });
}
