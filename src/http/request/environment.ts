import type { NextFunction, Request, Response } from 'express';
import { createContext, type Context, type Deps } from '../../domain/context.js';
import type { Environment } from '../../domain/environments/environment.js';
import { findEnvironmentForHost, recallEnvironmentForHost } from '../../domain/environments/environments.js';
import { BodyError } from '../../errors.js';

/** Node keeps the first of several Host fields; a proxy in front may have chosen another (RFC 9112 3.2: refused). */
function namesOneHost({ rawHeaders }: Request): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts < 2;
}

const twoHosts = () => new BodyError(400, 'the request must name one host');

/** Middleware: finds the environment by the request's host and sets `req.ctx`. The host selects data; no URL is ever built from it. */
export function environment(deps: Deps) {
  // A context outside any transaction holds nothing of the request: one serves all requests that see the same environment.
  const contexts = new WeakMap<Environment, Context>();
  const contextOf = (found: Environment): Context => {
    let ctx = contexts.get(found);
    if (!ctx) contexts.set(found, (ctx = createContext(deps, found)));
    return ctx;
  };

  const { trustProxy } = deps.config;

  return (req: Request, res: Response, next: NextFunction): void | Promise<void> => {
    // A shared cache keys by Host, so a response that was selected by X-Forwarded-Host must vary by it.
    if (trustProxy !== false) res.vary('X-Forwarded-Host');
    const host = (trustProxy === false ? req.headers.host : req.host) ?? '';
    const known = recallEnvironmentForHost(deps, host);
    if (known) {
      req.ctx = contextOf(known);
      return namesOneHost(req) ? next() : next(twoHosts());
    }
    return findEnvironmentForHost(deps, host).then((found) => {
      req.ctx = contextOf(found);
      next(namesOneHost(req) ? undefined : twoHosts());
    });
  };
}
