import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { RateLimit } from '../../config.js';
import { clientOf } from '../../domain/clients/clients.js';
import { OAuthError } from '../../errors.js';
import { authenticateClient, claimedClientId, provenClient, type ClientProof } from './authenticate-client.js';
import type { Web } from '../web.js';
import type { Limiter } from '../limits/rate-limiter.js';
import { addressWindows, enforce } from '../limits/rate-limits.js';

/** Who asks for a token: the client that the request claims to be from, and where it comes from. */
export type TokenCaller = {
  readonly environment_id: string;
  /** Null when the claimed client is unknown: made-up ids share one window. */
  readonly client_id: string | null;
  /** `req.ip`. */
  readonly ip: string | undefined;
  /** The claimed client's `token_rate_limit`, in requests per window; null when it has none or is unknown. */
  readonly token_rate_limit: number | null;
  /** A device asks whether its person has answered (RFC 8628 3.4). */
  readonly is_poll: boolean;
};

/** A device asks every five seconds: so many times the limit of other requests is room for ten of them behind one address. */
const pollFactor = 12;

/** What an administrator does about a client that needs more tokens. */
const remedy = 'the token_rate_limit of the client raises this limit';

/**
 * The limits of client authentication, per (claimed client_id, address). Wrong secrets count in one window wherever they are tried (token
 * endpoint, introspection, revocation); once it is used up, nobody of that address gets as far as the authentication of that client.
 * Token requests count beside it: before authentication, or in a window of their own after it for a client whose `token_rate_limit` is
 * higher, since anybody can claim to be one. Each function throws {@link RateLimitedError} when a window is used up, and what the store throws.
 */
export function createTokenLimit(limiter: Limiter, base: RateLimit) {
  const raisedOf = ({ token_rate_limit }: TokenCaller): RateLimit | null =>
    token_rate_limit !== null && token_rate_limit > base.limit ? { limit: token_rate_limit, windowSeconds: base.windowSeconds } : null;
  /** What a request without a raised limit counts in: questions of devices, which their interval paces, in a window of their own. */
  const limitOf = ({ is_poll }: TokenCaller): [name: string, limit: RateLimit] =>
    is_poll ? ['device_poll', { ...base, limit: base.limit * pollFactor }] : ['token', base];
  /** Whatever a client_id holds, it stands last. */
  const windowsOf = (name: string, { environment_id, client_id, ip }: TokenCaller, own: RateLimit) =>
    addressWindows(ip, own).map(({ key, limit }) => {
      const window = `${name} ${environment_id} ${key}`;
      return { key: client_id === null ? window : `${window} ${client_id}`, limit };
    });
  /** Counts a request in the window of its address and, after it, in that of its network. */
  async function count(res: Response, name: string, caller: TokenCaller, own: RateLimit, onlyRefusals = false): Promise<void> {
    for (const { key, limit } of windowsOf(name, caller, own)) {
      const verdict = await limiter.take(key, limit);
      if (!onlyRefusals || !verdict.allowed) enforce(res, verdict, onlyRefusals ? null : remedy);
    }
  }

  /** Before authentication, where successful requests aren't counted. Costs no call of the store: only refusals show these windows. */
  function refuseGuesser(res: Response, caller: TokenCaller): void {
    for (const { key, limit } of windowsOf('wrong_secret', caller, base)) {
      const guesses = limiter.refusal(key, limit);
      if (guesses) enforce(res, guesses);
    }
  }

  return {
    refuseGuesser,
    /** Before authentication at the token endpoint. */
    async admit(res: Response, caller: TokenCaller): Promise<void> {
      const [name, limit] = limitOf(caller);
      if (!raisedOf(caller)) await count(res, name, caller, limit);
      refuseGuesser(res, caller);
    },
    /** After authentication has succeeded at the token endpoint. */
    async succeeded(res: Response, caller: TokenCaller): Promise<void> {
      const raised = raisedOf(caller);
      if (raised) await count(res, 'token_raised', caller, raised);
    },
    /** After authentication has failed, before that is answered. */
    async failed(res: Response, caller: TokenCaller): Promise<void> {
      await count(res, 'wrong_secret', caller, base, true);
    },
  };
}

type TokenLimit = ReturnType<typeof createTokenLimit>;

async function callerOf(req: Request, is_poll = false): Promise<TokenCaller> {
  const client_id = claimedClientId(req);
  const client = client_id === '' ? null : await clientOf(req.ctx, client_id);
  return {
    environment_id: req.ctx.environment.id,
    client_id: client?.id ?? null,
    ip: req.ip,
    token_rate_limit: client?.token_rate_limit ?? null,
    is_poll,
  };
}

/** Proves the client, and counts the attempt when the proof was wrong; a malformed request is no guess. @throws {OAuthError | RateLimitedError} */
async function proveOrCount(limit: TokenLimit, caller: TokenCaller, req: Request, res: Response, taken?: ClientProof): Promise<void> {
  try {
    req.client = await provenClient(req, taken);
  } catch (error) {
    if (error instanceof OAuthError && ['invalid_client', 'invalid_grant'].includes(error.error)) await limit.failed(res, caller);
    throw error;
  }
}

/**
 * Client authentication behind the limit of /oauth/token: requests and wrong secrets per claimed client and address. Needs `form` before.
 * @param isPoll whether a request is a device's question whether its person has answered
 */
export function limitedClientAuthentication(
  web: Web,
  { isPoll = () => false, ...taken }: ClientProof & { readonly isPoll?: (req: Request) => boolean } = {},
): RequestHandler {
  if (!web.limiter.enabled) return authenticateClient(taken);
  const limit = createTokenLimit(web.limiter, web.deps.config.rateLimits.token);
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    const caller = await callerOf(req, isPoll(req));
    await limit.admit(res, caller);
    await proveOrCount(limit, caller, req, res, taken);
    await limit.succeeded(res, caller);
    next();
  };
}

/** Client authentication where only wrong secrets count, in the same window as at /oauth/token: introspection, revocation. Needs `form` before. */
export function guardedClientAuthentication(web: Web): RequestHandler {
  if (!web.limiter.enabled) return authenticateClient();
  const limit = createTokenLimit(web.limiter, web.deps.config.rateLimits.token);
  return async (req: Request, res: Response, next: NextFunction): Promise<void> => {
    const caller = await callerOf(req);
    limit.refuseGuesser(res, caller);
    await proveOrCount(limit, caller, req, res);
    next();
  };
}
