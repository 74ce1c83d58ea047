import type { Knex } from 'knex';
import type { Statement } from '../scope.js';
import { runSystem } from '../system.js';

/** `keys`: the records that changed; null when there are many, or what is remembered of the table doesn't go by records. */
export type CacheChange = { id: string; environment_id: string; kind: string; keys: string[] | null };

// Short, so that it never waits behind the requests for a connection: a process that can't look trusts nothing that it remembers.
const recent: Statement = {
  name: 'cache_changes.recent',
  short: 'look_up',
  text: `select environment_id, kind, max(id::text) || ':' || count(*) as id,
           case when count(key) = count(*) and count(*) <= 100 then array_agg(distinct key) end as keys
         from cache_changes where changed_at > clock_timestamp() - interval '40 seconds'
         group by environment_id, kind`,
};

/** The changes of the last 40 seconds, longer than any transaction stays open (30 s) before its changes are seen; more of them than anybody makes by hand are summed up per table. */
export async function recentCacheChanges(knex: Knex): Promise<CacheChange[]> {
  const rows = await runSystem<CacheChange>(knex, recent, []);
  return rows.map((row) => ({ ...row, id: `${row.environment_id} ${row.kind} ${row.id}` }));
}

/** Deletes changes that every process has long seen. */
export async function deleteOldCacheChanges(knex: Knex): Promise<number> {
  return knex('cache_changes').whereRaw(`changed_at < clock_timestamp() - interval '1 minute'`).delete();
}
