import type { Knex } from 'knex';
import { rowFunctions } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';
import type { SignalStreamRow } from './signal_streams.js';

/** A row of `signal_sets`: a security event token (RFC 8417) that waits for a stream, before it is signed. `id`: its `jti`. */
export type SignalSetRow = {
  environment_id: string;
  signal_stream_id: string;
  id: string;
  seq: string;
  txn: string;
  event: string;
  user_id: string | null;
  session_id: string | null;
  data: Record<string, unknown>;
  occurred_at: Date;
};

type Of = Pick<SignalStreamRow, 'environment_id' | 'id'>;

export const { insert: insertSignalSet } = rowFunctions<SignalSetRow>('signal_sets');

/** What waits for the stream, the oldest first; of a paused one only what became of it. */
export function listSignalSets(knex: Knex, { environment_id, id }: Of, limit: number): Promise<SignalSetRow[]> {
  const text = `select e.* from signal_sets e join signal_streams s on s.environment_id = e.environment_id and s.id = e.signal_stream_id
    where e.environment_id = $1 and e.signal_stream_id = $2 and (s.status = 'enabled' or s.status = 'paused' and e.event = 'stream-updated')
    order by e.seq, e.id limit $3`;
  return runSystem<SignalSetRow>(knex, { name: 'signal_sets.list', text }, [environment_id, id, limit]);
}

/** Deletes tokens that the receiver of the stream has, or will never take. */
export async function removeSignalSets(scope: Scope, signal_stream_id: string, ids: readonly string[]): Promise<void> {
  await table<SignalSetRow>(scope, 'signal_sets')
    .where({ signal_stream_id })
    .whereIn('id', [...ids])
    .delete();
}

export async function removeSignalSetsOf(scope: Scope, signal_stream_id: string): Promise<void> {
  await table<SignalSetRow>(scope, 'signal_sets').where({ signal_stream_id }).delete();
}

/**
 * Makes of what happened the tokens of each stream that wants it, up to `limit` happenings: in one statement, so that a process that dies loses nothing. Who
 * comes second waits for the first, which keeps the order. @returns how many happenings there were
 */
export async function fanOutSignals(knex: Knex, limit: number): Promise<number> {
  const text = `with taken as (
      delete from signals s using (select environment_id, id from signals where ${servedSql('environment_id')} order by seq, id limit $1 for update) t
      where s.environment_id = t.environment_id and s.id = t.id returning s.*
    ), told as (
      insert into signal_sets (environment_id, signal_stream_id, seq, txn, event, user_id, session_id, data, occurred_at)
      select t.environment_id, s.id, t.seq, t.id, t.event, t.user_id, t.session_id, t.data, t.occurred_at
      from taken t join signal_streams s on s.environment_id = t.environment_id and s.client_id = any (t.client_ids)
      where s.status <> 'disabled' and s.paused_by is distinct from 'limit' and t.event = any (s.events_requested)
        and not exists (select 1 from signal_exclusions x
          where x.environment_id = s.environment_id and x.signal_stream_id = s.id and x.user_id = t.user_id)
    )
    select count(*)::integer as count from taken`;
  const [row] = await runSystem<{ count: number }>(knex, { name: 'signals.fan_out', text }, [limit]);
  return row?.count ?? 0;
}

/** Pauses streams for which too much waits, which their receivers are told, and deletes what is older than that. @returns the streams */
export function pauseFullStreams(knex: Knex, { most, seconds }: { readonly most: number; readonly seconds: number }): Promise<Of[]> {
  const text = `with old as (
      delete from signal_sets where ${servedSql('environment_id')} and occurred_at < now() - make_interval(secs => $2) and event <> 'stream-updated' returning environment_id, signal_stream_id
    ), paused as (
      update signal_streams s set status = 'paused', paused_by = 'limit', status_reason = 'too much waits', updated_at = now(), version = s.version + 1
      where s.status <> 'disabled' and s.paused_by is distinct from 'limit' and ${servedSql('s.environment_id')} and (
        exists (select 1 from old o where o.environment_id = s.environment_id and o.signal_stream_id = s.id)
        or (select count(*) from (select 1 from signal_sets e where e.environment_id = s.environment_id and e.signal_stream_id = s.id limit $1) w) >= $1)
      returning s.environment_id, s.id
    ), told as (
      insert into signal_sets (environment_id, signal_stream_id, txn, event, data)
      select environment_id, id, gen_random_uuid(), 'stream-updated', '{"status": "paused", "reason": "too much waits"}' from paused
    )
    select environment_id, id from paused`;
  return runSystem<Of>(knex, { name: 'signal_streams.pause_full', text }, [most, seconds]);
}

/** Takes a person out of a stream; somebody whom the environment doesn't have changes nothing. */
export async function excludeFromSignals(scope: Scope, signal_stream_id: string, user_id: string): Promise<void> {
  const text = `insert into signal_exclusions (environment_id, signal_stream_id, user_id)
    select u.environment_id, $2, u.id from users u where u.environment_id = $1 and u.id = $3 on conflict do nothing`;
  await run(scope, { name: 'signal_exclusions.insert', text }, [signal_stream_id, user_id]);
}

export async function includeInSignals(scope: Scope, signal_stream_id: string, user_id: string): Promise<void> {
  await table<{ signal_stream_id: string; user_id: string }>(scope, 'signal_exclusions').where({ signal_stream_id, user_id }).delete();
}
