import type { Request, Response } from 'express';
import { findActiveTokenWithUser } from '../domain/tokens/access-token.js';
import type { UserWithRoles } from '../db/tables/access_tokens.js';
import { OAuthError } from '../errors.js';
import { bearerTokenOf } from '../http/auth/authenticate-bearer.js';
import { claimsOf } from './claims.js';

/** GET and POST /oauth/userinfo (OIDC Core 5.3): the claims of the granted scopes, in one statement. */
export async function userinfo(req: Request, res: Response): Promise<void> {
  const { ctx } = req;
  const found = await findActiveTokenWithUser(ctx, bearerTokenOf(req));
  if (!found) throw OAuthError.invalid_token();
  const { token, user } = found;
  if (!ctx.environment.issuers.includes(token.audience)) throw OAuthError.invalid_token('the access token is for another resource');
  if (user === null || !token.scope.split(' ').includes('openid')) throw OAuthError.insufficient_scope('openid');
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('Content-Type', 'application/json');
  res.end(JSON.stringify({ sub: token.sub, ...claimsOf(user satisfies UserWithRoles, token.scope.split(' '), token.claims) }));
}
