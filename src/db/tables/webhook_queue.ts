import type { Knex } from 'knex';
import { runSystem } from '../system.js';
import type { WebhookRow } from './webhooks.js';
import type { FailureReason, WebhookDeliveryRow } from './webhook_deliveries.js';

// The queue of webhook deliveries: what is due, apart from the history (`webhook_deliveries`), whose triggers fill and empty it. It works for all
// environments together, so these statements go through the unscoped door. Leases and due times follow the database's
// clock: replicas whose clocks differ still agree on who holds what.

/** A webhook that has something due, and since when. */
export type DueWebhook = { readonly environment_id: string; readonly webhook_id: string; readonly due_at: Date };

/** A claimed delivery with what sending it needs. The webhook's columns are null when the webhook is gone. */
export type ClaimedDelivery = Pick<
  WebhookDeliveryRow,
  'environment_id' | 'id' | 'webhook_id' | 'event_id' | 'event_type' | 'payload' | 'trigger' | 'attempt_count'
> & { readonly next_attempt_at: Date } & {
  readonly [Column in 'url' | 'secret_sealed' | 'previous_secret_sealed' | 'previous_secret_expires_at']: WebhookRow[Column] | null;
} & { readonly webhook_status: WebhookRow['status'] | null };

/** How far back the quick look goes; what is older (backlogs, missed rows) is found by the thorough one. */
const recentSeconds = 60;

/**
 * The quick look: webhooks with something that fell due in the last minute. Its cost doesn't depend on how many dead index entries a long
 * transaction keeps alive. `full` says that there were `limit` rows: there may be more webhooks behind them.
 */
export async function findRecentlyDue(knex: Knex, limit: number): Promise<{ due: DueWebhook[]; full: boolean }> {
  const rows = await runSystem<DueWebhook & { seen: number }>(
    knex,
    {
      name: 'webhook_queue.recently_due',
      text: 'select * from recently_due_webhooks($1, $2)',
    },
    [limit, recentSeconds],
  );
  return { due: rows, full: (rows[0]?.seen ?? 0) >= limit };
}

/**
 * The thorough look: jumps through the queue from webhook to webhook, one index probe each, starting behind `after`. Returns up to `limit`
 * webhooks that wait for something, due or not yet.
 */
export async function findWaiting(
  knex: Knex,
  after: { environment_id: string; webhook_id: string },
  limit: number,
): Promise<(DueWebhook & { is_due: boolean })[]> {
  return runSystem(
    knex,
    {
      name: 'webhook_queue.waiting',
      text: 'select * from waiting_webhooks($1, $2, $3)',
    },
    [after.environment_id, after.webhook_id, limit],
  );
}

/** Milliseconds until something falls due (never negative), or null when nothing waits. Claimed deliveries don't count. */
export async function millisecondsToNextDue(knex: Knex): Promise<number | null> {
  const [row] = await runSystem<{ ms: number | null }>(
    knex,
    {
      name: 'webhook_queue.next_due',
      text: 'select extract(epoch from next_due_webhook_delivery() - now())::float8 * 1000 as ms',
    },
    [],
  );
  return row?.ms == null ? null : Math.max(0, row.ms);
}

/** Seconds for which the oldest unclaimed due delivery has waited; 0 when none waits. */
export async function oldestDueSeconds(knex: Knex): Promise<number> {
  const [row] = await runSystem<{ seconds: number | null }>(
    knex,
    {
      name: 'webhook_queue.oldest_due',
      text: 'select extract(epoch from now() - oldest_due_webhook_delivery())::float8 as seconds',
    },
    [],
  );
  return row?.seconds ?? 0;
}

/**
 * Claims due deliveries, the oldest of each webhook first: `room` of them, from `due_at` on. The claim is a lease of `leaseMs` under `lease_id`
 * (the fencing token); rows that another replica is claiming are skipped. (Functions of migrations/0280.)
 */
export async function claimDeliveries(
  knex: Knex,
  wanted: readonly (DueWebhook & { room: number })[],
  lease: { lease_id: string; leaseMs: number },
): Promise<ClaimedDelivery[]> {
  const rows = await runSystem<ClaimedDelivery>(
    knex,
    {
      name: 'webhook_queue.claim',
      text: 'select * from lease_webhook_deliveries($1::uuid[], $2::uuid[], $3::timestamptz[], $4::integer[], $5, $6)',
    },
    [
      wanted.map((one) => one.environment_id),
      wanted.map((one) => one.webhook_id),
      wanted.map((one) => one.due_at),
      wanted.map((one) => one.room),
      lease.lease_id,
      lease.leaseMs,
    ],
  );
  return rows.sort((one, other) => one.next_attempt_at.getTime() - other.next_attempt_at.getTime() || (one.id < other.id ? -1 : 1));
}

