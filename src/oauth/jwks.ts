import type { Request, Response } from 'express';
import { keyRing, recallPublicKeyRing } from '../domain/signing-keys/signing-keys.js';
import { sendDocument } from './document.js';

/**
 * GET /.well-known/jwks.json (RFC 7517 5): a text that is ready, cacheable for five minutes. It waits for nobody: what is remembered is answered at once, with its
 * `Age` when the database can't be asked, and read again beside that once it may not be trusted any more.
 */
export function jwks({ ctx }: Request, res: Response): void | Promise<void> {
  const known = recallPublicKeyRing(ctx);
  if (!known) return keyRing(ctx).then((loaded) => sendDocument(res, loaded.jwks));
  sendDocument(res, known.value.jwks, known.age_ms);
  // Its failure is told to those who can't be answered without.
  if (!known.fresh) keyRing(ctx).catch(() => undefined);
}
