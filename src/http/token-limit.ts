import type { NextFunction, Request, Response } from 'express';
import { clientOf } from '../core/clients.js';
import { authenticateClient, claimedClientId } from './authenticate-client.js';
import { createTokenLimit, type TokenCaller } from './rate-limits.js';
import type { Web } from './web.js';

/** Client authentication behind the limit of /oauth/token (specification 10.1): counted per claimed client and address. Needs `form` before. */
export function limitedClientAuthentication(web: Web) {
  if (!web.limiter.enabled) return authenticateClient;
  const limit = createTokenLimit(web.limiter, web.deps.config.rateLimits.token);
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    const client_id = claimedClientId(req);
    const client = client_id === '' ? null : await clientOf(req.ctx, client_id);
    const caller: TokenCaller = {
      environment_id: req.ctx.environment.id,
      // Made-up ids share one window: each must not get its own.
      client_id: client?.id ?? null,
      ip: req.ip,
      token_rate_limit: client?.token_rate_limit ?? null,
    };
    await limit.admit(res, caller);
    let authenticated = false;
    try {
      await authenticateClient(req, res, () => {
        authenticated = true;
      });
    } catch (error) {
      await limit.failed(res, caller);
      throw error;
    }
    if (authenticated) {
      await limit.succeeded(res, caller);
      next();
    }
  };
}
