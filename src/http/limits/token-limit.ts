import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { clientOf } from '../../domain/clients/clients.js';
import { OAuthError } from '../../errors.js';
import { authenticateClient, claimedClientId } from '../auth/authenticate-client.js';
import { createTokenLimit, type TokenCaller, type TokenLimit } from './rate-limits.js';
import type { Web } from '../web.js';

async function callerOf(req: Request): Promise<TokenCaller> {
  const client_id = claimedClientId(req);
  const client = client_id === '' ? null : await clientOf(req.ctx, client_id);
  return {
    environment_id: req.ctx.environment.id,
    // Made-up ids share one window: each must not get its own.
    client_id: client?.id ?? null,
    ip: req.ip,
    token_rate_limit: client?.token_rate_limit ?? null,
  };
}

/** Proves the client, and counts it when the proof was wrong; a malformed request is no guess. */
async function authenticateOrCount(limit: TokenLimit, caller: TokenCaller, req: Request, res: Response): Promise<void> {
  try {
    await authenticateClient(req, res, () => undefined);
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'invalid_client') await limit.failed(res, caller);
    throw error;
  }
}

/** Client authentication behind the limit of /oauth/token: requests and wrong secrets per claimed client and address. Needs `form` before. */
export function limitedClientAuthentication(web: Web): RequestHandler {
  if (!web.limiter.enabled) return authenticateClient;
  const limit = createTokenLimit(web.limiter, web.deps.config.rateLimits.token);
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    const caller = await callerOf(req);
    await limit.admit(res, caller);
    await authenticateOrCount(limit, caller, req, res);
    await limit.succeeded(res, caller);
    next();
  };
}

/** Client authentication where only wrong secrets count, in the same window as at /oauth/token: introspection, revocation. Needs `form` before. */
export function guardedClientAuthentication(web: Web): RequestHandler {
  if (!web.limiter.enabled) return authenticateClient;
  const limit = createTokenLimit(web.limiter, web.deps.config.rateLimits.token);
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    const caller = await callerOf(req);
    await limit.refuseGuesser(res, caller);
    await authenticateOrCount(limit, caller, req, res);
    next();
  };
}
