import { createHash } from 'node:crypto';
import type { RateLimit } from '../../config.js';
import type { RateLimitGrant } from '../../db/tables/rate_limits.js';
import type { RateLimitStore } from './rate-limit-stores.js';

/** What this process knows of one caller's window. Times are readings of `store.now()`, in milliseconds. */
export type Window = {
  /** The key as the store knows it. */
  readonly digest: Buffer;
  limit: RateLimit;
  /** Requests that the store has counted ahead for this process, and that are not used yet. */
  leased: number;
  /** The moment, by the store's clock, at which the current lease counts; what is returned is taken off there. */
  leased_at: number;
  /** When the current lease lapses. */
  leaseEnds: number;
  /** The size of the last lease, in requests. */
  chunk: number;
  /** Requests that the store had room for when it was last asked, without those leased to this process. */
  remaining: number;
  /** When the window will be empty. */
  resetAt: number;
  /** When a request will be allowed again, by the last refusal. */
  retryAt: number;
  /** Until when requests are refused without asking the store. */
  blockedUntil: number;
  /** When the store was last asked. */
  seenAt: number;
  /** The pending call of the store; concurrent requests of the window await it. */
  asking: Promise<RateLimitGrant> | null;
};

/** The windows that this process knows, by key. */
export type Windows = {
  readonly store: RateLimitStore;
  readonly known: Map<string, Window>;
  /** The window of the key; a new one when it isn't known. */
  of(key: string, limit: RateLimit): Window;
};

const maxKeys = 10_000;
/** The longest lease, in milliseconds and as a share of the window. */
const maxLeaseMs = 1000;
const leaseShare = 20;
/** The longest time for which a refusal is repeated without asking the store, in milliseconds. */
const maxBlockMs = 1000;

/** No windows yet. With more than 10,000 the oldest is forgotten; the store still counts it. */
export function createWindows(store: RateLimitStore): Windows {
  const known = new Map<string, Window>();
  return {
    store,
    known,
    of(key, limit) {
      const found = known.get(key);
      if (found) return found;
      const window = newWindow(key, limit);
      known.set(key, window);
      if (known.size > maxKeys) known.delete(known.keys().next().value as string);
      return window;
    },
  };
}

function newWindow(key: string, limit: RateLimit): Window {
  const digest = createHash('sha256').update(key).digest();
  const never = Number.NEGATIVE_INFINITY;
  const times = { leaseEnds: never, resetAt: never, retryAt: never, blockedUntil: never, seenAt: never };
  return { digest, limit, leased: 0, leased_at: 0, chunk: 1, remaining: limit.limit, asking: null, ...times };
}

/**
 * Asks the store to count `cost` requests and to lease up to `wanted` in all (0 and 0: only to look), returns to it what the last lease left
 * over, and remembers the answer. The caller takes what was granted. Only when no other question of the window is under way.
 * @throws what the store throws
 */
export function askStore(
  store: RateLimitStore,
  window: Window,
  limit: RateLimit,
  question: { readonly cost: number; readonly wanted: number },
): Promise<RateLimitGrant> {
  const asking = ask(store, window, limit, question).finally(() => (window.asking = null));
  window.asking = asking;
  return asking;
}

async function ask(
  store: RateLimitStore,
  window: Window,
  limit: RateLimit,
  { cost, wanted }: { readonly cost: number; readonly wanted: number },
): Promise<RateLimitGrant> {
  const unused = { refund: window.leased, refund_at: window.leased_at };
  window.leased = 0;
  window.limit = limit;
  const asked = store.now();
  const window_ms = limit.windowSeconds * 1000;
  const lease_ms = Math.floor(Math.min(maxLeaseMs, window_ms / leaseShare));
  const grant = await store.take(window.digest, { limit: limit.limit, window_ms, cost, wanted, lease_ms, ...unused });
  window.seenAt = asked;
  window.remaining = grant.remaining;
  window.resetAt = asked + grant.reset_ms;
  // Counted from the reply on, so that a client that waits `Retry-After` never comes too early.
  window.retryAt = store.now() + grant.retry_ms;
  window.blockedUntil = grant.retry_ms > 0 && cost <= 1 ? Math.min(window.retryAt, asked + maxBlockMs) : Number.NEGATIVE_INFINITY;
  window.leaseEnds = asked + lease_ms;
  if (grant.granted > 0) window.leased_at = grant.leased_at;
  return grant;
}
