import type { NextFunction, Request, Response } from 'express';
import { listAllowedOrigins } from '../db/tables/clients.js';

/**
 * Lets browser applications of registered origins call an endpoint (clients' `allowed_origins`; Fetch Standard, CORS protocol). No
 * credentials mode: cookies never authenticate here.
 */
export function cors(req: Request, res: Response, next: NextFunction): void | Promise<void> {
  const { origin } = req.headers;
  return origin === undefined ? next() : answerOrigin(origin, req, res, next);
}

async function answerOrigin(origin: string, req: Request, res: Response, next: NextFunction): Promise<void> {
  res.vary('Origin');
  const { ctx } = req;
  const origins = await ctx.cache.get(ctx.environment.id, 'clients', ' allowed origins', () => listAllowedOrigins(ctx.scope));
  if (origins?.includes(origin)) {
    res.setHeader('Access-Control-Allow-Origin', origin);
    res.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After');
  }
  next();
}

/** The answer to a preflight request; `cors` has set who is allowed. */
export function preflight(_req: Request, res: Response): void {
  res.setHeader('Access-Control-Allow-Methods', 'GET, POST');
  res.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type');
  res.setHeader('Access-Control-Max-Age', '600');
  res.status(204).end();
}
