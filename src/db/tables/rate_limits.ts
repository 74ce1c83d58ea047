import type { Knex } from 'knex';

/**
 * Counts requests in the window of `key` (a digest that includes the environment) in one statement. A window begins with the first request after the last one's
 * end, by the database's clock; one that ends later than two windows from now is of before that clock was set back.
 * @returns what the window holds then, and milliseconds until it ends
 * @throws what the database throws
 */
export async function countRequests(
  knex: Knex,
  key: Buffer,
  { count, window_ms }: { readonly count: number; readonly window_ms: number },
): Promise<{ readonly hits: number; readonly reset_ms: number }> {
  const goesOn = `held.expires_at > statement_timestamp() and held.expires_at <= excluded.expires_at + :window_ms * interval '1 millisecond'`;
  const { rows } = await knex.raw<{ rows: { hits: number; reset_ms: number }[] }>(
    `insert into rate_limits as held (key, hits, expires_at)
       values (:key, :count, statement_timestamp() + :window_ms * interval '1 millisecond')
     on conflict (key) do update set
       hits = excluded.hits + case when ${goesOn} then held.hits else 0 end,
       expires_at = case when ${goesOn} then held.expires_at else excluded.expires_at end
     returning hits, (extract(epoch from expires_at - statement_timestamp()) * 1000)::double precision as reset_ms`,
    { key, count, window_ms },
  );
  const [counted] = rows;
  if (!counted) throw new Error('a count returns its row');
  return counted;
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
