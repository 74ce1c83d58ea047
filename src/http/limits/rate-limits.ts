import type { Request, RequestHandler, Response } from 'express';
import { rateLimit, type Store } from 'express-rate-limit';
import ipaddr from 'ipaddr.js';
import type { Knex } from 'knex';
import type { Config, RateLimit } from '../../config.js';
import { RateLimitedError } from '../../errors.js';
import type { Clock } from '../../platform/clock.js';
import { createMemoryStore, createPostgresStore, type RateLimitStore } from './rate-limit-stores.js';
import type { Limiter, RateLimitVerdict } from './rate-limiter.js';

/** The store that the configuration names (`RATE_LIMIT_STORE`). `onError` hears of lost Redis connections, for the log. */
export function openRateLimitStore(
  config: Config['rateLimits'],
  { knex, clock, onError }: { readonly knex: Knex; readonly clock: Clock; readonly onError: (error: Error) => void },
): RateLimitStore {
  if (config.store === 'memory') return createMemoryStore({ clock });
  if (config.store === 'redis' && config.redisUrl !== null) return openRedisStore({ url: config.redisUrl, onError });
  return createPostgresStore(knex);
}

/** The Redis client is loaded only where it is used: it takes 13 MiB of every process. */
function openRedisStore(options: { readonly url: string; readonly onError: (error: Error) => void }): RateLimitStore {
  const opening = import('./rate-limit-redis.js').then(({ createRedisStore }) => createRedisStore(options));
  return {
    take: async (key, demand) => (await opening).take(key, demand),
    now: () => performance.now(),
    close: async () => (await opening).close(),
  };
}

/**
 * One name for all addresses that a single caller commands: an IPv4 address (also when it comes mapped into IPv6), or the /64 of an
 * IPv6 address. Express has already decided whose address it is (`TRUST_PROXY`).
 */
export function addressKey(ip: string | undefined): string {
  const known = addressKeys.get(ip ?? '');
  if (known !== undefined) return known;
  const key = readAddress(ip);
  if (addressKeys.size >= maxAddresses) addressKeys.clear();
  addressKeys.set(ip ?? '', key);
  return key;
}

/** Parsing an address costs more than everything else that counting does from memory. */
const addressKeys = new Map<string, string>();
const maxAddresses = 10_000;

function readAddress(ip: string | undefined): string {
  const text = ip?.replace(/%.*$/, '') ?? '';
  if (!ipaddr.isValid(text)) return 'unknown';
  const address = ipaddr.process(text);
  if (address.kind() === 'ipv4') return address.toString();
  const prefix = address.toByteArray().slice(0, 8);
  return `${ipaddr.fromByteArray([...prefix, 0, 0, 0, 0, 0, 0, 0, 0]).toString()}/64`;
}

/**
 * Tells the caller where the window stands: `RateLimit-Limit`, `-Remaining`, `-Reset` (seconds) and `-Policy`
 * (draft-ietf-httpapi-ratelimit-headers-06). When several limits count one request, the tightest is shown.
 */
export function setRateLimitHeaders(res: Response, verdict: Omit<RateLimitVerdict, 'retry_after'>): void {
  const shown = res.getHeader('RateLimit-Remaining');
  if (res.headersSent || (shown !== undefined && verdict.allowed && Number(shown) <= verdict.remaining)) return;
  res.setHeader('RateLimit-Policy', `${verdict.limit};w=${verdict.window_seconds}`);
  res.setHeader('RateLimit-Limit', verdict.limit);
  res.setHeader('RateLimit-Remaining', verdict.remaining);
  res.setHeader('RateLimit-Reset', verdict.reset_seconds);
}

/** The limiter in the shape that express-rate-limit asks for. A refusal is one hit beyond the limit, free again when it is worth retrying. */
function adapt(limiter: Limiter, limit: RateLimit): Store {
  return {
    async increment(key) {
      const { allowed, remaining, reset_seconds, retry_after } = await limiter.take(key, limit);
      const seconds = allowed ? reset_seconds : retry_after;
      return {
        totalHits: allowed ? Math.max(1, limit.limit - remaining) : limit.limit + 1,
        // Only `secondsUntil` below reads it: the time still to go, counted from the epoch, so that no clock is needed.
        resetTime: new Date(seconds * 1000),
      };
    },
    decrement() {},
    resetKey() {},
  };
}

type Counted = Request & { rateLimitWindow?: { remaining: number; resetTime?: Date } | undefined };

