import type { NextFunction, Request, Response } from 'express';
import { createContext, type Deps } from '../../domain/context.js';
import type { ForwardedSample } from '../../domain/diagnostics/forwarded-notes.js';
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

const textOf = (header: string | string[] | undefined) => (typeof header === 'string' ? header : null);

/** What proxies in front wrote about the address that the request was sent to, whether they are trusted or not. */
function forwardedAddressOf(req: Request): ForwardedSample {
  const peer = req.socket.remoteAddress ?? '';
  const isTrusted = req.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const { 'x-forwarded-host': host, 'x-forwarded-proto': proto } = req.headers;
  return { host: textOf(host), proto: textOf(proto), peer, trusted: isTrusted(peer, 0) };
}

type Recall = (deps: Deps, host: string) => Environment | undefined;

/**
 * Finds the environment by the request's host and puts its context on the request. The host chooses data, never a URL.
 * @param recall what may be answered from memory: for public documents more than for what must be fresh
 */
export function environment(deps: Deps, recall: Recall = recallEnvironmentForHost) {
  const { trustProxy } = deps.config;
  const { forwarded } = deps;

  return (req: Request, res: Response, next: NextFunction): void | Promise<void> => {
    // A shared cache keys by Host, so a response that was selected by X-Forwarded-Host must vary by it.
    if (trustProxy !== false) res.vary('X-Forwarded-Host');
    if (forwarded.isDue()) forwarded.note(forwardedAddressOf(req));
    const host = (trustProxy === false ? req.headers.host : req.host) ?? '';
    const enter = (found: Environment) => {
      req.ctx = createContext(deps, found, req.deadline);
      next(namesOneHost(req) ? undefined : twoHosts());
    };
    const known = recall(deps, host);
    return known ? enter(known) : findEnvironmentForHost(deps, host).then(enter);
  };
}
