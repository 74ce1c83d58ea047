import type { Knex } from 'knex';
import { run, type Scope } from '../scope.js';

/** A count of a day; `day` is `YYYY-MM-DD` in UTC. */
export type DailyStat = { day: string; name: string; label: string; count: number };

/** Adds counts of many environments to a day; those of environments that are gone are dropped. */
export async function addDailyStats(
  knex: Knex,
  at: Date,
  counts: readonly { environment_id: string; name: string; label: string; count: number }[],
): Promise<void> {
  if (counts.length === 0) return;
  const day = at.toISOString().slice(0, 10);
  // In the same order in every process, so that concurrent ones don't deadlock.
  const sorted = counts.toSorted((one, other) => {
    const [a, b] = [`${one.environment_id} ${one.name} ${one.label}`, `${other.environment_id} ${other.name} ${other.label}`];
    return a < b ? -1 : 1;
  });
  await knex.raw(
    `insert into daily_stats as s (environment_id, day, name, label, count)
     select c.environment_id, ?::date, c.name, c.label, c.count
     from unnest(?::uuid[], ?::text[], ?::text[], ?::bigint[]) as c (environment_id, name, label, count)
     where takes_writes(c.environment_id)
     on conflict (environment_id, day, name, label) do update set count = s.count + excluded.count`,
    [
      day,
      sorted.map((one) => one.environment_id),
      sorted.map((one) => one.name),
      sorted.map((one) => one.label),
      sorted.map((one) => one.count),
    ],
  );
}

export async function listDailyStats(scope: Scope, since: string): Promise<DailyStat[]> {
  const text = `select to_char(day, 'YYYY-MM-DD') as day, name, label, count::int as count
      from daily_stats where environment_id = $1 and day >= $2::date order by day, name, label`;
  return run<DailyStat>(scope, { name: 'daily_stats.list', text }, [since]);
}
