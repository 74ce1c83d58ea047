import type { Request, Response } from 'express';
import { requireBound, spendProof } from '../domain/dpop/proof.js';
import { OAuthError } from '../errors.js';
import { proofOf } from '../http/auth/dpop.js';
import { originOf } from '../http/pages/mail-origin.js';
import type { Web } from '../http/web.js';
import { grants } from './grants/index.js';

/** POST /oauth/token (RFC 6749 3.2): answers with the tokens of the grant type, `Cache-Control: no-store`. @throws {OAuthError} */
export function token(web: Web) {
  return async (req: Request, res: Response): Promise<void> => {
    const { ctx, client, form } = req;
    const grant_type = form.get('grant_type');
    if (grant_type === undefined) throw OAuthError.invalid_request('grant_type is required');
    const grant = Object.hasOwn(grants, grant_type) ? grants[grant_type] : undefined;
    if (!grant) throw OAuthError.unsupported_grant_type('this grant type is not offered');
    const unproven = client.token_endpoint_auth_method === 'none';
    if (!client.grant_types.includes(grant_type) || (unproven && !grant.public_clients)) {
      throw OAuthError.unauthorized_client('the client may not use this grant type');
    }
    const proof = await proofOf(web, req);
    requireBound(ctx, client, proof);
    const started = performance.now();
    if (!grant.spends_proof) await spendProof(ctx, proof);
    const answer = await grant.answer(ctx, client, form, () => originOf(req), proof);
    ctx.metrics.tokenSeconds.record((performance.now() - started) / 1000, grant_type);
    ctx.metrics.daily.add(ctx.environment.id, 'tokens', grant_type);
    ctx.metrics.tokensIssued.count(grant_type, answer.access_token.startsWith('at_') ? 'opaque' : 'jwt');
    res.setHeader('Cache-Control', 'no-store');
    res.setHeader('Pragma', 'no-cache');
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify(answer));
  };
}
