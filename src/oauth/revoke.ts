import type { Request, Response } from 'express';
import { findActiveToken } from '../domain/tokens/active-token.js';
import { sessionBounds } from '../domain/sessions/sessions.js';
import { findPresented } from '../domain/tokens/refresh-token.js';
import { endGrantOf } from '../domain/tokens/revoke.js';
import { deleteAccessToken } from '../db/tables/access_tokens.js';
import { revokeId } from '../db/tables/revocations.js';
import { OAuthError } from '../errors.js';
import { digest } from '../lib/digest.js';

/**
 * POST /oauth/revoke (RFC 7009): 200 whatever the token was; another client's token is left alone. A refresh token takes all that
 * its authorization gave along (2.1).
 */
export async function revoke(req: Request, res: Response): Promise<void> {
  const { ctx, client, form } = req;
  const value = form.get('token');
  if (value === undefined) throw OAuthError.invalid_request('token is required');
  if (value.startsWith('rt_')) {
    const token = await findPresented(ctx, value, sessionBounds(ctx));
    if (token?.client_id === client.id) await endGrantOf(ctx, token);
  } else {
    const token = await findActiveToken(ctx, value);
    if (token?.client.id === client.id) {
      if (token.format === 'opaque') await deleteAccessToken(ctx.scope, digest(value));
      else await revokeId(ctx.scope, token.jti, token.expires_at);
    }
  }
  res.setHeader('Cache-Control', 'no-store');
  // RFC 7009 2.2: the body means nothing; many clients parse it as JSON all the same.
  res.status(200).json({});
}
