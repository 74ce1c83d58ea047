import { createHash } from 'node:crypto';
import { MemoryStore, type ClientRateLimitInfo, type Options } from 'express-rate-limit';
import type { Knex } from 'knex';
import type { RateLimit } from '../../config.js';
import { countRequests } from '../../db/tables/rate_limits.js';
import { memo } from '../../lib/memo.js';
import { msUntil, type Clock } from '../../platform/clock.js';

/** What may happen once, kept outside of the database. */
export type ProofUses = {
  /** Notes the key for so many milliseconds; false when it is noted already. @throws when the store can't be asked */
  once(key: Buffer, ms: number): Promise<boolean>;
};

/** What a window holds after a request was counted, and milliseconds until it ends. */
export type WindowCount = { readonly hits: number; readonly reset_ms: number };

/** What a store of express-rate-limit answers, as it is now: MemoryStore goes on counting in its answer. */
export const windowCountOf = ({ totalHits, resetTime }: ClientRateLimitInfo): WindowCount => ({
  hits: totalHits,
  reset_ms: resetTime ? msUntil(resetTime) : 0,
});

/** Where requests are counted, in windows of fixed length: PostgreSQL, Redis or this process. */
export type RateLimitStore = {
  /** Counts a request of `key`, a text of any length. @throws when the store can't be asked; the caller then refuses with 503 */
  increment(key: string, limit: RateLimit): Promise<WindowCount>;
  close(): Promise<void>;
};

/** What a key is called outside of this process: it may hold an address or a name. */
export const keyDigest = (key: string): Buffer => createHash('sha256').update(key).digest();

/** Callers that a process counts in windows of one length. */
const maxKeys = 100_000;

/** MemoryStore with a bound: beyond 100,000 callers the one that hasn't come for the longest time is forgotten. */
function boundedMemoryStore(windowSeconds: number): Pick<MemoryStore, 'increment' | 'shutdown'> {
  const store = new MemoryStore();
  store.init({ windowMs: windowSeconds * 1000 } as Options);
  const keys = new Set<string>();
  return {
    increment(key) {
      keys.delete(key);
      const [oldest] = keys.size < maxKeys ? [] : keys;
      if (oldest !== undefined) {
        keys.delete(oldest);
        void store.resetKey(oldest);
      }
      keys.add(key);
      return store.increment(key);
    },
    shutdown: () => store.shutdown(),
  };
}

/** Counts in this process alone (`RATE_LIMIT_STORE=memory`), in one MemoryStore of express-rate-limit for each length of window. */
export function createMemoryStore(): RateLimitStore {
  const opened: Pick<MemoryStore, 'shutdown'>[] = [];
  const storeOf = memo((windowSeconds: number) => {
    const store = boundedMemoryStore(windowSeconds);
    opened.push(store);
    return store;
  });
  let last: Promise<unknown> = Promise.resolve();
  return {
    // One after the other, so that each answer is read before the next request is counted in it.
    increment(key, { windowSeconds }) {
      const counted = last.then(async () => windowCountOf(await storeOf(windowSeconds).increment(key)));
      last = counted;
      return counted;
    },
    close: async () => opened.forEach((store) => store.shutdown()),
  };
}

/** Requests counted ahead for this process, which are its own until the window ends. */
type Lease = {
  /** The next one's number in the window, and the last one's. */
  next: number;
  readonly last: number;
  /** When the window ends, by the elapsed time of the process. */
  readonly ends_at: number;
};

/** The largest lease, as a share of the limit and of what is left of it, and in requests: a count in the database ends at 2^31. */
const shares = { limit: 20, left: 4 };
const largestLease = 100_000;
const maxLeases = 10_000;

/**
 * Counts in the database, shared by all replicas (`RATE_LIMIT_STORE=postgres`). A caller's first request in a window is counted by itself, later ones in
 * leases: a twentieth of the limit, and less towards its end. A limit under forty costs a statement a request, a high one next to none, and none is exceeded.
 */
export function createPostgresStore(knex: Knex, clock: Pick<Clock, 'elapsed'>): RateLimitStore {
  const leases = new Map<string, Lease>();
  const pending = new Map<string, Promise<WindowCount>>();

  /** Counts a request, and those that may follow. @returns the first one's count */
  async function lease(key: string, { limit, windowSeconds }: RateLimit, before: Lease | null): Promise<WindowCount> {
    const most = before === null ? 1 : Math.min(limit / shares.limit, (limit - before.last) / shares.left, largestLease);
    const count = Math.max(1, Math.floor(most));
    const begun_at = clock.elapsed();
    const { hits, reset_ms } = await countRequests(knex, keyDigest(key), { count, window_ms: windowSeconds * 1000 });
    leases.delete(key);
    if (leases.size >= maxLeases) leases.delete(leases.keys().next().value as string);
    const first = hits - count + 1;
    leases.set(key, { next: first + 1, last: hits, ends_at: begun_at + reset_ms });
    return { hits: first, reset_ms };
  }

  return {
    async increment(key, limit) {
      for (;;) {
        const held = leases.get(key);
        const now = clock.elapsed();
        const current = held && now < held.ends_at ? held : null;
        if (current && current.next <= current.last) return { hits: current.next++, reset_ms: current.ends_at - now };
        const others = pending.get(key);
        if (!others) {
          const leasing = lease(key, limit, current).finally(() => pending.delete(key));
          pending.set(key, leasing);
          return leasing;
        }
        await others;
      }
    },
    close: async () => {},
  };
}
