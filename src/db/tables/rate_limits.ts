import type { Knex } from 'knex';

/** One question to `take_rate_limit` (migrations/0001_baseline/16_processes.sql) and to the other stores, which answer alike; times in milliseconds. */
export type RateLimitDemand = {
  readonly limit: number;
  readonly window_ms: number;
  /** Requests to count, all or none; 0 only looks. */
  readonly cost: number;
  /** Requests to count at most; what is granted beyond `cost` is a lease, for later requests of this process. */
  readonly wanted: number;
  /** How long a lease may be used; it counts in the window from the end of that time. */
  readonly lease_ms: number;
  /** Requests of an earlier lease that weren't used, taken off the window first, and that lease's `leased_at`. */
  readonly refund: number;
  readonly refund_at: number;
};

/** The answer. `granted` is 0 or at least `cost`. */
export type RateLimitGrant = {
  readonly granted: number;
  readonly remaining: number;
  /** Time until `cost` requests (one, when looking) will be granted; 0 when they were, or would be. */
  readonly retry_ms: number;
  /** Time until the window is empty, if nothing more is counted. */
  readonly reset_ms: number;
  readonly leased_at: number;
};

/** Counts against the window of `key` (a digest that includes the environment) in one statement, by the database's clock. @throws what the database throws */
export async function takeRateLimit(knex: Knex, key: Buffer, demand: RateLimitDemand): Promise<RateLimitGrant> {
  const { limit, window_ms, cost, wanted, lease_ms, refund, refund_at } = demand;
  const values = [key, limit, window_ms, cost, wanted, lease_ms, refund, refund_at];
  const { rows } = await knex.raw<{ rows: RateLimitGrant[] }>('select * from take_rate_limit(?, ?, ?, ?, ?, ?, ?, ?)', values);
  const [grant] = rows;
  if (!grant) throw new Error('take_rate_limit returned no row');
  return grant;
}

/** Deletes at most `batch` rows whose window has passed and returns how many there were; the janitor repeats while it is `batch`. */
export async function deleteExpiredRateLimits(knex: Knex, batch: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(
    `delete from rate_limits where key in
       (select key from rate_limits where expires_at < clock_timestamp() - interval '1 second' limit ? for update skip locked)`,
    [batch],
  );
  return rowCount;
}
