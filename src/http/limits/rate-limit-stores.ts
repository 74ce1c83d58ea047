import type { Knex } from 'knex';
import { takeRateLimit, type RateLimitDemand as Demand, type RateLimitGrant as Grant } from '../../db/tables/rate_limits.js';
import type { Clock } from '../../platform/clock.js';

/** What may happen once, kept outside of the database. */
export type ProofUses = {
  /** Notes the key for so many milliseconds; false when it is noted already. @throws when the store can't be asked */
  once(key: Buffer, ms: number): Promise<boolean>;
};

/** Where windows are counted: PostgreSQL, Redis or this process. */
export type RateLimitStore = {
  /** Counts in the sliding window of the key, in one atomic operation. @throws when the store can't be asked; the caller then refuses with 503 */
  take(key: Buffer, demand: Demand): Promise<Grant>;
  /** A monotonic clock of this process, in milliseconds from an arbitrary start, for how long an answer of the store stays valid. */
  now(): number;
  close(): Promise<void>;
};

/** Counts in the database, shared by all replicas (`RATE_LIMIT_STORE=postgres`). */
export function createPostgresStore(knex: Knex): RateLimitStore {
  return { take: (key, demand) => takeRateLimit(knex, key, demand), now: () => performance.now(), close: async () => {} };
}

type Entry = { at: number; amount: number };

function refund(entries: Entry[], { refund: amount, refund_at }: Demand): void {
  let left = amount;
  for (const entry of entries) {
    if (entry.at < refund_at) continue;
    const back = Math.min(entry.amount, left);
    entry.amount -= back;
    left -= back;
  }
}

function timeUntilFree(entries: readonly Entry[], used: number, demand: Demand, now: number): number {
  let freed = 0;
  let until = demand.window_ms;
  for (const entry of entries) {
    freed += entry.amount;
    until = entry.at + demand.window_ms - now;
    if (used - freed + Math.max(demand.cost, 1) <= demand.limit) break;
  }
  return until;
}

function record(entries: Entry[], granted: number, demand: Demand, now: number): number {
  const last = entries.at(-1);
  const slot = Math.max(1, Math.floor(demand.window_ms / 50));
  const at = now + (granted > demand.cost ? demand.lease_ms : 0);
  if (!last || entries.length < 32 || Math.floor(last.at / slot) !== Math.floor(at / slot)) {
    entries.push({ at, amount: granted });
    entries.sort((one, other) => one.at - other.at);
    return at;
  }
  last.at = Math.max(last.at, at);
  last.amount += granted;
  return last.at;
}

const maxKeys = 100_000;

/** Counts in this process alone, by the given clock; for a single process (`RATE_LIMIT_STORE=memory`). The rules are those of `take_rate_limit`. */
export function createMemoryStore({ clock }: { readonly clock: Clock }): RateLimitStore {
  const windows = new Map<string, { entries: Entry[]; expires_at: number }>();

  /** With 100,000 keys: forgets expired windows, or the oldest one when none has expired. */
  function makeRoom(now: number): void {
    if (windows.size < maxKeys) return;
    for (const [name, { expires_at }] of windows) if (expires_at <= now) windows.delete(name);
    if (windows.size >= maxKeys) windows.delete(windows.keys().next().value as string);
  }

  function take(key: Buffer, demand: Demand): Grant {
    const now = clock.now().getTime();
    const name = key.toString('latin1');
    const entries = (windows.get(name)?.entries ?? []).filter(({ at }) => at > now - demand.window_ms && at <= now + demand.window_ms);
    refund(entries, demand);
    const used = entries.reduce((sum, { amount }) => sum + amount, 0);
    const refused = used + Math.max(demand.cost, 1) > demand.limit;
    const granted =
      refused || demand.cost === 0 ? 0 : Math.max(demand.cost, Math.min(demand.wanted, Math.floor((demand.limit - used) / 4)));
    const retry_ms = refused ? timeUntilFree(entries, used, demand, now) : 0;
    const leased_at = granted > 0 ? record(entries, granted, demand, now) : 0;
    const newest = entries.at(-1);
    const reset_ms = newest ? newest.at + demand.window_ms - now : 0;
    if (newest) {
      if (!windows.has(name)) makeRoom(now);
      windows.set(name, { entries, expires_at: newest.at + demand.window_ms });
    } else windows.delete(name);
    return { granted, remaining: Math.max(0, demand.limit - used - granted), retry_ms, reset_ms, leased_at };
  }

  return {
    take: async (key, demand) => take(key, demand),
    now: () => clock.now().getTime(),
    close: async () => windows.clear(),
  };
}
