import { isIP } from 'node:net';
import type { Request, Response } from 'express';
import { requestOptions } from '../../domain/authenticators/passkey-sign-in.js';
import { requestedOrigin, rpIdOf } from '../../domain/authenticators/relying-party.js';
import { browserSecret } from './browser-secret.js';
import type { PagePasskey } from '../pages/page-models.js';

/** Null where no passkey can be used: switched off, or an RP id that is an IP address (WebAuthn L3 5.1.2). */
export function passkeyPart(req: Request, options_path: string, options: object | null): PagePasskey | null {
  const rp_id = rpIdOf(req.ctx.environment);
  if (isIP(rp_id.replace(/^\[|\]$/g, '')) !== 0) return null;
  const { protocol, port } = new URL(req.ctx.config.baseUrl);
  const here = (req.headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
  const elsewhere = here === rp_id ? null : `${protocol}//${rp_id}${port === '' ? '' : `:${port}`}${req.originalUrl}`;
  const only_there = requestedOrigin(req.ctx, req.headers.host) === null;
  return { rp_id, options_path, options: options && JSON.stringify(options), elsewhere, only_there };
}

/** The request for a passkey of whoever is there: it names no credential, whatever is sent along, and tells nothing of anybody. */
export const signInOptions = (req: Request, res: Response) =>
  requestOptions(req.ctx, { purpose: 'sign_in', browser: browserSecret(req, res), user_id: null });
