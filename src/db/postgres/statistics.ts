import type { Knex } from 'knex';

/** Beyond this size autovacuum's own pace is soon enough, and a look at a sample of the table takes a while. */
const largest = 1_000_000;

/**
 * Renews the statistics of tables that have doubled since the last time. Named statements keep the plan they got when their table was
 * nearly empty; with the wrong index in it they read the more rows the faster the table grows, for up to the minute that autovacuum
 * takes to look. New statistics make every connection plan again.
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
