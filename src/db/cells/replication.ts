import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { MovedTable } from './moved-tables.js';

// PostgreSQL's own logical replication carries the rows of one environment: a publication with row filters here, a subscription there. Both and the slot bear one name.

const replicationName = (id: string) => `move_${id.replaceAll('-', '')}`;

const exists = async (client: Client, text: string, values: readonly unknown[]) => (await client.query(text, [...values])).rows.length > 0;

export const isSubscribed = (target: Client, id: string) =>
  exists(
    target,
    'select from pg_subscription where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())',
    [replicationName(id)],
  );

export async function publish(source: Client, tables: readonly MovedTable[], id: string): Promise<void> {
  const list = tables.map(({ name }) => `${name} where (environment_id = '${id}')`).join(', ');
  // A partition's rows are those of its table: the other cell has partitions of its own.
  const options = `publish = 'insert, update, delete', publish_via_partition_root = true`;
  await source.query(`create publication ${replicationName(id)} for table ${list} with (${options})`);
}

export const unpublish = (source: Client, id: string) => source.query(`drop publication if exists ${replicationName(id)}`);

/** @param from the address of the source as the target reaches it */
export async function subscribe(target: Client, id: string, from: string): Promise<void> {
  const name = replicationName(id);
  await target.query(
    `create subscription ${name} connection ${target.escapeLiteral(from)} publication ${name} with (disable_on_error = true)`,
  );
}

/** Has a subscription go on that was ended halfway. */
export const follow = (target: Client, id: string) => target.query(`alter subscription ${replicationName(id)} enable`);

/** Ends the subscription with its slot, whichever of them there is. */
export async function unsubscribe(source: Client, target: Client, id: string): Promise<void> {
  const name = replicationName(id);
  if (await isSubscribed(target, id)) {
    await target.query(`alter subscription ${name} disable`);
    // It drops its slots itself, those of tables that are still being copied too; where it can't, because they are gone, it goes without.
    await target.query(`drop subscription ${name}`).catch(async () => {
      await target.query(`alter subscription ${name} set (slot_name = none)`);
      await target.query(`drop subscription ${name}`);
    });
  }
  await dropSlots(source, id);
}

/** What a worker that has just been ended still holds is free a moment later. */
async function dropSlots(source: Client, id: string): Promise<void> {
  const mine = `from pg_replication_slots s where s.slot_name = $1`;
  await source.query(`select pg_terminate_backend(s.active_pid, 5000) ${mine} and s.active_pid is not null`, [replicationName(id)]);
  await source.query(`select pg_drop_replication_slot(s.slot_name) ${mine}`, [replicationName(id)]);
}

export type Progress = {
  /** Tables whose rows there were are there, of all. */
  readonly copied: number;
  readonly tables: number;
  readonly behindBytes: number;
  /** Why it can't go on; null while it does. */
  readonly failure: string | null;
};

export async function lookAtProgress(source: Client, target: Client, id: string): Promise<Progress> {
  const name = replicationName(id);
  const there = await target.query<{ copied: number; tables: number; enabled: boolean }>(
    `select s.subenabled as enabled, count(*)::integer as tables, (count(*) filter (where r.srsubstate = 'r'))::integer as copied
     from pg_subscription s join pg_subscription_rel r on r.srsubid = s.oid where s.subname = $1 group by 1`,
    [name],
  );
  const here = await source.query<{ behind: string | null; status: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::text as behind, wal_status as status from pg_replication_slots where slot_name = $1`,
    [name],
  );
  const [{ copied = 0, tables = 0, enabled = false } = {}, slot] = [there.rows[0], here.rows[0]];
  const lost = slot === undefined || slot.status === 'lost' ? 'the slot was lost: max_slot_wal_keep_size is too small for the copy' : null;
  const failure = lost ?? (enabled ? null : 'a row was refused there: the log of its PostgreSQL says which');
  return { copied, tables, behindBytes: Number(slot?.behind ?? 0), failure };
}

/** Where the log of the source ends now. All until there is on its disk, and so on its way: the commit of an empty message sees to that. */
async function endOfLog(source: Client): Promise<string> {
  const { rows } = await source.query<{ lsn: string }>('select pg_current_wal_insert_lsn() as lsn');
  await source.query(`select pg_logical_emit_message(true, 'move', '')`);
  return rows[0]?.lsn ?? '';
}

const lookAgainMs = 20;

/** Waits until all that is committed now is stored there. @returns up to where, or undefined after `patienceMs` */
export async function awaitFollower(source: Client, id: string, patienceMs: number): Promise<string | undefined> {
  const lsn = await endOfLog(source);
  const reached = 'select from pg_replication_slots where slot_name = $1 and confirmed_flush_lsn >= $2::pg_lsn';
  for (const began = performance.now(); !(await exists(source, reached, [replicationName(id), lsn])); await delay(lookAgainMs))
    if (performance.now() - began > patienceMs) return undefined;
  return lsn;
}
