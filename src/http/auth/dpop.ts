import type { NextFunction, Request, Response } from 'express';
import { currentNonce } from '../../domain/dpop/nonces.js';
import { proofRefused, usedBefore, verifyProof, type DpopProof, type ProofRefusal, type ProvenRequest } from '../../domain/dpop/proof.js';
import { requestOrigin } from '../request/asked-origin.js';
import type { Web } from '../web.js';

/** Middleware: every answer to a request that has to do with DPoP tells the nonce for the next (RFC 9449 8.2). */
export function tellNonce(req: Request, res: Response, next: NextFunction): void {
  const { dpop, authorization } = req.headers;
  if (dpop !== undefined || (authorization !== undefined && /^dpop /i.test(authorization)))
    res.setHeader('DPoP-Nonce', currentNonce(req.ctx));
  next();
}

/** The proof in the header `DPoP`, checked against the request, and the access token or the client that it comes with; null without one. */
export async function readProof(
  req: Request,
  bound: Pick<ProvenRequest, 'access_token' | 'client'>,
): Promise<DpopProof | ProofRefusal | null> {
  const { dpop } = req.headers;
  if (dpop === undefined) return null;
  const request: ProvenRequest = {
    ...bound,
    method: req.method,
    origin: requestOrigin(req),
    path: req.originalUrl.split(/[?#]/, 1)[0] ?? '',
  };
  // Several headers arrive as one, joined by commas.
  return verifyProof(req.ctx, String(dpop), request);
}

/**
 * The proof, known to be used for the first time where uses are kept outside of the database; in it the statement that grants the request finds out,
 * and stores the use.
 */
export async function settled(
  { proofUses }: Pick<Web, 'proofUses'>,
  { ctx }: Request,
  proof: DpopProof,
): Promise<DpopProof | ProofRefusal> {
  if (!proofUses || !proof.use) return proof;
  const { digest, expires_at } = proof.use;
  const first = await proofUses.once(digest, expires_at.getTime() - ctx.clock.now().getTime());
  return first ? { ...proof, use: null } : usedBefore;
}

/**
 * The proof of a request to the authorization server (RFC 9449 5); null without one. Needs the client before.
 * @throws {OAuthError} 400 `invalid_dpop_proof` or `use_dpop_nonce`
 */
export const dpopProofOf = (web: Pick<Web, 'proofUses'>, req: Request): Promise<DpopProof | null> | null =>
  req.headers.dpop === undefined ? null : requireGood(web, req);

async function requireGood(web: Pick<Web, 'proofUses'>, req: Request): Promise<DpopProof | null> {
  const proof = await readProof(req, { client: req.client });
  if (proof === null) return null;
  const outcome = 'error' in proof ? proof : await settled(web, req, proof);
  if ('error' in outcome) throw proofRefused(req.ctx, outcome);
  return outcome;
}
