import type { Request } from 'express';
import type { Context } from '../../domain/context.js';
import { isDirectLoopback } from '../request/direct-caller.js';

/** Whether mail is captured, and anybody may read it. */
export const hasMailbox = ({ config, environment }: Pick<Context, 'config' | 'environment'>): boolean =>
  config.smtpUrl === null && config.loopback && environment.kind === 'development' && config.devMailbox !== 'off';

/**
 * Whether this caller may read captured mail, one-time codes and all. Never with an SMTP server, in an environment that isn't for
 * development, or once BASE_URL names more than this machine, whatever an old data directory holds. Else DEV_MAILBOX decides; `local` is
 * a program on this machine that uses the environment's own address: under another name a web page could ask that points that name here
 * (DNS rebinding).
 */
export function mayReadMailbox(req: Request): boolean {
  const { config, environment } = req.ctx;
  if (!hasMailbox(req.ctx)) return false;
  if (config.devMailbox === 'on') return true;
  return isDirectLoopback(req) && (req.headers.host ?? '').toLowerCase() === new URL(environment.base_url).host;
}
