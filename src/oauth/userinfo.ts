import type { Request, Response } from 'express';
import { lookUpScope } from '../domain/context.js';
import { userinfoClaims } from '../domain/tokens/person-tokens.js';
import { signJwt } from '../domain/tokens/formats/jwt.js';
import { signerFor } from '../domain/signing-keys/signing-keys.js';
import { findOrganization } from '../domain/organizations/organizations.js';
import { OAuthError } from '../errors.js';
import { authenticateToken } from '../http/auth/access-token.js';
import type { Web } from '../http/web.js';

/**
 * GET and POST /oauth/userinfo (OIDC Core 5.3): the claims of the granted scopes and those that the client maps. One statement, and one more where
 * mappings draw on the person, of a read replica if there is one and no proof is to be stored. Any access token with `openid` will do, whatever its
 * audience; of one that isn't good the answer says why. Signed for clients that registered `userinfo_signed_response_alg` (5.3.2).
 */
export const userinfo = (web: Web) => async (req: Request, res: Response) => {
  const { ctx } = req;
  const { token, user, permissions } = await authenticateToken(web, req, lookUpScope(ctx));
  const scopes = token.scope.split(' ');
  if (user === null || !scopes.includes('openid')) throw OAuthError.insufficient_scope('openid');
  const organization = token.organization_id === null ? null : await findOrganization(ctx, token.organization_id);
  const claims = userinfoClaims(ctx, token.client, { user, permissions, sub: token.sub, organization }, scopes, token.claims);
  const algorithm = token.client.userinfo_signed_response_alg;
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Content-Type', algorithm ? 'application/jwt' : 'application/json');
  res.end(
    algorithm
      ? await signJwt(ctx, await signerFor(ctx, algorithm), 'JWT', { ...claims, iss: ctx.environment.issuer, aud: token.client.id })
      : JSON.stringify(claims),
  );
};
