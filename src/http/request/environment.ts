import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../../config.js';
import { createContext, type Deps } from '../../domain/context.js';
import type { ForwardedSample } from '../../domain/notes/forwarded.js';
import type { Environment } from '../../domain/environment.js';
import { findEnvironmentForHost, recallEnvironmentForHost } from '../../domain/environments/environments.js';
import { BodyError, PageError, UnavailableError } from '../../errors.js';
import { message } from '../../lib/languages/messages.js';
import { soleHost } from './headers.js';

const twoHosts = () => new BodyError(400, 'the request must name one host');

const misdirected = () => new PageError(421, 'misdirected_request', message('refusal.misdirected'));

/** Seconds: an environment is held for less. */
const heldFor = 3;
/** For so long after a move the proxy in front may not know of it. */
const settledMs = 60_000;

/** Why nothing of the environment is answered now: it is none of this cell's (any more), or held. */
function refusalOf(found: Environment | null, now: Date): Error | undefined {
  if (found === null || (found.moved_at !== null && now.getTime() - found.moved_at.getTime() >= settledMs)) return misdirected();
  return found.held_at === null ? undefined : new UnavailableError(heldFor);
}

const textOf = (header: string | string[] | undefined) => (typeof header === 'string' ? header : null);

/** What proxies in front wrote about the address that the request was sent to, whether they are trusted or not. */
function forwardedAddressOf(req: Request): ForwardedSample {
  const peer = req.socket.remoteAddress ?? '';
  const isTrusted = req.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const { 'x-forwarded-host': host, 'x-forwarded-proto': proto } = req.headers;
  return { host: textOf(host), proto: textOf(proto), peer, trusted: isTrusted(peer, 0) };
}

/** What tells caches that a response was selected by X-Forwarded-Host, where that is believed: they key by Host. */
export const variesBy = (trustProxy: Config['trustProxy']): string | null => (trustProxy === false ? null : 'X-Forwarded-Host');

/** The host that the request is for; a proxy that is trusted may name it. */
export const hostOf = (req: Request, trustProxy: Config['trustProxy']): string =>
  (trustProxy === false ? req.headers.host : req.host) ?? '';

type Recall = (deps: Deps, host: string) => Environment | undefined;

/**
 * Finds the environment by the request's host and puts its context on the request. The host chooses data, never a URL.
 * @param recall what may be answered from memory: for public documents more than for what must be fresh
 */
export function environment(deps: Deps, recall: Recall = recallEnvironmentForHost) {
  const { trustProxy } = deps.config;
  const { forwarded } = deps.notes;
  const varies = variesBy(trustProxy);

  return (req: Request, res: Response, next: NextFunction): void | Promise<void> => {
    if (varies !== null) res.vary(varies);
    if (forwarded.isDue()) forwarded.note(forwardedAddressOf(req));
    const host = (trustProxy === false ? req.headers.host : req.host) ?? '';
    const enter = (found: Environment | null) => {
      const refusal = refusalOf(found, deps.clock.now());
      if (refusal || !found) return next(refusal);
      req.ctx = createContext(deps, found, req.deadline);
      next(soleHost(req) === null ? twoHosts() : undefined);
    };
    const known = recall(deps, host);
    return known ? enter(known) : findEnvironmentForHost(deps, host).then(enter);
  };
}
