import type { Request, Response } from 'express';
import { keyRing } from '../core/signing-keys.js';

/** GET /.well-known/jwks.json (RFC 7517 5): a buffer that is ready, cacheable for five minutes. */
export async function jwks(req: Request, res: Response): Promise<void> {
  const ring = await keyRing(req.ctx);
  res.setHeader('Access-Control-Allow-Origin', '*');
  res.setHeader('Cache-Control', 'public, max-age=300');
  res.setHeader('Content-Type', 'application/json');
  res.end(ring.jwks);
}
