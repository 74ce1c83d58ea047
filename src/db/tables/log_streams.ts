import type { Knex } from 'knex';
import { queueRows, type DueDestination, type HeldRow } from '../queue-rows.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { holdLock, remove, table, update, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';

/** What a stream can send: security events, the operations of the audit log that are none, and the events of the feed. */
export const logStreamSources = ['security_events', 'audit_logs', 'events'] as const;
export type LogStreamSource = (typeof logStreamSources)[number];
/** The sources whose records are rows of the audit log. */
export type AuditSource = Exclude<LogStreamSource, 'events'>;

/** How a record is written: as this service has it, in the Elastic Common Schema, or in the Open Cybersecurity Schema Framework. */
export const logStreamFormats = ['native', 'ecs', 'ocsf'] as const;
export type LogStreamFormat = (typeof logStreamFormats)[number];

/** A row of `log_streams`. `attempt_count`: failures in a row. */
export type LogStreamRow = RecordRow & {
  destination: string;
  name: string;
  url: string;
  format: LogStreamFormat;
  sources: LogStreamSource[];
  /** `paused`: by a person, or after three days of failures; what there is to send waits. */
  status: 'enabled' | 'paused';
  authorization_sealed: Buffer | null;
  secret_sealed: Buffer;
  secret_hint: string;
  secret_rotated_at: Date | null;
  previous_secret_sealed: Buffer | null;
  previous_secret_expires_at: Date | null;
  next_attempt_at: Date;
  attempt_count: number;
  failing_since: Date | null;
  last_error: string | null;
  last_response_status: number | null;
  last_sent_at: Date | null;
  lease_id: string | null;
  leased_until: Date | null;
  /** For how long the oldest that waits has waited; only in rows of {@link visibleLogStreams}. */
  lag_seconds?: number;
};

const lagSql = `coalesce((select floor(extract(epoch from now() - e.due_at))::integer from log_stream_entries e
  where e.environment_id = s.environment_id and e.log_stream_id = s.id and e.due_at <= now() order by e.seq limit 1), 0)`;

/** The streams of the environment, with `lag_seconds`. */
export function visibleLogStreams({ knex, environment_id }: Scope): Knex.QueryBuilder {
  const rows = `(select s.*, ${lagSql} as lag_seconds from log_streams s where s.environment_id = ?) as log_streams`;
  return knex.from(knex.raw(rows, [environment_id]) as unknown as string) as unknown as Knex.QueryBuilder;
}

/** How many streams the environment has: so many until the transaction ends, but for its own. */
export async function countLogStreams(scope: Scope): Promise<number> {
  await holdLock(scope, 'log_streams');
  const [row] = (await table<LogStreamRow>(scope, 'log_streams').count('* as count')) as unknown as { count: string }[];
  return Number(row?.count ?? 0);
}

/** Stores a stream: what is recorded from its commit on waits to be sent. */
export const { insert: insertLogStream } = rowFunctions<LogStreamRow>('log_streams');

/** Changes a stream and returns it as it is then, to be tried at once; null when there is none. `isSound`: what failed until now counts no more. */
export function changeLogStream(scope: Scope, id: string, changes: Partial<LogStreamRow>, isSound: boolean): Promise<LogStreamRow | null> {
  const again = { next_attempt_at: scope.knex.fn.now() as never, ...(isSound && { attempt_count: 0, failing_since: null }) };
  return update<LogStreamRow>(scope, 'log_streams', { id }, { ...changes, ...again });
}

/** Deletes a stream and what waits for it. Returns whether there was one. */
export async function removeLogStream(scope: Scope, id: string): Promise<boolean> {
  const there = (await remove<LogStreamRow>(scope, 'log_streams', { id })) > 0;
  if (there) await removeLogStreamEntries(scope, id, logStreamSources);
  return there;
}

export async function removeLogStreamEntries(scope: Scope, log_stream_id: string, sources: readonly LogStreamSource[]): Promise<void> {
  await table<LogStreamEntry & { log_stream_id: string }>(scope, 'log_stream_entries')
    .where({ log_stream_id } as never)
    .whereIn('source' as never, [...sources] as never)
    .delete();
}

