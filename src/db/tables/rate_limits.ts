import type { Knex } from 'knex';

/** One question to `take_rate_limit` (migrations/0020_rate_limits.sql) and to the other stores, which answer alike; times in milliseconds. */
export type RateLimitDemand = {
  readonly limit: number;
  readonly window_ms: number;
  /** Units that must be granted together; 0 only looks. */
  readonly cost: number;
  /** Units that would be welcome: what is granted beyond `cost` is a lease. */
  readonly wanted: number;
  /** How long leased units may be used; they count from the end of that time. */
  readonly lease_ms: number;
  /** Unused units of an earlier lease, given back first, and that lease's `leased_at`. */
  readonly refund: number;
  readonly refund_at: number;
};

/** The answer. `granted` is 0 or at least `cost`. */
export type RateLimitGrant = {
  readonly granted: number;
  readonly remaining: number;
  /** Until `cost` (or one unit, when looking) can be had; 0 when it could be now. */
  readonly retry_ms: number;
  /** Until nothing of the window is used any more. */
  readonly reset_ms: number;
  readonly leased_at: number;
};

/** Counts against the window of `key` (a digest that includes the environment) in one statement, by the database's clock. */
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
