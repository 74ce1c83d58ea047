import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { insert, run, table, type Scope, type Statement } from '../scope.js';

export const deliveryStatuses = ['pending', 'retrying', 'succeeded', 'failed'] as const;

export const deliveryTriggers = ['event', 'test', 'redelivery'] as const;

/**
 * Why an attempt failed (specification 7.4.4). `internal_error`: the service couldn't make the request, e.g. because the sealed secret doesn't open.
 * `webhook_disabled` is a delivery's reason without an attempt.
 */
export const failureReasons = [
  'non_2xx',
  'timeout',
  'dns',
  'connect',
  'tls',
  'redirect',
  'blocked_address',
  'webhook_disabled',
  'internal_error',
] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];
export type DeliveryTrigger = (typeof deliveryTriggers)[number];
export type FailureReason = (typeof failureReasons)[number];

/** A row of `webhook_deliveries`. `payload` is the text that is sent. */
export type WebhookDeliveryRow = RecordRow & {
  webhook_id: string;
  event_id: string;
  event_type: string;
  payload: string;
  status: DeliveryStatus;
  trigger: DeliveryTrigger;
  /** Of the last attempt; null while there was none and after a success. */
  failure_reason: FailureReason | null;
  attempt_count: number;
  /** Triggers keep `webhook_queue` in step with it. */
  next_attempt_at: Date | null;
  last_response_status: number | null;
  completed_at: Date | null;
};

/** A row of `webhook_delivery_attempts`: one POST and what came of it. `response_body` is null when there was no answer. */
export type WebhookDeliveryAttemptRow = {
  environment_id: string;
  id: string;
  delivery_id: string;
  attempt_number: number;
  started_at: Date;
  duration_ms: number;
  response_status: number | null;
  response_body: string | null;
  response_truncated: boolean;
  failure_reason: FailureReason | null;
  /** What its delivery tells of; only in rows of {@link visibleAttempts}. */
  event_type?: string;
};

export const visibleAttempts = (scope: Scope): Knex.QueryBuilder =>
  table<WebhookDeliveryAttemptRow>(scope, 'webhook_delivery_attempts').select(
    scope.knex.raw(`(select d.event_type from webhook_deliveries d
      where d.environment_id = webhook_delivery_attempts.environment_id and d.id = webhook_delivery_attempts.delivery_id) as event_type`),
  ) as unknown as Knex.QueryBuilder;

/** True of what failed for good or was refused once, and of little else: leads to such deliveries, whose own columns then decide. `d` names webhook_deliveries. */
export const inTroubleSql = (d: string): string =>
  `(${d}.environment_id, ${d}.webhook_id, ${d}.created_at, ${d}.id) in (select t.environment_id, t.webhook_id, t.created_at, t.delivery_id from troubled_deliveries t)`;

/** True of what waits for an attempt, or is being attempted. */
export const isWaitingSql = (d: string): string =>
  `(${d}.environment_id, ${d}.webhook_id, ${d}.next_attempt_at, ${d}.id) in
     (select q.environment_id, q.webhook_id, q.next_attempt_at, q.delivery_id from webhook_queue q)`;

export const { find: findDelivery } = rowFunctions<WebhookDeliveryRow>('webhook_deliveries');

/** Stores a delivery that is due at once, by the database's clock, and wakes the outbox at commit. */
export async function insertDelivery(
  scope: Scope,
  row: Pick<WebhookDeliveryRow, 'id' | 'webhook_id' | 'event_id' | 'event_type' | 'payload' | 'trigger'> & { at: Date },
): Promise<WebhookDeliveryRow> {
  const { at, ...rest } = row;
  const now = scope.knex.raw('now()') as never;
  const stored = await insert<WebhookDeliveryRow>(scope, 'webhook_deliveries', {
    ...rest,
    next_attempt_at: now,
    created_at: at,
    updated_at: at,
  });
  await wakeOutbox(scope);
  return stored;
}

/** Tells the delivery loops of all replicas, at commit, that there is something to do. */
async function wakeOutbox(scope: Scope): Promise<void> {
  await scope.knex.raw(`select notify_after_commit('outbox', 'webhook')`);
}

/** Deliveries of a webhook that were made in a period: as many as `limit`, at the time `at`. */
type Redelivered = { webhook_id: string; since: Date; until: Date; at: Date; limit: number };

/** Runs what queues deliveries anew. @returns how many */
async function queue(scope: Scope, statement: Statement, { webhook_id, since, until, at, limit }: Redelivered): Promise<number> {
  const rows = await run<{ id: string }>(scope, statement, [webhook_id, since, until, at, limit]);
  if (rows.length > 0) await wakeOutbox(scope);
  return rows.length;
}

/**
 * One new delivery for each event that failed for good in the period and has neither succeeded nor is under way; the oldest first, up to `limit`.
 * @returns how many
 */