/** Replaces the secret and keeps the old one as the previous one, in one UPDATE. */
export async function rotateLogStreamSecret(
  scope: Scope,
  id: string,
  next: { secret_sealed: Buffer; secret_hint: string; at: Date; previous_secret_expires_at: Date },
): Promise<LogStreamRow | null> {
  const { at, ...secret } = next;
  const previous_secret_sealed = scope.knex.raw('secret_sealed') as never;
  return update<LogStreamRow>(scope, 'log_streams', { id }, { ...secret, previous_secret_sealed, secret_rotated_at: at, updated_at: at });
}

/** Claims of streams; whether one has anything to send {@link findDueLogStreams} tells. */
export const logStreamQueueRows = queueRows<LogStreamRow>('log_streams', 'log_stream', 'destination');

/** Streams that have something to send now, up to `limit`, those first that may send longest. */
export function findDueLogStreams(knex: Knex, limit: number): Promise<DueDestination[]> {
  const text = `select s.environment_id, s.destination as id, s.next_attempt_at as due_at from log_streams s
    where s.status = 'enabled' and ${servedSql('s.environment_id')} and s.next_attempt_at <= now() and exists (select 1 from log_stream_entries e
      where e.environment_id = s.environment_id and e.log_stream_id = s.id and e.due_at <= now())
    order by s.next_attempt_at limit $1`;
  return runSystem<DueDestination>(knex, { name: 'log_streams.due_with_entries', text }, [limit]);
}

/** Queues the events that got the last `numbered` positions, within the transaction that gave them, for the streams that send events. */
export async function queueEventEntries(knex: Knex, numbered: number): Promise<void> {
  const text = `insert into log_stream_entries (environment_id, log_stream_id, source, record_id, due_at)
    select s.environment_id, s.id, 'events', e.id, now() from event_feed f cross join log_streams s
      join events e on e.environment_id = s.environment_id and e.position > f.position - $1::integer and e.position <= f.position
    where 'events' = any (s.sources) order by e.position
    on conflict (environment_id, log_stream_id, record_id) do nothing`;
  await runSystem(knex, { name: 'log_streams.queue_events', text }, [numbered]);
}

/** `seq` tells apart the times at which a record was queued: one that is queued again while it is being sent is sent once more. */
export type LogStreamEntry = { readonly seq: string; readonly source: LogStreamSource; readonly record_id: string };

export function listDueEntries(knex: Knex, stream: Pick<LogStreamRow, 'environment_id' | 'id'>, limit: number): Promise<LogStreamEntry[]> {
  // By the column: what is selected as text would be ordered as text, 10 before 9.
  const text = `select e.seq::text, e.source, e.record_id from log_stream_entries e
    where e.environment_id = $1 and e.log_stream_id = $2 and e.due_at <= now() order by e.seq, e.record_id limit $3`;
  return runSystem<LogStreamEntry>(knex, { name: 'log_streams.due_entries', text }, [stream.environment_id, stream.id, limit]);
}

/** What came of sending: `sent` are the entries that the receiver has taken; `error` null when it took them. */
export type LogStreamSend = HeldRow & {
  readonly sent: readonly LogStreamEntry[];
  readonly error: string | null;
  readonly response_status: number | null;
  /** Milliseconds until it may be tried again. */
  readonly retry_in_ms: number;
  /** Whether anything was sent: when nothing was there to send, what is known of the receiver stays. */
  readonly tried: boolean;
};

/** `was_paused`: by this, not by a person. */
export type RecordedSend = Pick<LogStreamRow, 'status'> & { readonly was_paused: boolean };

/** Seconds of failures in a row after which a stream is paused. */
const pauseAfterSeconds = 72 * 3600;

/**
 * Records a try to send, deletes what was taken, and gives up the lease; a stream that has failed for three days is paused. One whose lease was lost
 * meanwhile is left alone: what was taken is sent again. @returns null when the lease was lost
 */
