import type { NextFunction, Request, Response } from 'express';
import { createContext, type Deps } from '../core/context.js';
import { findEnvironmentForHost } from '../core/environments.js';

/** Finds the environment by the request's host and puts its context on the request. The host chooses data, never a URL. */
export function environment(deps: Deps) {
  return async (req: Request, _res: Response, next: NextFunction) => {
    const host = deps.config.trustProxy === false ? req.headers.host : req.host;
    req.ctx = createContext(deps, await findEnvironmentForHost(deps, host ?? ''));
    next();
  };
}
