import { z } from 'zod';
import { Refusal } from '../../domain/refusal.js';
import { eventTypes } from '../../domain/events/catalogue.js';
import { mayReadEvent, reachOfDelivery } from '../../domain/reach/reach-of.js';
import { noReach } from '../../domain/reach/reach.js';
import { redeliver } from '../../domain/webhooks/webhooks.js';
import { isOneOf, matches } from '../../db/lists/conditions.js';
import type { Condition } from '../../db/lists/list-source.js';
import {
  deliveryStatuses,
  deliveryTriggers,
  failureReasons,
  inTroubleSql,
  isWaitingSql,
  visibleAttempts,
  type WebhookDeliveryAttemptRow,
  type WebhookDeliveryRow,
} from '../../db/tables/webhook_deliveries.js';
import { maxAttempts } from '../../outbox/webhooks/deliver.js';
import { equalTo, stamps, isoTime, timeRange, uuid } from '../fields.js';
import { resource } from '../declaration.js';
import { toMany, toOne } from '../links.js';

const responseStatus = z.string().regex(/^([1-9]xx|[1-9][0-9]{2})$/, 'must be a status such as 404, or a class such as 4xx');

/** Conditions on the last response: exact or by class. */
function respondedWith(values: readonly string[]) {
  const ranges = values.map((value) =>
    value.endsWith('xx') ? [Number(value[0]) * 100, Number(value[0]) * 100 + 99] : [Number(value), Number(value)],
  );
  const inTrouble = ranges.every(([from = 0]) => from >= 300);
  // What failed is noted by itself. By the index of statuses ("+ 0" keeps PostgreSQL from it) each would cost a stretch of the table.
  const status = `webhook_deliveries.last_response_status${inTrouble ? ' + 0' : ''}`;
  const condition = `(${ranges.map(() => `${status} between ? and ?`).join(' or ')})`;
  return matches(inTrouble ? `${condition} and ${inTroubleSql('webhook_deliveries')}` : condition, ranges.flat());
}

/** What is under way, and what failed, is little among all that is over, and is found by where that is noted. */
function havingStatus(values: readonly string[]): Condition {
  const status = isOneOf('status', values);
  const sql = values.every((value) => value === 'failed')
    ? inTroubleSql('webhook_deliveries')
    : values.every((value) => value === 'pending' || value === 'retrying')
      ? isWaitingSql('webhook_deliveries')
      : null;
  if (sql === null) return status;
  return (query, source) => {
    status(query, source);
    matches(sql)(query, source);
  };
}

export const webhook_delivery_attempts = resource<WebhookDeliveryAttemptRow>({
  type: 'webhook_delivery_attempt',
  path: 'webhook_delivery_attempts',
  routed: false,
  permissions: 'webhooks',
  description: 'One POST of a delivery and what came of it.',
  source: { visible: visibleAttempts },
  attributes: z.object({
    attempt_number: z.int(),
    started_at: isoTime,
    duration_ms: z.int(),
    response_status: z.int().nullable(),
    response_body: z.string().nullable(),
    response_truncated: z.boolean(),
    failure_reason: z.enum(failureReasons).nullable(),
  }),
  // What receivers answer quotes what they were sent.
  computed: { response_body: (row, _ctx, actor) => (mayReadEvent(actor, row.event_type as string) ? row.response_body : null) },
  reach: { of: () => noReach },
  relationships: { delivery: { kind: 'one', to: 'webhook_delivery', column: 'delivery_id', description: 'What it tried to deliver.' } },
  filters: {},
  sorts: {
    attempt_number: { expression: 'webhook_delivery_attempts.attempt_number', type: 'integer' },
    started_at: { expression: 'webhook_delivery_attempts.started_at', type: 'timestamptz' },
  },
  defaultSort: 'attempt_number',
});

export const webhook_deliveries = resource<WebhookDeliveryRow>({
  type: 'webhook_delivery',
  path: 'webhook_deliveries',
  permissions: 'webhooks',
  description: 'Events on their way to webhooks: at least once, unordered, deduplicated by event_id. Kept for 30 days.',
  attributes: z.object({
    status: z.enum(deliveryStatuses),
    event_id: uuid,
    event_type: z.string(),
    payload: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'The body as sent; null for whoever may not read the collection that the event tells of.' }),
    attempt_count: z.int(),
    max_attempts: z.int(),
    next_attempt_at: isoTime.nullable(),
    trigger: z.enum(deliveryTriggers),
    failure_reason: z.enum(failureReasons).nullable(),
    last_response_status: z.int().nullable(),
    completed_at: isoTime.nullable(),
    ...stamps,
  }),
  computed: {
    payload: (row, _ctx, actor) => (mayReadEvent(actor, row.event_type) ? (JSON.parse(row.payload) as unknown) : null),
    max_attempts: () => maxAttempts,
  },
  reach: { of: (_tx, row) => reachOfDelivery(row) },
  relationships: {
    webhook: toOne('webhook', 'Where it goes.'),
    attempts: toMany('webhook_delivery_attempt', 'delivery_id', 'What was tried.', { include: true }),
  },
  filters: {
    webhook: equalTo('webhook_id', uuid, 'To one of these webhooks (ids).'),
    status: {
      description: 'What became of it.',
      schema: z.enum(deliveryStatuses),
      condition: (_ctx, values) => havingStatus(values as string[]),
    },
    event_type: equalTo('event_type', z.enum(eventTypes as [string, ...string[]]), 'Of one of these event types.'),
    event_id: equalTo('event_id', uuid, 'Of one of these events.'),
    trigger: equalTo('trigger', z.enum(deliveryTriggers), 'What caused it.'),
    response_status: {
      description: 'The last response status, exact or by class.',
      schema: responseStatus,
      condition: (_ctx, values) => respondedWith(values as string[]),
    },
    created_at: timeRange('created_at', 'When it was made.'),
  },
  sorts: { created_at: { expression: 'webhook_deliveries.created_at', type: 'timestamptz' } },
  actions: {
    redeliver: {
      method: 'POST',
      description: 'Sends the same bytes and event_id again; answers the new delivery.',
      audit: 'redelivered',
      touch: 'control',
      answers: 'webhook_delivery',
      async run(tx, _actor, row) {
        const delivery = await redeliver(tx, row.id);
        if (!delivery) throw new Refusal({ status: 409, code: 'webhook_deleted', detail: 'The webhook of this delivery was deleted.' });
        return { row: delivery };
      },
    },
  },
  display: (row) => row.event_type,
});
