import type { RateLimitInfo, Store } from 'express-rate-limit';
import type { RateLimit } from '../../config.js';
import type { Clock } from '../../platform/clock.js';
import type { RateLimitStore, WindowCount } from './rate-limit-stores.js';

/** The state of a caller's window after a request was counted or refused. */
export type RateLimitVerdict = {
  readonly allowed: boolean;
  /** Requests that the window has room for. */
  readonly limit: number;
  /** Requests that it has room for now, without this one; 0 when refused. */
  readonly remaining: number;
  readonly window_seconds: number;
  /** Whole seconds until the window ends and another one may begin, which is when a refused request may come again. */
  readonly reset_seconds: number;
};

/** The rate limits of this process over the shared store, in windows of fixed length that begin with a caller's first request. */
export type Limiter = {
  /** False with `RATE_LIMITS=off`: everything is allowed and the store is never asked. */
  readonly enabled: boolean;
  /**
   * Counts a request in the window of `key`, which names the environment, the limit and the caller.
   * @throws what the store throws: nothing is allowed uncounted, and the caller answers 503
   */
  take(key: string, limit: RateLimit): Promise<RateLimitVerdict>;
  /** A refusal, counting nothing and asking nobody, when the window was used up when this process last counted in it; else null. */
  refusal(key: string, limit: RateLimit): RateLimitVerdict | null;
  /** The counter as a store of express-rate-limit, and what that makes of a request. */
  storeOf(limit: RateLimit): Store;
  verdictOf(counted: RateLimitInfo, limit: RateLimit): RateLimitVerdict;
  close(): Promise<void>;
};

/** `clock` tells for how long an answer of the store stays true. */
export type LimiterOptions = { readonly store: RateLimitStore; readonly enabled: boolean; readonly clock: Clock };

/** What this process last saw of a window, and when that ends by its elapsed time. */
type SeenWindow = { readonly hits: number; readonly ends_at: number };

const maxSeen = 10_000;

/**
 * Counts in `store`. A caller that is refused costs it nothing more until the window ends.
 * @throws {Error} from `decrement` and `resetKey` of what `storeOf` gives: nothing that was counted is taken back
 */
export function createLimiter({ store, enabled, clock }: LimiterOptions): Limiter {
  const windows = new Map<string, SeenWindow>();
  const seen = (key: string): WindowCount | null => {
    const found = windows.get(key);
    const reset_ms = found ? found.ends_at - clock.elapsed() : 0;
    return found && reset_ms > 0 ? { hits: found.hits, reset_ms } : null;
  };

  async function count(key: string, limit: RateLimit): Promise<WindowCount> {
    const before = seen(key);
    if (before && before.hits > limit.limit) return before;
    const counted = await store.increment(`${limit.windowSeconds} ${key}`, limit);
    windows.delete(key);
    if (windows.size >= maxSeen) windows.delete(windows.keys().next().value as string);
    windows.set(key, { hits: counted.hits, ends_at: clock.elapsed() + counted.reset_ms });
    return counted;
  }

  return {
    enabled,
    take: async (key, limit) => verdictOf(enabled ? await count(key, limit) : { hits: 0, reset_ms: 0 }, limit),
    refusal(key, limit) {
      const before = seen(key);
      return before && before.hits >= limit.limit ? { ...verdictOf(before, limit), allowed: false } : null;
    },
    storeOf: (limit) => ({
      async increment(key) {
        const { hits, reset_ms } = await count(key, limit);
        return { totalHits: hits, resetTime: new Date(clock.now().getTime() + reset_ms) };
      },
      // Part of the interface, for `skipFailedRequests`, `skipSuccessfulRequests` and `resetKey`, which this service doesn't use.
      decrement() {
        throw new Error('a counted request is not taken back');
      },
      resetKey() {
        throw new Error('a window is not emptied');
      },
    }),
    verdictOf: ({ used, resetTime }, limit) =>
      verdictOf({ hits: used, reset_ms: resetTime ? resetTime.getTime() - clock.now().getTime() : 0 }, limit),
    close: () => store.close(),
  };
}

const verdictOf = ({ hits, reset_ms }: WindowCount, { limit, windowSeconds }: RateLimit): RateLimitVerdict => ({
  allowed: hits <= limit,
  limit,
  remaining: Math.max(0, limit - hits),
  window_seconds: windowSeconds,
  reset_seconds: Math.max(1, Math.ceil(reset_ms / 1000)),
});
