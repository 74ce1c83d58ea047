import type { NextFunction, Request, Response } from 'express';
import { remembered } from '../../domain/context.js';
import { listAllowedOrigins, listOwnOrigins } from '../../db/tables/clients.js';
import { wantsJson } from '../request/form.js';

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
  const origins = await remembered(ctx, 'clients', ' allowed origins', ({ scope }) => listAllowedOrigins(scope));
  if (origins?.includes(origin)) letIn(origin, res);
  next();
}

function letIn(origin: string, res: Response): void {
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After, X-Request-Id, DPoP-Nonce');
}

/** The same for the client that the request is from, which need not be stored (`cors` knows of those that are). Needs `cors` and client authentication before. */
export function corsOfClient({ headers: { origin }, client }: Request, res: Response, next: NextFunction): void {
  if (origin !== undefined && client.allowed_origins.includes(origin)) letIn(origin, res);
  next();
}

/** Lets browser applications of every origin read public documents. */
export function corsForAll(_req: Request, res: Response, next: NextFunction): void {
  res.setHeader('Access-Control-Allow-Origin', '*');
  next();
}

/**
 * Lets a first-party client's own UI call the account endpoints with the session cookie, which browsers send along from the same site
 * only (SameSite=Lax). Other clients' origins are left out: whoever reads these answers acts as the person. Pages are never shown to
 * another origin, because they hold CSRF tokens.
 */
export async function ownUiCors(req: Request, res: Response, next: NextFunction): Promise<void> {
  const { ctx, headers } = req;
  res.vary('Origin');
  if (headers.origin === undefined || !(req.method === 'OPTIONS' || wantsJson(req))) return next();
  const origins = await remembered(ctx, 'clients', ' own origins', ({ scope }) => listOwnOrigins(scope));
  if (origins?.includes(headers.origin)) {
    res.setHeader('Access-Control-Allow-Origin', headers.origin);
    res.setHeader('Access-Control-Allow-Credentials', 'true');
    res.setHeader('Access-Control-Expose-Headers', 'Retry-After, X-Request-Id');
  }
  next();
}

/** The answer to a preflight request; `cors` has set who is allowed. */
export function preflight(_req: Request, res: Response): void {
  res.setHeader('Access-Control-Allow-Methods', 'GET, POST');
  // `*`: SDKs and telemetry add headers of their own. It excludes `Authorization`, and means nothing beside credentials.
  res.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, DPoP, MCP-Protocol-Version, *');
  res.setHeader('Access-Control-Max-Age', '600');
  res.status(204).end();
}
