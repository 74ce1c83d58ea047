import { setTimeout as delay } from 'node:timers/promises';
import {
  changeWebhook,
  findWebhook,
  insertWebhook,
  removeWebhook,
  rotateWebhookSecret,
  type WebhookRow,
} from '../../db/tables/webhooks.js';
import {
  failPendingDeliveries,
  findDelivery,
  hastenRetries,
  insertDelivery,
  insertRedeliveries,
  type WebhookDeliveryRow,
} from '../../db/tables/webhook_deliveries.js';
import { insertEvent } from '../../db/tables/events.js';
import { boundedBy } from '../../lib/deadline.js';
import { uuidv7 } from '../../lib/random.js';
import type { Context } from '../context.js';
import { payloadText } from '../events/emit.js';
import type { EventData } from '../events/catalogue.js';
import type { WebhookInput } from './input.js';
import { mintSigningSecret, previousSecretLifetimeMs, webhookSecretAad } from './secrets.js';

// Every operation takes the context of a transaction (`transaction` in context.ts). Inputs have passed `webhookProblems`.

/** A webhook and its secret in plain: shown this once, never again (specification 7.1.2). */
export type WebhookWithSecret = { readonly webhook: WebhookRow; readonly signing_secret: string };

/** Deliveries that are failed in the transaction that disables their webhook; the loop fails the rest. */
const failAtOnce = 1000;
/** How many events `redeliverFailed` sends again at once. */
export const maxRedeliveries = 10_000;

/** Creates a webhook with a secret of its own, made unless it is given. */
export async function createWebhook(tx: Context, input: WebhookInput, given?: string): Promise<WebhookWithSecret> {
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const { signing_secret, ...secret } = mintSigningSecret(tx.crypto.sealer, webhookSecretAad(id), given);
  const webhook = await insertWebhook(tx.scope, {
    id,
    name: input.name,
    url: input.url,
    description: input.description ?? null,
    events: [...input.events],
    status: input.status ?? 'enabled',
    ...secret,
    created_at: now,
    updated_at: now,
  });
  return { webhook, signing_secret };
}

/**
 * Changes what is given of a webhook, whose row the transaction holds. Enabling or moving it resets its failures; events that occurred while it was disabled are
 * not sent. Disabled, its pending deliveries fail with `webhook_disabled` (specification 7.4.3); tests and redeliveries by hand remain possible.
 * Null when it is gone.
 */
export async function updateWebhook(tx: Context, before: WebhookRow, changes: Partial<WebhookInput>): Promise<WebhookRow | null> {
  const { id } = before;
  const { status, events, ...rest } = changes;
  const toggled = status !== undefined && status !== before.status;
  const moved = rest.url !== undefined && rest.url !== before.url;
  const webhook = await changeWebhook(tx.scope, id, {
    ...rest,
    ...(events && { events: [...events], past_events: [...new Set([...before.past_events, ...before.events])].sort() }),
    ...(toggled && { status, disabled_reason: null, failed_event_count: 0 }),
    ...((toggled || moved) && { failing_since: null, failed_attempt_count: 0, last_response_status: null, last_failure_reason: null }),
    updated_at: tx.clock.now(),
  });
  if (toggled && status === 'disabled') await failPendingDeliveries(tx.scope, id, tx.clock.now(), failAtOnce);
  return webhook;
}

/** Deletes a webhook: nothing is sent to it any more, and its deliveries follow in the background. Returns whether there was one. */
export const deleteWebhook = async (tx: Context, id: string): Promise<boolean> => removeWebhook(tx.scope, id);

/**
 * Gives the webhook a new secret, made unless it is given. From the commit on attempts are signed with it (specification 7.3.4); the old one
 * also signs the Standard Webhooks header for 24 hours. Null when there is no such webhook.
 */
export async function rotateSecret(tx: Context, id: string, given?: string): Promise<WebhookWithSecret | null> {
  const at = tx.clock.now();
  const { signing_secret, ...secret } = mintSigningSecret(tx.crypto.sealer, webhookSecretAad(id), given);
  const previous_secret_expires_at = new Date(at.getTime() + previousSecretLifetimeMs);
  const webhook = await rotateWebhookSecret(tx.scope, id, { ...secret, at, previous_secret_expires_at });
  return webhook && { webhook, signing_secret };
}

/** Sends `webhook.test` to one webhook, whether it subscribes to it or not, enabled or not. */
export async function sendTest(
  tx: Context,
  webhook: WebhookRow,
  triggered_by: EventData<'webhook.test'>['triggered_by'],
): Promise<WebhookDeliveryRow> {
  const at = tx.clock.now();
  const event_id = uuidv7(at.getTime());
  const payload = payloadText(
    { id: event_id, type: 'webhook.test', at, environment_id: tx.environment.id },
    {
      id: webhook.id,
      webhook_name: webhook.name,
      url: webhook.url,
      message: 'This is a test. It was sent by hand and reports no change.',
      triggered_by,
      sample: true,
      subscribed_events: webhook.events,
    },
  );
  await insertEvent(tx.scope, { id: event_id, event_type: 'webhook.test', occurred_at: at, body: payload });
  return insertDelivery(tx.scope, {
    id: uuidv7(at.getTime()),
    webhook_id: webhook.id,
    event_id,
    event_type: 'webhook.test',
    payload,
    trigger: 'test',
    at,
  });
}

/** Sends an event again, whatever became of it: a new delivery with the same bytes and `event_id`. Null when there is no such delivery, or its webhook is gone. */
export async function redeliver(tx: Context, delivery_id: string): Promise<WebhookDeliveryRow | null> {
  const before = await findDelivery(tx.scope, delivery_id);
  if (!before || !(await findWebhook(tx.scope, before.webhook_id))) return null;
  const at = tx.clock.now();
  const { webhook_id, event_id, event_type, payload } = before;
  return insertDelivery(tx.scope, { id: uuidv7(at.getTime()), webhook_id, event_id, event_type, payload, trigger: 'redelivery', at });
}

/**
 * Sends the events again that failed for good in the period (deliveries created from `since` to before `until`) and have neither succeeded since nor are
 * under way: each once. What waits there for another attempt is tried at once.
 * @returns how many deliveries that concerns; at {@link maxRedeliveries} there may be more, for another call
 */
export async function redeliverFailed(tx: Context, webhook_id: string, since: Date, until?: Date): Promise<number> {
  const at = tx.clock.now();
  const which = { webhook_id, since, until: until ?? new Date(at.getTime() + 1), at };
  const hastened = await hastenRetries(tx.scope, { ...which, limit: maxRedeliveries });
  return hastened + (await insertRedeliveries(tx.scope, { ...which, limit: maxRedeliveries - hastened }));
}

/** How long somebody who sends a test is kept waiting for the answer, and how often it is looked for. */
const [answerMs, firstPauseMs, longestPauseMs] = [5000, 40, 500];

/** Waits until the first attempt of a delivery is recorded, five seconds at most; it holds no transaction and no connection meanwhile. */
export async function awaitFirstAttempt({ scope }: Context, delivery_id: string): Promise<void> {
  const deadline = boundedBy(scope.deadline, answerMs);
  for (let pause = firstPauseMs; deadline.left() > 0; pause = Math.min(pause * 1.5, longestPauseMs)) {
    const delivery = await findDelivery(scope, delivery_id);
    if (!delivery || delivery.attempt_count > 0 || delivery.completed_at !== null) return;
    await delay(Math.min(pause, deadline.left()));
  }
}