/**
 * Middleware that counts a request against `limit` for the caller that `key` names: environment and caller, e.g.
 * `${environment.id} ${addressKey(req.ip)}`. Null means that this limit doesn't concern the request. `name` keeps limits apart that
 * have the same callers. Beyond the limit it passes on {@link RateLimitedError}, which is rendered as 429 with `Retry-After` in the
 * surface's dialect. What the store throws is passed on too: nothing is let through uncounted.
 */
export function limitBy(
  limiter: Limiter,
  { name, limit, key }: { readonly name: string; readonly limit: RateLimit; readonly key: (req: Request) => string | null },
): RequestHandler {
  if (!limiter.enabled) return (_req, _res, next) => next();
  const secondsUntil = (time?: Date) => Math.max(1, Math.ceil((time?.getTime() ?? 0) / 1000));
  const count = rateLimit({
    windowMs: limit.windowSeconds * 1000,
    limit: limit.limit,
    standardHeaders: false,
    legacyHeaders: false,
    requestPropertyName: 'rateLimitWindow',
    store: adapt(limiter, limit),
    skip: (req) => key(req) === null,
    keyGenerator: (req) => `${name} ${key(req)}`,
    handler: (req, _res, next) => next(new RateLimitedError(secondsUntil((req as Counted).rateLimitWindow?.resetTime))),
    passOnStoreError: false,
    validate: false,
  });
  return (req, res, next) => {
    (req as Counted).rateLimitWindow = undefined;
    void count(req, res, (error?: unknown) => {
      const counted = (req as Counted).rateLimitWindow;
      if (counted) {
        const reset_seconds = secondsUntil(counted.resetTime);
        const { remaining } = counted;
        setRateLimitHeaders(res, { allowed: !error, limit: limit.limit, remaining, window_seconds: limit.windowSeconds, reset_seconds });
      }
      next(error);
    });
  };
}

/** Who asks for a token: the client that the request claims to be from, and where it comes from. */
export type TokenCaller = {
  readonly environment_id: string;
  readonly client_id: string | null;
  /** `req.ip`. */
  readonly ip: string | undefined;
  /** The claimed client's `token_rate_limit`, or null when it has none or is unknown. */
  readonly token_rate_limit: number | null;
};

/**
 * The limits of client authentication, per (claimed client_id, address). Wrong secrets count in one window wherever they are tried (token
 * endpoint, introspection, revocation); once it is used up, nobody of that address gets as far as the authentication of that client.
 * Token requests count beside it: before authentication, or in a window of their own after it for a client whose `token_rate_limit` is
 * higher, since anybody can claim to be one. Each function throws {@link RateLimitedError} when a window is used up.
 */
export function createTokenLimit(limiter: Limiter, base: RateLimit) {
  const raisedOf = ({ token_rate_limit }: TokenCaller): RateLimit | null =>
    token_rate_limit !== null && token_rate_limit > base.limit ? { limit: token_rate_limit, windowSeconds: base.windowSeconds } : null;
  const keyOf = (name: string, caller: TokenCaller) =>
    JSON.stringify([name, caller.environment_id, caller.client_id, addressKey(caller.ip)]);

  function enforce(res: Response, verdict: RateLimitVerdict, shown = true): void {
    if (shown || !verdict.allowed) setRateLimitHeaders(res, verdict);
    if (!verdict.allowed) throw new RateLimitedError(verdict.retry_after);
  }

  /** Before authentication, where requests that succeed aren't counted. Costs nothing while nobody guesses. */
  async function refuseGuesser(res: Response, caller: TokenCaller): Promise<void> {
    const guesses = limiter.peekIfCounted(keyOf('wrong_secret', caller), base);
    if (guesses !== null) enforce(res, await guesses, false);
  }

  return {
    refuseGuesser,
    /** Before authentication at the token endpoint. */
    async admit(res: Response, caller: TokenCaller): Promise<void> {
      if (!limiter.enabled) return;
      if (!raisedOf(caller)) enforce(res, await limiter.take(keyOf('token', caller), base));
      await refuseGuesser(res, caller);
    },
    /** After authentication has succeeded at the token endpoint. */
    async succeeded(res: Response, caller: TokenCaller): Promise<void> {
      const raised = raisedOf(caller);
      if (limiter.enabled && raised) enforce(res, await limiter.take(keyOf('token_raised', caller), raised));
    },
    /** After authentication has failed, before that is answered. */
    async failed(res: Response, caller: TokenCaller): Promise<void> {
      if (limiter.enabled) enforce(res, await limiter.take(keyOf('wrong_secret', caller), base), false);
    },
  };
}

/** See {@link createTokenLimit}. */
export type TokenLimit = ReturnType<typeof createTokenLimit>;