/** The row `q` of the queue that belongs to the delivery `d`. */
const placeSql = `q.environment_id = d.environment_id and q.webhook_id = d.webhook_id and q.next_attempt_at = d.next_attempt_at and q.delivery_id = d.id`;

/** The key of a claimed delivery, and its lease. */
export type Held = { readonly environment_id: string; readonly id: string; readonly lease_id: string };

/** Gives claimed deliveries back unsent and wakes the other replicas. */
export async function releaseDeliveries(knex: Knex, held: readonly Held[]): Promise<void> {
  await runSystem(
    knex,
    {
      name: 'webhook_queue.release',
      text: `with released as (
               update webhook_queue q set lease_id = null, leased_until = null
               from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as h (environment_id, id, lease_id)
                 join webhook_deliveries d on d.environment_id = h.environment_id and d.id = h.id
               where ${placeSql} and q.lease_id = h.lease_id
               returning q.delivery_id)
             select pg_notify('outbox', 'webhook') from (select count(*) from released) r (n) where n > 0`,
    },
    [held.map((one) => one.environment_id), held.map((one) => one.id), held.map((one) => one.lease_id)],
  );
}

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

/** A webhook whose deliveries were recorded, and how many of its events in a row have failed for good since. */
export type RecordedDelivery = {
  readonly id: string;
  readonly environment_id: string;
  readonly webhook_id: string;
  readonly failed_event_count: number | null;
};

/**
 * Records attempts and moves their deliveries to the next state, in one statement. A delivery whose lease isn't ours any more is left alone
 * and missing from the answer.
 */
export async function recordAttempts(knex: Knex, results: readonly AttemptResult[]): Promise<RecordedDelivery[]> {
  return runSystem<RecordedDelivery>(knex, { name: 'webhook_queue.record', text: recordText }, [JSON.stringify(results)]);
}

const recordText = `
  with given as materialized (
    select * from json_to_recordset($1::json) as g (environment_id uuid, id uuid, lease_id uuid, webhook_id uuid, by_event boolean,
      attempt_id uuid, started_at timestamptz, ended_at timestamptz, duration_ms integer, response_status integer, response_body text,
      response_truncated boolean, failure_reason text, retry_in_ms float8)),
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
      cross join lateral (select from webhook_queue q where ${placeSql} and q.lease_id = r.lease_id for update) q),
  -- That what has ended leaves the queue, and what is tried again moves in it, is its trigger's part. No indexed column changes.
  recorded as (
    update webhook_deliveries d
    set attempt_count = d.attempt_count + 1,
        status = case when r.failure_reason is null then 'succeeded' when r.retry_in_ms is null or r.is_over then 'failed' else 'retrying' end,
        -- Its webhook was disabled while it was being sent: no attempt follows (specification 7.4.3).
        failure_reason = case when r.retry_in_ms is not null and r.is_over then 'webhook_disabled' else r.failure_reason end,
        last_response_status = r.response_status,
        next_attempt_at = case when not r.is_over then now() + make_interval(secs => r.retry_in_ms / 1000) end,
        lease_id = null, leased_until = null,
        completed_at = case when r.retry_in_ms is null or r.is_over then r.ended_at end, updated_at = r.ended_at, version = d.version + 1
    from held r
    where d.environment_id = r.environment_id and d.id = r.id
    returning d.environment_id, d.id, d.webhook_id, d.attempt_count, d.status, d.trigger, d.updated_at),
  attempts as (
    insert into webhook_delivery_attempts (environment_id, id, delivery_id, attempt_number, started_at, duration_ms, response_status,
      response_body, response_truncated, failure_reason)
    select d.environment_id, r.attempt_id, d.id, d.attempt_count, r.started_at, r.duration_ms, r.response_status, r.response_body,
      r.response_truncated, r.failure_reason
    from recorded d join results r on r.environment_id = d.environment_id and r.id = d.id),
  tallies as (
    select environment_id, webhook_id, max(updated_at) as last_at, max(updated_at) filter (where status = 'succeeded') as success_at,
      (count(*) filter (where status = 'failed' and trigger = 'event'))::integer as failed
    from recorded group by environment_id, webhook_id),
  noted as (
    update webhooks w
    set last_delivery_at = greatest(w.last_delivery_at, t.last_at), last_success_at = greatest(w.last_success_at, t.success_at),
        failed_event_count = case when t.success_at is null then w.failed_event_count + t.failed else 0 end
    from tallies t
    where w.environment_id = t.environment_id and w.id = t.webhook_id
    returning w.environment_id, w.id, w.failed_event_count)
  select d.id, d.environment_id, d.webhook_id, n.failed_event_count
  from recorded d left join noted n on n.environment_id = d.environment_id and n.id = d.webhook_id`;
