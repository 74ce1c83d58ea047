import type { Request } from 'express';
import type { Context } from '../../domain/context.js';
import { problemForClient, proofAlgorithms, type DpopProof, type ProofRefusal } from '../../domain/dpop/proof.js';
import { findActiveTokenWithUser, type TokenWithUser } from '../../domain/tokens/active-token.js';
import { OAuthError } from '../../errors.js';
import { errorDescription } from '../../lib/error-description.js';
import type { OAuthErrorCode } from '../../lib/oauth-error-codes.js';
import type { Web } from '../web.js';
import { readToken, type Scheme } from './authenticate-bearer.js';
import { readProof, settled } from './dpop.js';

type Complaint = { readonly error: OAuthErrorCode; readonly description: string };

/** The challenges of both schemes (RFC 6750 3, RFC 9449 7.1, 7.2); what is wrong stands with the one that was used. */
function challenges(used: Scheme | null, complaint: Complaint | null): string {
  const parametersOf = (scheme: Scheme) =>
    complaint === null || scheme !== used
      ? ''
      : `, error="${complaint.error}", error_description="${errorDescription(complaint.description)}"`;
  return `Bearer realm="oauth"${parametersOf('Bearer')}, DPoP realm="oauth"${parametersOf('DPoP')}, algs="${proofAlgorithms.join(' ')}"`;
}

/** 401 for a request to a protected resource. */
function refused(used: Scheme | null, error: OAuthErrorCode, description: string): OAuthError {
  const complaint = used === null ? null : { error, description };
  return new OAuthError(401, error, description, { 'WWW-Authenticate': challenges(used, complaint) });
}

const proofRefused = ({ error, reason }: ProofRefusal) => refused('DPoP', error, reason);

async function requireProof(req: Request, token: string): Promise<DpopProof> {
  const proof = await readProof(req, { access_token: token });
  if (proof === null) throw refused('DPoP', 'invalid_dpop_proof', 'a DPoP proof is needed with Authorization: DPoP');
  if ('error' in proof) throw proofRefused((await problemOfSender(req, token, proof)) ?? proof);
  return proof;
}

/** What is wrong with a proof whose clock is off, by the client of its token: one with FAPI 2.0 is refused at once, as at the token endpoint, and asked for no nonce. */
async function problemOfSender(req: Request, token: string, { but_for_nonce: proof }: ProofRefusal): Promise<ProofRefusal | null> {
  if (proof === undefined) return null;
  const found = await findActiveTokenWithUser(req.ctx, token, proof);
  return 'token' in found ? problemForClient(found.token.client, proof) : null;
}

/** A good access token, how to refuse it all the same, and the same token again, by another context, for an answer that goes on: its proof stays good. */
export type PresentedToken = TokenWithUser & { invalid(description: string): OAuthError; again(ctx: Context): Promise<PresentedToken> };

/**
 * The access token that the request bears, with the person behind it: as Bearer (RFC 6750), or bound to a key with a proof of it (RFC 9449 7.1).
 * @param scope where it is looked up: `lookUpScope(ctx)` where an answer up to a second old will do
 * @throws {OAuthError} 401 without a good one; 400 for one that is sent twice or in the query
 */
export async function authenticateToken(web: Pick<Web, 'proofUses'>, req: Request, scope = req.ctx.scope): Promise<PresentedToken> {
  const { scheme, token } = readToken(req, ['Bearer', 'DPoP'], (used, description) => refused(used, 'invalid_token', description));
  const proof = scheme === 'DPoP' ? await requireProof(req, token) : null;
  // What isn't kept in the database is only kept of tokens that are good: strangers fill nothing.
  const found = await findActiveTokenWithUser(req.ctx, token, proof && web.proofUses ? { ...proof, use: null } : proof, scope);
  if ('inactive' in found) throw refused(scheme, 'invalid_token', found.inactive);
  if ('reason' in found) throw proofRefused(found);
  const outcome = proof && (problemForClient(found.token.client, proof) ?? (await settled(web, req, proof)));
  if (outcome && 'error' in outcome) throw proofRefused(outcome);
  return presented(scheme, token, proof, found);
}

function presented(scheme: Scheme, text: string, proof: DpopProof | null, { token, user, permissions }: TokenWithUser): PresentedToken {
  const invalid = (description: string) => refused(scheme, 'invalid_token', description);
  const again = async (ctx: Context) => {
    const found = await findActiveTokenWithUser(ctx, text, proof && { ...proof, use: null });
    if (!('token' in found)) throw invalid('inactive' in found ? found.inactive : found.reason);
    return presented(scheme, text, proof, found);
  };
  return { token, user, permissions, invalid, again };
}
