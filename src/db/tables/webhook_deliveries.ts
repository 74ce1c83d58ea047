import type { Knex } from 'knex';
import { insert, run, table, type Scope } from '../scope.js';

/** States of a delivery. */
export const deliveryStatuses = ['pending', 'retrying', 'succeeded', 'failed'] as const;

/** What caused a delivery. */
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
export type WebhookDeliveryRow = {
  environment_id: string;
  id: string;
  webhook_id: string;
  event_id: string;
  event_type: string;
  payload: string;
  status: DeliveryStatus;
  trigger: DeliveryTrigger;
  /** Of the last attempt; null while there was none and after a success. */
  failure_reason: FailureReason | null;
  attempt_count: number;
  next_attempt_at: Date | null;
  lease_id: string | null;
  leased_until: Date | null;
  last_response_status: number | null;
  completed_at: Date | null;
  created_at: Date;
  updated_at: Date;
  version: number;
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
};

/** What a list of deliveries is narrowed by. */
export type DeliveryFilter = {
  readonly webhook_id?: string | undefined;
  readonly status?: readonly DeliveryStatus[] | undefined;
  readonly event_type?: readonly string[] | undefined;
  readonly event_id?: string | undefined;
  readonly trigger?: readonly DeliveryTrigger[] | undefined;
  /** The last response's status, exactly (`404`) or by class (`4xx`). */
  readonly response_status?: string | undefined;
  /** From this time on. */
  readonly since?: Date | undefined;
  /** Before this time. */
  readonly until?: Date | undefined;
};

/** Where a page of deliveries starts: the last row of the page before. */
export type DeliveryCursor = { readonly created_at: Date; readonly id: string };

const responseClass = /^([1-9])xx$/;

function filtered(scope: Scope, filter: DeliveryFilter): Knex.QueryBuilder<WebhookDeliveryRow, WebhookDeliveryRow[]> {
  const query = table<WebhookDeliveryRow>(scope, 'webhook_deliveries');
  if (filter.webhook_id !== undefined) query.where('webhook_id', filter.webhook_id);
  if (filter.status !== undefined) query.whereIn('status', [...filter.status]);
  if (filter.event_type !== undefined) query.whereIn('event_type', [...filter.event_type]);
  if (filter.event_id !== undefined) query.where('event_id', filter.event_id);
  if (filter.trigger !== undefined) query.whereIn('trigger', [...filter.trigger]);
  if (filter.since !== undefined) query.where('created_at', '>=', filter.since);
  if (filter.until !== undefined) query.where('created_at', '<', filter.until);
  if (filter.response_status !== undefined) {
    const first = responseClass.exec(filter.response_status)?.[1];
    if (first === undefined) query.where('last_response_status', Number(filter.response_status));
    else query.whereBetween('last_response_status', [Number(first) * 100, Number(first) * 100 + 99]);
  }
  return query;
}

/**
 * Deliveries, newest first.
 * @param page `after` goes on towards older ones, `before` back towards newer ones (still newest first); `limit` rows at most
 */
export async function listDeliveries(
  scope: Scope,
  filter: DeliveryFilter,
  page: { limit: number; after?: DeliveryCursor | undefined; before?: DeliveryCursor | undefined },
): Promise<WebhookDeliveryRow[]> {
  const query = filtered(scope, filter).limit(page.limit).select('webhook_deliveries.*');
  const cursor = page.before ?? page.after;
  if (cursor) query.whereRaw(`(created_at, id) ${page.before ? '>' : '<'} (?, ?)`, [cursor.created_at, cursor.id]);
  const direction = page.before ? 'asc' : 'desc';
  const rows = (await query.orderBy([
    { column: 'created_at', order: direction },
    { column: 'id', order: direction },
  ])) as WebhookDeliveryRow[];
  return page.before ? rows.reverse() : rows;
}

