import type { Knex } from 'knex';

/** Rows above which autovacuum's own schedule is soon enough, and ANALYZE takes a while. */
const largest = 1_000_000;

/**
 * Runs ANALYZE on tables that have doubled since their last one. Prepared statements keep the plan they got when their table was nearly empty,
 * which may read many rows until autovacuum runs, up to a minute later; new statistics make every connection plan again.
 * @returns the names of the tables
 */
export async function analyzeGrownTables(knex: Knex): Promise<string[]> {
  const { rows } = await knex.raw<{ rows: { name: string }[] }>(
    `select c.relname as name from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.reltuples < ?
       and pg_stat_get_live_tuples(c.oid) > 50 + 2 * greatest(c.reltuples, 0)`,
    [largest],
  );
  for (const { name } of rows) await knex.raw('analyze (skip_locked) ??', [name]);
  return rows.map(({ name }) => name);
}
