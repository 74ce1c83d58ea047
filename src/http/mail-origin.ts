import type { Request } from 'express';
import type { MailOrigin } from '../core/mail.js';

/** Where the request comes from, for the mail that it causes. */
export function originOf(req: Request): MailOrigin {
  return { ip_address: req.ip ?? null, user_agent: req.headers['user-agent'] ?? null };
}