export async function recordLogStreamSend(knex: Knex, send: LogStreamSend): Promise<RecordedSend | null> {
  const text = `with held as (
      select status from log_streams where environment_id = $1 and id = $2 and lease_id = $3 for update
    ), recorded as (
      update log_streams s set lease_id = null, leased_until = null, next_attempt_at = now() + make_interval(secs => $5::float8 / 1000),
        last_error = case when $8::boolean then $6 else s.last_error end,
        last_response_status = case when $8 then $7::integer else s.last_response_status end,
        attempt_count = case when not $8 then s.attempt_count when $6::text is null then 0 else s.attempt_count + 1 end,
        failing_since = case when not $8 then s.failing_since when $6::text is not null then coalesce(s.failing_since, now()) end,
        last_sent_at = case when $8 and $6::text is null then now() else s.last_sent_at end,
        status = case when $6::text is not null and s.failing_since < now() - make_interval(secs => ${pauseAfterSeconds}) then 'paused' else s.status end
      from held where s.environment_id = $1 and s.id = $2
      returning s.status, s.status <> held.status as was_paused
    ), taken as (
      delete from log_stream_entries e using recorded
      where e.environment_id = $1 and e.log_stream_id = $2
        and (e.record_id, e.seq) in (select * from unnest($4::uuid[], $9::bigint[]))
    )
    select status, was_paused from recorded`;
  const { environment_id, id, lease_id, sent, retry_in_ms, error, response_status, tried } = send;
  const [records, times] = [sent.map(({ record_id }) => record_id), sent.map(({ seq }) => seq)];
  const values = [environment_id, id, lease_id, records, retry_in_ms, error, response_status, tried, times];
  const [row] = await runSystem<RecordedSend>(knex, { name: 'log_streams.record', text }, values);
  return row ?? null;
}

/** Deletes what waits for streams that are gone: what was still being recorded when they went. Jumps from stream to stream. */
export async function removeOrphanedEntries(knex: Knex): Promise<void> {
  const text = `with recursive j as (
      (select environment_id, log_stream_id from log_stream_entries order by 1, 2 limit 1)
      union all
      select n.* from j cross join lateral (select environment_id, log_stream_id from log_stream_entries e
        where (e.environment_id, e.log_stream_id) > (j.environment_id, j.log_stream_id) order by 1, 2 limit 1) n)
    delete from log_stream_entries e using j
    where not exists (select 1 from log_streams s where s.environment_id = j.environment_id and s.id = j.log_stream_id)
      and ${servedSql('e.environment_id')} and e.environment_id = j.environment_id and e.log_stream_id = j.log_stream_id`;
  await runSystem(knex, { name: 'log_streams.orphans', text }, []);
}

/** Notes what came of a test; a stream that takes it is tried again at once. Null when there is no such stream. */
export function noteLogStreamTest(
  scope: Scope,
  id: string,
  { error, response_status }: { readonly error: string | null; readonly response_status: number | null },
): Promise<LogStreamRow | null> {
  const retry = error === null ? { next_attempt_at: scope.knex.fn.now() as never } : {};
  return update<LogStreamRow>(scope, 'log_streams', { id }, { last_error: error, last_response_status: response_status, ...retry }, false);
}

/** For how long the oldest entry of each stream waits, in seconds. */
export const listLogStreamLags = (knex: Knex): Promise<{ id: string; lag_seconds: number }[]> =>
  runSystem(knex, { name: 'log_streams.lags', text: `select s.id, ${lagSql} as lag_seconds from log_streams s` }, []);

/** A stream as somebody sees it who asks how the service is doing, with the slug of its environment. `failed_attempt_count`: in a row. */
export type WatchedLogStream = Pick<
  LogStreamRow,
  'id' | 'name' | 'url' | 'status' | 'failing_since' | 'last_error' | 'last_response_status'
> & { readonly environment: string; readonly failed_attempt_count: number };

/** The streams of all environments that are enabled, or that the service paused. */
export async function listWatchedLogStreams(knex: Knex, limit: number): Promise<WatchedLogStream[]> {
  const text = `select s.id, s.name, s.url, s.status, s.failing_since, s.last_error, s.last_response_status, s.attempt_count as failed_attempt_count,
      e.slug as environment
    from log_streams s join environments e on e.id = s.environment_id
    where s.status = 'enabled' or s.failing_since < now() - make_interval(secs => ${pauseAfterSeconds}) order by s.created_at, s.id limit $1`;
  return runSystem<WatchedLogStream>(knex, { name: 'log_streams.watched', text }, [limit]);
}
