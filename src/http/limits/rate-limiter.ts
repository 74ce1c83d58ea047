import { createHash } from 'node:crypto';
import type { RateLimit } from '../../config.js';
import type { RateLimitGrant } from '../../db/tables/rate_limits.js';
import type { RateLimitStore } from './rate-limit-stores.js';

/** The state of a caller's window; whole seconds. */
export type RateLimitVerdict = {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly window_seconds: number;
  /** Until the whole limit is free again. */
  readonly reset_seconds: number;
  /** Until it is worth asking again; 0 when allowed. */
  readonly retry_after: number;
};

export type Limiter = {
  readonly enabled: boolean;
  /**
   * Counts `cost` against the key's sliding window, or refuses without counting. `key` names environment, limit and caller.
   * @throws whatever the store throws: without counting nothing is allowed (the caller answers 503)
   */
  take(key: string, limit: RateLimit, cost?: number): Promise<RateLimitVerdict>;
  /** The window as it was at most a second ago, without counting. */
  peek(key: string, limit: RateLimit): Promise<RateLimitVerdict>;
  /**
   * As `peek`, for what is counted seldom: null, without asking the store, while this process has counted nothing of the key in its window.
   * Each process may so let a first one through that the others have counted.
   */
  peekIfCounted(key: string, limit: RateLimit): Promise<RateLimitVerdict> | null;
  /** Gives unused leases back and closes the store. */
  close(): Promise<void>;
};

/** What this process knows about one key. Times are those of `store.now()`. */
type Local = {
  digest: Buffer;
  limit: RateLimit;
  tokens: number;
  leased_at: number;
  leaseEnds: number;
  chunk: number;
  remaining: number;
  resetAt: number;
  retryAt: number;
  blockedUntil: number;
  seenAt: number;
  asking: Promise<RateLimitGrant> | null;
};

/** From this limit on, units are leased in chunks rather than asked for one by one. */
const leasedFrom = 100;
/** The largest lease, as a share of the limit, and the longest, as a share of the window. */
const share = 20;
/** How long an answer of the store is relied on without asking again. */
const freshMs = 1000;
const maxKeys = 10_000;

const leaseMs = (limit: RateLimit) => Math.floor(Math.min(freshMs, (limit.windowSeconds * 1000) / share));

/**
 * Sliding-window limits over a shared store. A low limit costs one atomic operation per request; a high one is leased in chunks
 * that grow while the caller is busy, so that it costs about one operation a second and yet never exceeds its limit across
 * replicas: leased units count before they are used, from the last moment at which they may be. A caller that is refused
 * costs nothing until trying again makes sense.
 */
