import type { RateLimit } from '../../config.js';
import type { RateLimitStore } from './rate-limit-stores.js';
import { askStore, createWindows, type Window, type Windows } from './windows.js';

/** The state of a caller's window after a request was counted or refused. */
export type RateLimitVerdict = {
  readonly allowed: boolean;
  /** Requests that the window has room for. */
  readonly limit: number;
  /** Requests that it has room for now, without this one; 0 when refused. */
  readonly remaining: number;
  readonly window_seconds: number;
  /** Whole seconds until the window is empty, if nothing more is counted. */
  readonly reset_seconds: number;
  /** Whole seconds until a request will be allowed, as far as is known; 0 when this one was. */
  readonly retry_after: number;
};

/** Sliding-window rate limits of this process over the shared store. */
export type Limiter = {
  /** False with `RATE_LIMITS=off`: everything is allowed and the store is never asked. */
  readonly enabled: boolean;
  /**
   * Counts `cost` requests (1) in the window of `key`, or refuses and counts nothing. `key` names the environment, the limit and the caller.
   * @throws what the store throws: nothing is allowed uncounted, and the caller answers 503
   */
  take(key: string, limit: RateLimit, cost?: number): Promise<RateLimitVerdict>;
  /** What `take` would answer, without counting; up to a second old. @throws as `take` */
  peek(key: string, limit: RateLimit): Promise<RateLimitVerdict>;
  /**
   * `peek` for what is seldom counted: null, without asking the store, unless this process has counted something of the key within the last
   * window. What only other processes counted is therefore seen after the first `take` of this one.
   */
  peekIfCounted(key: string, limit: RateLimit): Promise<RateLimitVerdict> | null;
  /** Returns unused leases to the store and closes it. */
  close(): Promise<void>;
};

/** From this limit on, requests are leased from the store in chunks rather than counted there one by one. */
const leasedFrom = 100;
/** The largest lease, as a share of the limit. */
const share = 20;
/** Milliseconds for which an answer of the store is relied on. */
const freshMs = 1000;

/**
 * Sliding-window limits over a shared store. A low limit costs one atomic operation per request; a high one is leased in chunks
 * that grow while the caller is busy, so that it costs about one operation a second and yet never exceeds its limit across
 * replicas: leased requests count before they are used, at the last moment at which they may be. A caller that is refused
 * costs the store nothing until trying again makes sense.
 */
export function createLimiter({ store, enabled }: { readonly store: RateLimitStore; readonly enabled: boolean }): Limiter {
  const windows = createWindows(store);
  const sweeper = enabled ? setInterval(() => void sweep(windows), freshMs).unref() : null;
  return {
    enabled,
    take: (key, limit, cost = 1) => (enabled ? take(windows, key, limit, cost) : Promise.resolve(unlimited(limit))),
    peek: (key, limit) => (enabled ? peek(windows, key, limit) : Promise.resolve(unlimited(limit))),
    peekIfCounted(key, limit) {
      const window = enabled ? windows.known.get(key) : undefined;
      const counted = window && (window.asking !== null || store.now() - window.seenAt <= limit.windowSeconds * 1000);
      return counted ? peek(windows, key, limit) : null;
    },
    async close() {
      if (sweeper) clearInterval(sweeper);
      await sweep(windows, true);
      await store.close();
    },
  };
}

async function take(windows: Windows, key: string, limit: RateLimit, cost: number): Promise<RateLimitVerdict> {
  const { store } = windows;
  const window = windows.of(key, limit);
  for (;;) {
    const now = store.now();
    if (now < window.blockedUntil) return verdict(store, window, limit, false);
    if (window.leased >= cost && now < window.leaseEnds) {
      window.leased -= cost;
      return verdict(store, window, limit, true);
    }
    if (window.asking) {
      await window.asking;
      continue;
    }
    window.chunk = nextChunk(store, window, limit);
    const { granted } = await askStore(store, window, limit, { cost, wanted: Math.max(cost, window.chunk) });
    if (granted === 0) return verdict(store, window, limit, false);
    window.leased += granted - cost;
    return verdict(store, window, limit, true);
  }
}

async function peek(windows: Windows, key: string, limit: RateLimit): Promise<RateLimitVerdict> {
  const { store } = windows;
  const window = windows.of(key, limit);
  if (window.asking) await window.asking;
  const usedUp = () => window.remaining + window.leased <= 0;
  const blocked = () => store.now() < window.blockedUntil;
  if (store.now() - window.seenAt >= freshMs || (usedUp() && !blocked())) {
    await (window.asking ?? askStore(store, window, limit, { cost: 0, wanted: 0 }));
  }
  return verdict(store, window, limit, !blocked() && !usedUp());
}

/** How many requests to lease next: twice as many when the last lease was used up before its end, half as many when it lapsed. */
function nextChunk(store: RateLimitStore, window: Window, limit: RateLimit): number {
  if (limit.limit < leasedFrom || store.now() - window.seenAt > limit.windowSeconds * 1000) return 1;
  const usedUp = window.leased === 0 && store.now() < window.leaseEnds;
  return usedUp ? Math.min(window.chunk * 2, Math.floor(limit.limit / share)) : Math.max(1, Math.floor(window.chunk / 2));
}

/** Returns what lapsed leases left over (`all`: every lease) and forgets windows that have passed. A lease that can't be returned stays counted. */
async function sweep({ store, known }: Windows, all = false): Promise<void> {
  const now = store.now();
  const returns: Promise<unknown>[] = [];
  for (const [key, window] of known) {
    if (window.asking) continue;
    if (window.leased > 0 && (all || now >= window.leaseEnds)) {
      returns.push(askStore(store, window, window.limit, { cost: 0, wanted: 0 }).catch(() => null));
    } else if (window.leased === 0 && now - window.seenAt > window.limit.windowSeconds * 1000) known.delete(key);
  }
  await Promise.all(returns);
}

function verdict(store: RateLimitStore, window: Window, limit: RateLimit, allowed: boolean): RateLimitVerdict {
  const seconds = (until: number) => Math.max(0, Math.ceil((until - store.now()) / 1000));
  return {
    allowed,
    limit: limit.limit,
    remaining: allowed ? Math.min(limit.limit, window.remaining + window.leased) : 0,
    window_seconds: limit.windowSeconds,
    reset_seconds: Math.min(limit.windowSeconds, seconds(window.resetAt)),
    retry_after: allowed ? 0 : Math.max(1, seconds(window.retryAt)),
  };
}

const unlimited = ({ limit, windowSeconds }: RateLimit): RateLimitVerdict => ({
  allowed: true,
  limit,
  remaining: limit,
  window_seconds: windowSeconds,
  reset_seconds: 0,
  retry_after: 0,
});
