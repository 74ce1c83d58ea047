import type { Knex } from 'knex';
import type { Statement } from '../scope.js';
import { runSystem } from '../system.js';

/** `key`: the record that changed; null for many, and where what is remembered of the table doesn't go by records. */
export type CacheChange = { id: string; environment_id: string; kind: string; key: string | null };

// Short, so that it never waits behind the requests for a connection: a process that can't look trusts nothing that it remembers.
const recent: Statement = {
  name: 'cache_changes.recent',
  short: 'look_up',
  text: `select environment_id, kind, key, max(id) || ':' || sum(changes) as id from (
           select environment_id, kind, max(id::text) as id, count(*) as changes,
             case when count(*) over (partition by environment_id, kind) <= 100 then key end as key
           from cache_changes where changed_at > clock_timestamp() - interval '40 seconds'
           group by environment_id, kind, cache_changes.key) one
         group by environment_id, kind, key`,
};

/** The changes of the last 40 seconds, longer than any transaction stays open (30 s) before its changes are seen; more of them than anybody makes by hand are summed up per table. */
export async function recentCacheChanges(knex: Knex): Promise<CacheChange[]> {
  const rows = await runSystem<CacheChange>(knex, recent, []);
  return rows.map((row) => ({ ...row, id: `${row.environment_id} ${row.kind} ${row.key ?? ''} ${row.id}` }));
}

/** Deletes changes that every process has long seen. */
export const deleteOldCacheChanges = async (knex: Knex): Promise<number> =>
  knex('cache_changes').whereRaw(`changed_at < clock_timestamp() - interval '1 minute'`).delete();
