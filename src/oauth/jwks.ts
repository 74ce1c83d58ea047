import type { Request, Response } from 'express';
import { keyRing, recallPublicKeyRing, type KeyRing } from '../domain/signing-keys/signing-keys.js';
import { ageHeader, publicDocumentOf, sendDocument } from '../http/request/public-document.js';
import { ofEach } from '../lib/memo.js';

/** The JWKS of the keys, built once for as long as they stay the same. */
export const jwksDocument = ofEach((ring: KeyRing) => publicDocumentOf(ring.jwks));

/**
 * GET /.well-known/jwks.json (RFC 7517 5), cacheable for five minutes. It waits for nobody: what is remembered is answered at once, with its
 * `Age` when the database can't be asked, and read again beside that once it may not be trusted any more.
 */
export function jwks(req: Request, res: Response): void | Promise<void> {
  const { ctx } = req;
  const known = recallPublicKeyRing(ctx);
  if (!known) return keyRing(ctx).then((loaded) => sendDocument(req, res, jwksDocument(loaded)));
  sendDocument(req, res, jwksDocument(known.value), ageHeader(known.age_ms));
  // Its failure is told to those who can't be answered without.
  if (!known.fresh) keyRing(ctx).catch(() => undefined);
}