export function createLimiter({ store, enabled }: { readonly store: RateLimitStore; readonly enabled: boolean }): Limiter {
  const locals = new Map<string, Local>();
  const sweeper = enabled ? setInterval(() => void sweep(), freshMs).unref() : null;

  function localOf(key: string, limit: RateLimit): Local {
    const known = locals.get(key);
    if (known) return known;
    const digest = createHash('sha256').update(key).digest();
    const never = Number.NEGATIVE_INFINITY;
    const times = { leaseEnds: never, resetAt: never, retryAt: never, blockedUntil: never, seenAt: never };
    const local: Local = { digest, limit, tokens: 0, leased_at: 0, chunk: 1, remaining: limit.limit, asking: null, ...times };
    locals.set(key, local);
    if (locals.size > maxKeys) locals.delete(locals.keys().next().value as string);
    return local;
  }

  function verdict(local: Local, limit: RateLimit, allowed: boolean): RateLimitVerdict {
    const seconds = (until: number) => Math.max(0, Math.ceil((until - store.now()) / 1000));
    return {
      allowed,
      limit: limit.limit,
      remaining: allowed ? Math.min(limit.limit, local.remaining + local.tokens) : 0,
      window_seconds: limit.windowSeconds,
      reset_seconds: Math.min(limit.windowSeconds, seconds(local.resetAt)),
      retry_after: allowed ? 0 : Math.max(1, seconds(local.retryAt)),
    };
  }

  /** Asks the store, giving back what a lease left over, and remembers the answer. Nothing of the grant is taken yet. */
  async function ask(local: Local, limit: RateLimit, cost: number, wanted: number): Promise<RateLimitGrant> {
    const refund = local.tokens;
    const refund_at = local.leased_at;
    local.tokens = 0;
    local.limit = limit;
    const asked = store.now();
    const lease_ms = leaseMs(limit);
    const demand = { limit: limit.limit, window_ms: limit.windowSeconds * 1000, cost, wanted, lease_ms, refund, refund_at };
    const grant = await store.take(local.digest, demand);
    local.seenAt = asked;
    local.remaining = grant.remaining;
    local.resetAt = asked + grant.reset_ms;
    // Measured from the answer, so that waiting as told is always long enough.
    local.retryAt = store.now() + grant.retry_ms;
    local.blockedUntil = grant.retry_ms > 0 && cost <= 1 ? Math.min(local.retryAt, asked + freshMs) : Number.NEGATIVE_INFINITY;
    local.leaseEnds = asked + lease_ms;
    if (grant.granted > 0) local.leased_at = grant.leased_at;
    return grant;
  }

  /** A lease used up before its end was too small; one that lapsed with units left was too large. */
  function nextChunk(local: Local, limit: RateLimit): number {
    if (limit.limit < leasedFrom || store.now() - local.seenAt > limit.windowSeconds * 1000) return 1;
    const usedUp = local.tokens === 0 && store.now() < local.leaseEnds;
    return usedUp ? Math.min(local.chunk * 2, Math.floor(limit.limit / share)) : Math.max(1, Math.floor(local.chunk / 2));
  }

  async function take(key: string, limit: RateLimit, cost = 1): Promise<RateLimitVerdict> {
    if (!enabled) return free(limit);
    const local = localOf(key, limit);
    for (;;) {
      const now = store.now();
      if (now < local.blockedUntil) return verdict(local, limit, false);
      if (local.tokens >= cost && now < local.leaseEnds) {
        local.tokens -= cost;
        return verdict(local, limit, true);
      }
      if (local.asking) {
        await local.asking;
        continue;
      }
      local.chunk = nextChunk(local, limit);
      local.asking = ask(local, limit, cost, Math.max(cost, local.chunk)).finally(() => (local.asking = null));
      const { granted } = await local.asking;
      if (granted === 0) return verdict(local, limit, false);
      local.tokens += granted - cost;
      return verdict(local, limit, true);
    }
  }

  async function peek(key: string, limit: RateLimit): Promise<RateLimitVerdict> {
    if (!enabled) return free(limit);
    const local = localOf(key, limit);
    if (local.asking) await local.asking;
    const usedUp = () => local.remaining + local.tokens <= 0;
    const blocked = () => store.now() < local.blockedUntil;
    if (store.now() - local.seenAt >= freshMs || (usedUp() && !blocked())) {
      local.asking ??= ask(local, limit, 0, 0).finally(() => (local.asking = null));
      await local.asking;
    }
    return verdict(local, limit, !blocked() && !usedUp());
  }

  function peekIfCounted(key: string, limit: RateLimit): Promise<RateLimitVerdict> | null {
    const local = enabled ? locals.get(key) : undefined;
    const counted = local && (local.asking !== null || store.now() - local.seenAt <= limit.windowSeconds * 1000);
    return counted ? peek(key, limit) : null;
  }

  /** Returns what lapsed leases left over and forgets callers who have gone. What can't be returned is merely lost to the caller. */
  async function sweep(all = false): Promise<void> {
    const now = store.now();
    const returns: Promise<unknown>[] = [];
    for (const [key, local] of locals) {
      if (local.asking) continue;
      if (local.tokens > 0 && (all || now >= local.leaseEnds)) {
        local.asking = ask(local, local.limit, 0, 0).finally(() => (local.asking = null));
        returns.push(local.asking.catch(() => null));
      } else if (local.tokens === 0 && now - local.seenAt > local.limit.windowSeconds * 1000) locals.delete(key);
    }
    await Promise.all(returns);
  }

  return {
    enabled,
    take,
    peek,
    peekIfCounted,
    async close() {
      if (sweeper) clearInterval(sweeper);
      await sweep(true);
      await store.close();
    },
  };
}

const free = ({ limit, windowSeconds }: RateLimit): RateLimitVerdict => ({
  allowed: true,
  limit,
  remaining: limit,
  window_seconds: windowSeconds,
  reset_seconds: 0,
  retry_after: 0,
});
