import type { Request } from 'express';
import { isDirectLoopback } from '../request/direct-caller.js';

/**
 * Whether this caller may read captured mail, one-time codes and all. Never with an SMTP server, in an environment that isn't for
 * development, or once BASE_URL names more than this machine, whatever an old data directory holds. Else DEV_MAILBOX decides; `local` is
 * a program on this machine that uses the environment's own address: under another name a web page could ask that points that name here
 * (DNS rebinding).
 */
export function mayReadMailbox(req: Request): boolean {
  const { config, environment } = req.ctx;
  if (config.smtpUrl !== null || !config.loopback || environment.kind !== 'development') return false;
  if (config.devMailbox !== 'local') return config.devMailbox === 'on';
  return isDirectLoopback(req) && (req.headers.host ?? '').toLowerCase() === new URL(environment.base_url).host;
}
