import type { Request, RequestHandler, Response } from 'express';
import { rateLimit, type AugmentedRequest } from 'express-rate-limit';
import ipaddr from 'ipaddr.js';
import type { Knex } from 'knex';
import type { Config, RateLimit } from '../../config.js';
import { RateLimitedError } from '../../errors.js';
import type { Clock } from '../../platform/clock.js';
import { inSequence } from '../exact-routes.js';
import { createMemoryStore, createPostgresStore, type ProofUses, type RateLimitStore } from './rate-limit-stores.js';
import type { Limiter, RateLimitVerdict } from './rate-limiter.js';
import { memo } from '../../lib/memo.js';

/** The store that the configuration names (`RATE_LIMIT_STORE`). `onError` is told of every lost Redis connection. */
export function openRateLimitStore(
  config: Config['rateLimits'],
  { knex, clock, onError }: { readonly knex: Knex; readonly clock: Clock; readonly onError: (error: Error) => void },
): RateLimitStore & Partial<ProofUses> {
  if (config.store === 'memory') return createMemoryStore();
  if (config.store === 'redis' && config.redisUrl !== null) return openRedisStore({ url: config.redisUrl, onError });
  return createPostgresStore(knex, clock);
}

/** The Redis client is loaded only where it is used: it takes 13 MiB of every process. */
function openRedisStore(options: { readonly url: string; readonly onError: (error: Error) => void }): RateLimitStore & ProofUses {
  const opening = import('./rate-limit-redis.js').then(({ createRedisStore }) => createRedisStore(options));
  return {
    increment: async (key, limit) => (await opening).increment(key, limit),
    once: async (key, ms) => (await opening).once(key, ms),
    close: async () => (await opening).close(),
  };
}

type AddressKeys = { readonly address: string; readonly network: string | null };

/**
 * The key by which an address is counted: an IPv4 address as it is (also when it comes mapped into IPv6), an IPv6 address as its /64, which
 * one subscriber has to itself (RFC 6177 2); `unknown` for anything else. Which address is the caller's, Express has decided (`TRUST_PROXY`).
 */
export const addressKey = (ip: string | undefined): string => keysOf(ip).address;

/** The key by which an IPv6 address is counted beside that: its /48, the most that one site gets (RFC 6177 2), with 65,536 of those; null for any other. */
export const networkKey = (ip: string | undefined): string | null => keysOf(ip).network;

/** How many times what one address may a whole network may. */
const networkFactor = 10;

const networkLimit = ({ limit, windowSeconds }: RateLimit): RateLimit => ({ limit: limit * networkFactor, windowSeconds });

/** The windows of a caller's address, the narrow one first: by {@link addressKey} and, wider, by {@link networkKey}. */
export function addressWindows(ip: string | undefined, limit: RateLimit): { readonly key: string; readonly limit: RateLimit }[] {
  const { address, network } = keysOf(ip);
  const narrow = { key: address, limit };
  return network === null ? [narrow] : [narrow, { key: network, limit: networkLimit(limit) }];
}

/** Parsing an address costs more than everything else that counting does from memory. */
const keysOf = memo(readAddress, 10_000);

function readAddress(ip: string | undefined): AddressKeys {
  const text = ip?.split('%', 1)[0] ?? '';
  if (!ipaddr.isValid(text)) return { address: 'unknown', network: null };
  const address = ipaddr.process(text);
  if (address.kind() === 'ipv4') return { address: address.toString(), network: null };
  const bytes = address.toByteArray();
  const prefix = (bits: number) => {
    const masked = bytes.map((byte, at) => (at < bits / 8 ? byte : 0));
    return `${ipaddr.fromByteArray(masked).toString()}/${bits}`;
  };
  return { address: prefix(64), network: prefix(48) };
}

/** A limit, and the name under which its windows are kept apart from those of other limits. */
export type NamedLimit = { readonly name: string; readonly limit: RateLimit };

/**
 * Tells the caller the state of the window: `RateLimit-Limit`, `-Remaining`, `-Reset` (seconds) and `-Policy`
 * (draft-ietf-httpapi-ratelimit-headers-06). When several limits count one request, the one with the least left is shown.
 */
export function setRateLimitHeaders(res: Response, verdict: RateLimitVerdict): void {
  const shown = res.getHeader('RateLimit-Remaining');
  if (res.headersSent || (shown !== undefined && verdict.allowed && Number(shown) <= verdict.remaining)) return;
  res.setHeader('RateLimit-Policy', `${verdict.limit};w=${verdict.window_seconds}`);
  res.setHeader('RateLimit-Limit', verdict.limit);
  res.setHeader('RateLimit-Remaining', verdict.remaining);
  res.setHeader('RateLimit-Reset', verdict.reset_seconds);
}

/** Shows a verdict in the `RateLimit-*` headers. @throws {RateLimitedError} when it is a refusal; `remedy`: what raises the limit */
export function enforce(res: Response, verdict: RateLimitVerdict, remedy: string | null = null): void {
  setRateLimitHeaders(res, verdict);
  if (!verdict.allowed) throw new RateLimitedError(verdict.reset_seconds, remedy);
}

/** What {@link limitBy} needs of `Web`. */
type Counting = { readonly limiter: Limiter };

/**
 * Middleware: express-rate-limit over the shared store; the limits of pages and of the Management API. Counts a request in the window of
 * the environment and caller that `key` names; null means that this limit doesn't concern the request. Shows the window in the `RateLimit-*`
 * headers. Does nothing with `RATE_LIMITS=off`. Nothing is let through uncounted.
 * @throws {RateLimitedError} beyond the limit, which each surface renders as 429 with `Retry-After`; and what the store throws
 */
export function limitBy({ limiter }: Counting, { name, limit, key }: NamedLimit & { key(req: Request): string | null }): RequestHandler {
  if (!limiter.enabled) return (_req, _res, next) => next();
  const property = `rate_limit_${name}`;
  const count = rateLimit({
    windowMs: limit.windowSeconds * 1000,
    limit: limit.limit,
    store: limiter.storeOf(limit),
    skip: (req) => key(req) === null,
    keyGenerator: (req) => `${name} ${key(req)}`,
    requestPropertyName: property,
    // Refused below, where the headers are shown of every count.
    handler: (_req, _res, next) => next(),
    standardHeaders: false,
    legacyHeaders: false,
    passOnStoreError: false,
    validate: false,
  });
  return inSequence([
    count,
    (req, res, next) => {
      const counted = (req as AugmentedRequest)[property];
      if (counted) enforce(res, limiter.verdictOf(counted, limit));
      next();
    },
  ]);
}

/** Middleware: {@link limitBy} the caller's address, and an IPv6 address by its network too, in a window ten times as wide. `key` is told either. */
export const limitByAddress = (
  web: Counting,
  { name, limit, key }: NamedLimit & { key(req: Request, address: string): string | null },
): RequestHandler =>
  inSequence([
    limitBy(web, { name, limit, key: (req) => key(req, addressKey(req.ip)) }),
    limitBy(web, {
      name: `${name}_network`,
      limit: networkLimit(limit),
      key(req) {
        const network = networkKey(req.ip);
        return network === null ? null : key(req, network);
      },
    }),
  ]);
