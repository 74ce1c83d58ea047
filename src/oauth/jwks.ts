import type { Request, Response } from 'express';
import { keyRing, recallKeyRing } from '../domain/signing-keys/signing-keys.js';
import { sendDocument } from './document.js';

/** GET /.well-known/jwks.json (RFC 7517 5): a text that is ready, cacheable for five minutes. */
export function jwks({ ctx }: Request, res: Response): void | Promise<void> {
  const ring = recallKeyRing(ctx);
  return ring ? sendDocument(res, ring.jwks) : keyRing(ctx).then((loaded) => sendDocument(res, loaded.jwks));
}
