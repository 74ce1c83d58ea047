import type { Request, Response } from 'express';
import { relatedOrigins } from '../domain/authenticators/relying-party.js';

/** GET /.well-known/webauthn: which origins may use the passkeys of this RP id (WebAuthn L3 5.11.1). */
export function showRelatedOrigins(req: Request, res: Response): void {
  res.set('Cache-Control', 'public, max-age=300').json(relatedOrigins(req.ctx.environment));
}
