import type { NextFunction, Request, Response } from 'express';
import { createContext, type Context, type Deps } from '../core/context.js';
import { findEnvironmentForHost, recallEnvironmentForHost, type Environment } from '../core/environments.js';

/** Finds the environment by the request's host and puts its context on the request. The host chooses data, never a URL. */
export function environment(deps: Deps) {
  // A context outside any transaction holds nothing of the request: one serves all requests that see the same environment.
  const contexts = new WeakMap<Environment, Context>();
  const contextOf = (found: Environment): Context => {
    let ctx = contexts.get(found);
    if (!ctx) contexts.set(found, (ctx = createContext(deps, found)));
    return ctx;
  };

  return (req: Request, _res: Response, next: NextFunction): void | Promise<void> => {
    const host = (deps.config.trustProxy === false ? req.headers.host : req.host) ?? '';
    const known = recallEnvironmentForHost(deps, host);
    if (known) {
      req.ctx = contextOf(known);
      return next();
    }
    return findEnvironmentForHost(deps, host).then((found) => {
      req.ctx = contextOf(found);
      next();
    });
  };
}
