import type { IRouter, NextFunction, Request, RequestHandler, Response } from 'express';
import { BodyError } from '../errors.js';

/** A method that the path doesn't have (RFC 9110 15.5.6). */
export class MethodNotAllowedError extends BodyError {
  constructor(readonly allow: string) {
    super(400, 'method not allowed');
    this.name = 'MethodNotAllowedError';
  }
}

/**
 * Mounts the handlers of one path by method and refuses all other methods with 405 and `Allow`. HEAD is answered only where it is
 * listed or `get` is marked as safe to run for it.
 */
export function route(
  router: IRouter,
  path: string,
  methods: {
    get?: RequestHandler[];
    head?: boolean;
    post?: RequestHandler[];
    put?: RequestHandler[];
    delete?: RequestHandler[];
    options?: RequestHandler[];
  },
): void {
  const allowed = [...(methods.get ? ['GET'] : []), ...(methods.get && methods.head ? ['HEAD'] : []), ...(methods.post ? ['POST'] : [])];
  if (methods.put) allowed.push('PUT');
  if (methods.delete) allowed.push('DELETE');
  if (methods.options) allowed.push('OPTIONS');
  const allow = allowed.join(', ');
  const refuse = (_req: Request, _res: Response, next: NextFunction) => next(new MethodNotAllowedError(allow));
  const mounted = router.route(path);
  if (!methods.head) mounted.head(refuse);
  if (methods.get) mounted.get(...methods.get);
  if (methods.post) mounted.post(...methods.post);
  if (methods.put) mounted.put(...methods.put);
  if (methods.delete) mounted.delete(...methods.delete);
  if (methods.options) mounted.options(...methods.options);
  mounted.all(refuse);
}