/** The delivery of the id, or null. */
export async function findDelivery(scope: Scope, id: string): Promise<WebhookDeliveryRow | null> {
  return (await table<WebhookDeliveryRow>(scope, 'webhook_deliveries').where({ id }).first()) ?? null;
}

/** The attempts of deliveries, oldest first within each. */
export async function listAttempts(scope: Scope, delivery_ids: readonly string[]): Promise<WebhookDeliveryAttemptRow[]> {
  return table<WebhookDeliveryAttemptRow>(scope, 'webhook_delivery_attempts')
    .whereIn('delivery_id', [...delivery_ids])
    .orderBy(['delivery_id', 'attempt_number'])
    .select('*') as unknown as Promise<WebhookDeliveryAttemptRow[]>;
}

/** Stores a delivery that is due at once, by the database's clock, and wakes the outbox at commit. */
export async function insertDelivery(
  scope: Scope,
  row: Pick<WebhookDeliveryRow, 'id' | 'webhook_id' | 'event_id' | 'event_type' | 'payload' | 'trigger'> & { at: Date },
): Promise<WebhookDeliveryRow> {
  const { at, ...rest } = row;
  const due = scope.knex.raw('now()') as never;
  const stored = await insert<WebhookDeliveryRow>(scope, 'webhook_deliveries', {
    ...rest,
    next_attempt_at: due,
    created_at: at,
    updated_at: at,
  });
  await wakeOutbox(scope);
  return stored;
}

/** Tells the delivery loops of all replicas, at commit, that there is something to do. */
export async function wakeOutbox(scope: Scope): Promise<void> {
  await scope.knex.raw(`select pg_notify('outbox', 'webhook')`);
}

/**
 * One new delivery for each event that failed for good in the period and has neither succeeded nor is under way; the oldest first, up to `limit`.
 * @returns how many
 */
export async function insertRedeliveries(
  scope: Scope,
  which: { webhook_id: string; since: Date; until: Date; at: Date; limit: number },
): Promise<number> {
  const rows = await run<{ id: string }>(
    scope,
    {
      name: 'webhook_deliveries.redeliver_failed',
      text: `insert into webhook_deliveries
               (environment_id, id, webhook_id, event_id, event_type, payload, trigger, next_attempt_at, created_at, updated_at)
             select environment_id, uuid_v7($5::timestamptz), webhook_id, event_id, event_type, payload, 'redelivery', now(), $5, $5
             from (select distinct on (f.event_id) f.*
                   from webhook_deliveries f
                   where f.environment_id = $1 and f.webhook_id = $2 and f.status = 'failed' and f.created_at >= $3 and f.created_at < $4
                     and not exists (select from webhook_deliveries o
                                     where o.environment_id = $1 and o.event_id = f.event_id and o.webhook_id = $2 and o.status <> 'failed')
                   order by f.event_id, f.created_at
                   limit $6) failed
             returning id`,
    },
    [which.webhook_id, which.since, which.until, which.at, which.limit],
  );
  if (rows.length > 0) await wakeOutbox(scope);
  return rows.length;
}

/** Fails pending deliveries of a disabled webhook (specification 7.4.3), up to `limit`; leased ones end with their attempt. @returns how many */
export async function failPendingDeliveries(scope: Scope, webhook_id: string, at: Date, limit: number): Promise<number> {
  const rows = await run<{ id: string }>(
    scope,
    {
      name: 'webhook_deliveries.fail_pending',
      text: `update webhook_deliveries d
             set status = 'failed', failure_reason = 'webhook_disabled', next_attempt_at = null, lease_id = null, leased_until = null,
                 completed_at = $3, updated_at = $3, version = version + 1
             where d.environment_id = $1 and d.id = any (array(
               select p.id from webhook_deliveries p
               where p.environment_id = $1 and p.webhook_id = $2 and p.next_attempt_at is not null
                 and (p.leased_until is null or p.leased_until <= now())
               limit $4 for update skip locked))
             returning d.id`,
    },
    [webhook_id, at, limit],
  );
  return rows.length;
}