export const insertRedeliveries = (scope: Scope, which: Redelivered): Promise<number> =>
  queue(
    scope,
    {
      name: 'webhook_deliveries.redeliver_failed',
      text: `insert into webhook_deliveries
               (environment_id, id, webhook_id, event_id, event_type, payload, trigger, next_attempt_at, created_at, updated_at)
             select environment_id, uuid_v7($5::timestamptz), webhook_id, event_id, event_type, payload, 'redelivery', now(), $5, $5
             from (select distinct on (f.event_id) f.*
                   from webhook_deliveries f
                   where f.environment_id = $1 and f.webhook_id = $2 and f.status = 'failed' and f.created_at >= $3 and f.created_at < $4
                     and ${inTroubleSql('f')}
                     and not exists (select from webhook_deliveries o
                                     where o.environment_id = $1 and o.event_id = f.event_id and o.webhook_id = $2 and o.status <> 'failed')
                   order by f.event_id, f.created_at
                   limit $6) failed
             returning id`,
    },
    which,
  );

/**
 * Has what waits for another attempt tried at once: deliveries of the period, up to `limit`; one that is being attempted is left alone.
 * @returns how many
 */
export const hastenRetries = (scope: Scope, which: Redelivered): Promise<number> =>
  queue(
    scope,
    {
      name: 'webhook_deliveries.hasten',
      text: `update webhook_deliveries d set next_attempt_at = now(), updated_at = $5, version = version + 1
             where d.environment_id = $1 and d.id = any (array(
               select q.delivery_id from webhook_queue q
               join webhook_deliveries r on r.environment_id = q.environment_id and r.id = q.delivery_id
               where q.environment_id = $1 and q.webhook_id = $2 and q.next_attempt_at > now() and (q.leased_until is null or q.leased_until <= now())
                 and r.status = 'retrying' and r.created_at >= $3 and r.created_at < $4
               limit $6 for update of q skip locked))
             returning d.id`,
    },
    which,
  );

/** What {@link insertRedeliveries} and {@link hastenRetries} would take from each of some times on, counted up to one beyond `limit`. */
export async function countRedeliveries(
  scope: Scope,
  webhook_id: string,
  since: readonly Date[],
  limit: number,
): Promise<{ failed: number; retrying: number }[]> {
  const text = `with period as (select min(since) as since from unnest($3::timestamptz[]) as since),
      failed as materialized (
        select d.event_id, max(d.created_at) as created_at
        from (select t.delivery_id from troubled_deliveries t
              where t.environment_id = $1 and t.webhook_id = $2 and t.created_at >= (select since from period)
              order by t.created_at desc limit $4 + 1) t
        join webhook_deliveries d on d.environment_id = $1 and d.id = t.delivery_id
        where d.status = 'failed' and not exists (
          select from webhook_deliveries o
          where o.environment_id = $1 and o.event_id = d.event_id and o.webhook_id = $2 and o.status <> 'failed')
        group by d.event_id),
      retrying as materialized (
        select d.created_at from webhook_queue q join webhook_deliveries d on d.environment_id = q.environment_id and d.id = q.delivery_id
        where q.environment_id = $1 and q.webhook_id = $2 and q.next_attempt_at > now()
          and d.status = 'retrying' and d.created_at >= (select since from period)
        limit $4 + 1)
      select (select count(*)::int from failed where created_at >= p.since) as failed,
        (select count(*)::int from retrying where created_at >= p.since) as retrying
      from unnest($3::timestamptz[]) with ordinality as p (since, i) order by p.i`;
  return run<{ failed: number; retrying: number }>(scope, { name: 'webhook_deliveries.count_redeliveries', text }, [
    webhook_id,
    [...since],
    limit,
  ]);
}

/** What ends a delivery whose webhook was disabled, as the changes of an UPDATE; `at` is the parameter with the time. */
export const failedAsDisabledSql = (at: `$${number}`): string => `
  status = 'failed', failure_reason = 'webhook_disabled', next_attempt_at = null,
  completed_at = ${at}, updated_at = ${at}, version = version + 1`;

/** Fails pending deliveries of a disabled webhook (specification 7.4.3), up to `limit`; leased ones end with their attempt. @returns how many */
export async function failPendingDeliveries(scope: Scope, webhook_id: string, at: Date, limit: number): Promise<number> {
  const text = `update webhook_deliveries d
      set ${failedAsDisabledSql('$3')}
      where d.environment_id = $1 and d.id = any (array(
        select q.delivery_id from webhook_queue q
        where q.environment_id = $1 and q.webhook_id = $2 and (q.leased_until is null or q.leased_until <= now())
        limit $4 for update skip locked))
      returning d.id`;
  const rows = await run<{ id: string }>(scope, { name: 'webhook_deliveries.fail_pending', text }, [webhook_id, at, limit]);
  return rows.length;
}
