import type { Request, RequestHandler, Response } from 'express';
import { rateLimit, type AugmentedRequest, type Store } from 'express-rate-limit';
import ipaddr from 'ipaddr.js';
import type { Knex } from 'knex';
import type { Config, RateLimit } from '../../config.js';
import { RateLimitedError } from '../../errors.js';
import type { Clock } from '../../platform/clock.js';
import { inSequence } from '../exact-routes.js';
import { createMemoryStore, createPostgresStore, type RateLimitStore } from './rate-limit-stores.js';
import type { Limiter, RateLimitVerdict } from './rate-limiter.js';

/** The store that the configuration names (`RATE_LIMIT_STORE`). `onError` is told of every lost Redis connection. */
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
 * The key by which an address is counted: an IPv4 address as it is (also when it comes mapped into IPv6), an IPv6 address as its /64, which
 * one subscriber has to itself (RFC 6177 2); `unknown` for anything else. Which address is the caller's, Express has decided (`TRUST_PROXY`).
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

/** A limit, and the name under which its windows are kept apart from those of other limits. */
export type NamedLimit = { readonly name: string; readonly limit: RateLimit };

/**
 * Tells the caller the state of the window: `RateLimit-Limit`, `-Remaining`, `-Reset` (seconds) and `-Policy`
 * (draft-ietf-httpapi-ratelimit-headers-06). When several limits count one request, the one with the least left is shown.
 */
function setRateLimitHeaders(res: Response, verdict: Omit<RateLimitVerdict, 'retry_after'>): void {
  const shown = res.getHeader('RateLimit-Remaining');
  if (res.headersSent || (shown !== undefined && verdict.allowed && Number(shown) <= verdict.remaining)) return;
  res.setHeader('RateLimit-Policy', `${verdict.limit};w=${verdict.window_seconds}`);
  res.setHeader('RateLimit-Limit', verdict.limit);
  res.setHeader('RateLimit-Remaining', verdict.remaining);
  res.setHeader('RateLimit-Reset', verdict.reset_seconds);
}

/** Shows a verdict in the `RateLimit-*` headers. @throws {RateLimitedError} when it is a refusal; `remedy`: what raises the limit */
export function heed(res: Response, verdict: RateLimitVerdict, remedy: string | null = null): void {
  setRateLimitHeaders(res, verdict);
  if (!verdict.allowed) throw new RateLimitedError(verdict.retry_after, remedy);
}

/**
 * Counts a request of `caller` (environment and caller, e.g. `${environment.id} ${addressKey(req.ip)}`) and shows the window's state in the
 * `RateLimit-*` headers. Does nothing with `RATE_LIMITS=off`.
 * @throws {RateLimitedError} beyond the limit; and what the store throws, since nothing is let through uncounted
 */
export async function countRequest(limiter: Limiter, res: Response, { name, limit }: NamedLimit, caller: string): Promise<void> {
  if (limiter.enabled) heed(res, await limiter.take(`${name} ${caller}`, limit));
}

/** The limiter as a store of express-rate-limit. */
function storeOf(limiter: Limiter, limit: RateLimit, clock: Clock): Store {
  return {
    async increment(key) {
      const { allowed, remaining, reset_seconds, retry_after } = await limiter.take(key, limit);
      return {
        // What the window holds; a refused request isn't counted and comes on top.
        totalHits: limit.limit - remaining + (allowed ? 0 : 1),
        // A sliding window frees room bit by bit: for whoever is refused, the moment when there is some.
        resetTime: new Date(clock.now().getTime() + (allowed ? reset_seconds : retry_after) * 1000),
      };
    },
    // Asked for only with `skipFailedRequests` and the like, and by `resetKey`, none of which is used.
    decrement() {},
    resetKey() {},
  };
}

/** What {@link limitBy} needs of `Web`. */
type Counting = { readonly limiter: Limiter; readonly deps: { readonly clock: Clock } };

/**
 * Middleware: express-rate-limit over our limiter. Counts a request for the caller that `key` names, as {@link countRequest} does; null means that this
 * limit doesn't concern the request. Beyond the limit it passes {@link RateLimitedError} on, which each surface renders as 429 with
 * `Retry-After`. What the store throws is passed on too.
 */
export function limitBy({ limiter, deps: { clock } }: Counting, rule: NamedLimit & { key(req: Request): string | null }): RequestHandler {
  if (!limiter.enabled) return (_req, _res, next) => next();
  const { name, limit, key } = rule;
  const property = `rate_limit_${name}`;
  const show = (req: Request, res: Response, allowed: boolean): number => {
    const counted = (req as AugmentedRequest)[property];
    if (!counted) return 0;
    const seconds = Math.ceil(((counted.resetTime?.getTime() ?? 0) - clock.now().getTime()) / 1000);
    const reset_seconds = Math.max(1, seconds);
    const { remaining } = counted;
    setRateLimitHeaders(res, { allowed, limit: limit.limit, remaining, window_seconds: limit.windowSeconds, reset_seconds });
    return reset_seconds;
  };
  const count = rateLimit({
    windowMs: limit.windowSeconds * 1000,
    limit: limit.limit,
    standardHeaders: false,
    legacyHeaders: false,
    requestPropertyName: property,
    store: storeOf(limiter, limit, clock),
    skip: (req) => key(req) === null,
    keyGenerator: (req) => `${name} ${key(req)}`,
    handler: (req, res, next) => next(new RateLimitedError(show(req, res, false))),
    passOnStoreError: false,
    validate: false,
  });
  return inSequence([
    count,
    (req, res, next) => {
      show(req, res, true);
      next();
    },
  ]);
}
