import type { NextFunction, Request, Response } from 'express';

/**
 * Where clients come by documents, a preflight request says nothing of which: it is answered for any origin, and the request itself for those of its client
 * (Fetch Standard, CORS protocol). No cookie authenticates here.
 */
export function documentClientPreflight({ ctx, headers: { origin } }: Request, res: Response, next: NextFunction): void {
  if (origin !== undefined && ctx.environment.client_id_metadata_documents !== 'off') res.setHeader('Access-Control-Allow-Origin', origin);
  next();
}
