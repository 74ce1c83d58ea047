import type { Knex } from 'knex';
import { queueRows, type DueDestination, type HeldRow } from '../queue-rows.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { holdLock, table, update, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { runSystem } from '../system.js';

export const signalStreamStatuses = ['enabled', 'paused', 'disabled'] as const;

/** A row of `signal_streams`. `attempt_count`: failures in a row. */
export type SignalStreamRow = RecordRow & {
  destination: string;
  client_id: string;
  issuer: string;
  description: string | null;
  events_requested: string[];
  method: 'push' | 'poll';
  endpoint_url: string | null;
  authorization_sealed: Buffer | null;
  status: (typeof signalStreamStatuses)[number];
  status_reason: string | null;
  paused_by: 'receiver' | 'administrator' | 'limit' | null;
  verified_at: Date | null;
  next_attempt_at: Date;
  attempt_count: number;
  last_error: string | null;
  last_response_status: number | null;
  last_sent_at: Date | null;
  lease_id: string | null;
  leased_until: Date | null;
  /** For how long the oldest that waits has waited; only in rows of {@link visibleSignalStreams}. */
  lag_seconds?: number;
};

const lagSql = `coalesce((select greatest(0, floor(extract(epoch from now() - e.occurred_at)))::integer from signal_sets e
  where e.environment_id = s.environment_id and e.signal_stream_id = s.id order by e.seq limit 1), 0)`;

/** The streams of the environment, with `lag_seconds`. */
export function visibleSignalStreams({ knex, environment_id }: Scope): Knex.QueryBuilder {
  const rows = `(select s.*, ${lagSql} as lag_seconds from signal_streams s where s.environment_id = ?) as signal_streams`;
  return knex.from(knex.raw(rows, [environment_id]) as unknown as string) as unknown as Knex.QueryBuilder;
}

/** How many streams the client has: so many until the transaction ends, but for its own. */
export async function countSignalStreams(scope: Scope, client_id: string): Promise<number> {
  await holdLock(scope, `signal_streams ${client_id}`);
  return (await listSignalStreams(scope, client_id)).length;
}

/** What waits for a stream is deleted with it. */
export const { insert: insertSignalStream, remove: removeSignalStream } = rowFunctions<SignalStreamRow>('signal_streams');

export const listSignalStreams = async (scope: Scope, client_id: string): Promise<SignalStreamRow[]> =>
  table<SignalStreamRow>(scope, 'signal_streams')
    .where({ client_id } as never)
    .orderBy('created_at')
    .orderBy('id') as unknown as Promise<SignalStreamRow[]>;

/** The client's own stream of the id; null when it is another's. With `lock` nobody else changes it until the transaction ends. */
export async function findSignalStream(scope: Scope, client_id: string, id: string, lock = false): Promise<SignalStreamRow | null> {
  const query = table<SignalStreamRow>(scope, 'signal_streams').where({ client_id, id }).first();
  return (await (lock ? query.forUpdate() : query)) ?? null;
}

/** Changes a stream, which is then tried at once. */
export const updateSignalStream = (scope: Scope, id: string, changes: Partial<SignalStreamRow>): Promise<SignalStreamRow | null> =>
  update<SignalStreamRow>(scope, 'signal_streams', { id }, { ...changes, next_attempt_at: scope.knex.fn.now() as never, attempt_count: 0 });

/** Notes that the stream was verified; false when it was so since that moment. */
export async function noteVerification(scope: Scope, id: string, at: Date, since: Date): Promise<boolean> {
  const rows = await table<SignalStreamRow>(scope, 'signal_streams')
    .where({ id })
    .where((any) => any.whereNull('verified_at').orWhere('verified_at', '<=', since))
    .update({ verified_at: at });
  return rows > 0;
}

/** Claims of streams; whether one has anything to send {@link findDueSignalStreams} tells. */
export const signalStreamQueueRows = queueRows<SignalStreamRow>('signal_streams', 'signal', 'destination');

/** Streams that have something to push now, up to `limit`, those first that may send longest. What became of a paused one is told all the same. */
export function findDueSignalStreams(knex: Knex, limit: number): Promise<DueDestination[]> {
  const text = `select s.environment_id, s.destination as id, s.next_attempt_at as due_at from signal_streams s
    where s.method = 'push' and ${servedSql('s.environment_id')} and s.next_attempt_at <= now() and s.status <> 'disabled' and exists (select 1 from signal_sets e
      where e.environment_id = s.environment_id and e.signal_stream_id = s.id and (s.status = 'enabled' or e.event = 'stream-updated'))
    order by s.next_attempt_at limit $1`;
  return runSystem<DueDestination>(knex, { name: 'signal_streams.due_with_sets', text }, [limit]);
}

export type SignalSend = HeldRow & {
  /** The tokens that the receiver has, or will never take. */
  readonly done: readonly string[];
  readonly error: string | null;
  readonly response_status: number | null;
  readonly retry_in_ms: number;
  /** Whether anything was sent. */
  readonly tried: boolean;
};

/** Records a try to push, deletes what is done, and gives up the lease. One whose lease was lost is left alone: what was taken is sent again. @returns whether it was held */
export async function recordSignalSend(knex: Knex, send: SignalSend): Promise<boolean> {
  const text = `with recorded as (
      update signal_streams s set lease_id = null, leased_until = null, next_attempt_at = now() + make_interval(secs => $5::float8 / 1000),
        last_error = case when $8::boolean then $6 else s.last_error end,
        last_response_status = case when $8 then $7::integer else s.last_response_status end,
        attempt_count = case when not $8 then s.attempt_count when $6::text is null then 0 else s.attempt_count + 1 end,
        last_sent_at = case when cardinality($4::uuid[]) > 0 then now() else s.last_sent_at end
      where s.environment_id = $1 and s.id = $2 and s.lease_id = $3 returning s.id
    ), gone as (
      delete from signal_sets e using recorded where e.environment_id = $1 and e.signal_stream_id = $2 and e.id = any ($4)
    )
    select id from recorded`;
  const { environment_id, id, lease_id, done, retry_in_ms, error, response_status, tried } = send;
  const values = [environment_id, id, lease_id, done, retry_in_ms, error, response_status, tried];
  return (await runSystem(knex, { name: 'signal_streams.record', text }, values)).length > 0;
}

/** For how long the oldest token of each stream waits, in seconds. */
export const listSignalStreamLags = (knex: Knex): Promise<{ id: string; lag_seconds: number }[]> =>
  runSystem(knex, { name: 'signal_streams.lags', text: `select s.id, ${lagSql} as lag_seconds from signal_streams s` }, []);

/** A stream as somebody sees it who asks how the service is doing, with the slug of its environment. */
export type WatchedSignalStream = Pick<SignalStreamRow, 'id' | 'client_id' | 'status' | 'paused_by' | 'last_error'> & {
  readonly environment: string;
  readonly lag_seconds: number;
};

/** The streams of all environments whose oldest token waits for longer, or that were paused because too much waited. */
export async function listTroubledSignalStreams(knex: Knex, lag_seconds: number, limit: number): Promise<WatchedSignalStream[]> {
  const text = `select * from (select s.id, s.client_id, s.status, s.paused_by, s.last_error, s.created_at, ${lagSql} as lag_seconds, e.slug as environment
      from signal_streams s join environments e on e.id = s.environment_id where s.status <> 'disabled') w
    where paused_by = 'limit' or (status = 'enabled' and lag_seconds > $1) order by created_at, id limit $2`;
  return runSystem<WatchedSignalStream>(knex, { name: 'signal_streams.troubled', text }, [lag_seconds, limit]);
}
