import type { Knex } from 'knex';
import { plainArray } from '../connection/statements/plain-array.js';
import { runSystem } from '../system.js';
import type { FailureReason } from './webhook_deliveries.js';
import { queueRowSql, type Held } from './webhook_queue.js';

/** The outcome of one attempt. `retry_in_ms` null: no further attempt. */
export type AttemptResult = Held & {
  readonly webhook_id: string;
  /** Whether an event caused the delivery, rather than a test or redelivery: only such deliveries end when their webhook is disabled. */
  readonly by_event: boolean;
  readonly attempt_id: string;
  readonly started_at: Date;
  readonly ended_at: Date;
  readonly duration_ms: number;
  readonly response_status: number | null;
  readonly response_body: string | null;
  readonly response_truncated: boolean;
  readonly failure_reason: FailureReason | null;
  readonly retry_in_ms: number | null;
};

/** A result that wants a second look: it wasn't recorded, or it is a failure. */
export type NotableResult = Pick<AttemptResult, 'id' | 'environment_id' | 'webhook_id'> & {
  /** The lease isn't ours any more: the delivery was left alone. */
  readonly is_lost: boolean;
  /** How many events of the webhook in a row have failed for good by now. */
  readonly failed_event_count: number | null;
};

/**
 * Records attempts and moves their deliveries to the next state, in one statement. A delivery whose lease isn't ours any more is left alone.
 * @returns what was lost or has failed; nothing is answered for successes
 */
export const recordWebhookAttempts = async (knex: Knex, results: readonly AttemptResult[]): Promise<NotableResult[]> =>
  runSystem<NotableResult>(knex, { name: 'webhook_queue.record', text: recordText }, [
    plainArray(results, (one) => one.environment_id),
    plainArray(results, (one) => one.id),
    plainArray(results, (one) => one.lease_id),
    plainArray(results, (one) => one.webhook_id),
    plainArray(results, (one) => one.by_event),
    plainArray(results, (one) => one.attempt_id),
    plainArray(results, (one) => one.started_at.getTime()),
    plainArray(results, (one) => one.ended_at.getTime()),
    plainArray(results, (one) => one.duration_ms),
    plainArray(results, (one) => one.response_status),
    results.map((one) => one.response_body),
    plainArray(results, (one) => one.response_truncated),
    plainArray(results, (one) => one.failure_reason),
    plainArray(results, (one) => one.retry_in_ms),
  ]);

// Columns as arrays: writing them costs this process half of what the same rows cost as JSON; PostgreSQL reads one as fast as the other.
const recordText = `
  with given as materialized (
    select g.*, to_timestamp(started_ms / 1000) as started_at, to_timestamp(ended_ms / 1000) as ended_at
    from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::boolean[], $6::uuid[], $7::float8[], $8::float8[], $9::integer[],
      $10::integer[], $11::text[], $12::boolean[], $13::text[], $14::float8[]) as g (environment_id, id, lease_id, webhook_id, by_event,
      attempt_id, started_ms, ended_ms, duration_ms, response_status, response_body, response_truncated, failure_reason, retry_in_ms)),
  -- Locked before anything is decided: whoever disables a webhook at this moment finds its deliveries as they are afterwards, or is seen here.
  -- In one order, so that replicas never wait for each other in a circle.
  locked as materialized (
    select w.environment_id, w.id, w.status
    from (select distinct environment_id, webhook_id from given) g
      join webhooks w on w.environment_id = g.environment_id and w.id = g.webhook_id
    order by w.environment_id, w.id for no key update of w),
  results as materialized (
    select g.*, l.status is distinct from 'enabled' and g.by_event as is_over
    from given g left join locked l on l.environment_id = g.environment_id and l.id = g.webhook_id),
  -- Whoever's lease it is records: nobody takes it over from here on.
  held as materialized (
    select r.* from results r join webhook_deliveries d on d.environment_id = r.environment_id and d.id = r.id
      cross join lateral (select from webhook_queue q where ${queueRowSql} and q.lease_id = r.lease_id for update) q),
  -- That what has ended leaves the queue, and what is tried again moves in it, is its trigger's part. No indexed column changes.
  recorded as (
    update webhook_deliveries d
    set attempt_count = d.attempt_count + 1,
        status = case when r.failure_reason is null then 'succeeded' when r.retry_in_ms is null or r.is_over then 'failed' else 'retrying' end,
        -- Its webhook was disabled while it was being sent: no attempt follows (specification 7.4.3).
        failure_reason = case when r.retry_in_ms is not null and r.is_over then 'webhook_disabled' else r.failure_reason end,
        last_response_status = r.response_status,
        next_attempt_at = case when not r.is_over then now() + make_interval(secs => r.retry_in_ms / 1000) end,
        completed_at = case when r.retry_in_ms is null or r.is_over then r.ended_at end, updated_at = r.ended_at, version = d.version + 1
    from held r
    where d.environment_id = r.environment_id and d.id = r.id
    returning d.environment_id, d.id, d.webhook_id, d.attempt_count, d.status, d.trigger, d.updated_at, d.last_response_status, r.failure_reason),
  attempts as (
    insert into webhook_delivery_attempts (environment_id, id, delivery_id, attempt_number, started_at, duration_ms, response_status,
      response_body, response_truncated, failure_reason)
    select d.environment_id, r.attempt_id, d.id, d.attempt_count, r.started_at, r.duration_ms, r.response_status, r.response_body,
      r.response_truncated, r.failure_reason
    from recorded d join results r on r.environment_id = d.environment_id and r.id = d.id),
  ended as (
    select *, max(updated_at) filter (where status = 'succeeded') over (partition by environment_id, webhook_id) as success_at from recorded),
  -- Of those that failed only what ended after the last success counts.
  tallies as (
    select environment_id, webhook_id, max(updated_at) as last_at, max(success_at) as success_at,
      (count(*) filter (where status = 'failed' and trigger = 'event'))::integer as failed,
      (count(*) filter (where (updated_at > success_at) is not false and failure_reason is not null))::integer as refused,
      min(updated_at) filter (where (updated_at > success_at) is not false and failure_reason is not null) as refused_since,
      (array_agg(last_response_status order by updated_at desc, failure_reason nulls first))[1] as response_status,
      (array_agg(failure_reason order by updated_at desc, failure_reason nulls first))[1] as failure_reason
    from ended group by environment_id, webhook_id),
  noted as (
    update webhooks w
    set last_delivery_at = greatest(w.last_delivery_at, t.last_at), last_success_at = greatest(w.last_success_at, t.success_at),
        failed_event_count = case when t.success_at is null then w.failed_event_count + t.failed else 0 end,
        failed_attempt_count = case when t.success_at is null then w.failed_attempt_count else 0 end + t.refused,
        failing_since = coalesce(case when t.success_at is null then w.failing_since end, t.refused_since),
        last_response_status = t.response_status, last_failure_reason = t.failure_reason
    from tallies t
    where w.environment_id = t.environment_id and w.id = t.webhook_id
    returning w.environment_id, w.id, w.failed_event_count)
  -- Both are joined to what was given: as a join of one with the other, of which PostgreSQL expects a row each, every result was compared with every webhook.
  select g.id, g.environment_id, g.webhook_id, d.id is null as is_lost, case when d.id is not null then n.failed_event_count end as failed_event_count
  from given g
    left join recorded d on d.environment_id = g.environment_id and d.id = g.id
    left join noted n on n.environment_id = g.environment_id and n.id = g.webhook_id
  where d.id is null or g.failure_reason is not null`;
