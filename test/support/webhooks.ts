import { setTimeout as delay } from 'node:timers/promises';
import { transaction, type Context } from '../../src/domain/context.js';
import { emit } from '../../src/domain/events/emit.js';
import type { EventData } from '../../src/domain/events/catalogue.js';
import { createWebhook, type WebhookWithSecret } from '../../src/domain/webhooks/webhooks.js';
import { findDelivery, type WebhookDeliveryAttemptRow, type WebhookDeliveryRow } from '../../src/db/tables/webhook_deliveries.js';
import { listAttempts, listDeliveries } from './deliveries.js';
import { uuidv7 } from '../../src/lib/random.js';

/** Settings with which six attempts take less than a second. */
export const quick = { WEBHOOK_RETRY_BASE_MS: '20', WEBHOOK_RETRY_FACTOR: '2', WEBHOOK_TIMEOUT_MS: '500' };

export const addWebhook = (
  ctx: Context,
  url: string,
  input: Partial<Parameters<typeof createWebhook>[1]> = {},
): Promise<WebhookWithSecret> => transaction(ctx, (tx) => createWebhook(tx, { name: 'Orders', url, events: ['*'], ...input }));

/** The `data` of a role: an event without any preparation. */
export function roleData(name = 'editor'): EventData<'role.created'> {
  const at = '2026-01-01T00:00:00.000Z';
  return { id: uuidv7(1), name, description: null, is_default: false, permissions: [], created_at: at, updated_at: at };
}

export const emitRoles = (ctx: Context, count = 1): Promise<void> =>
  transaction(ctx, async (tx) => {
    for (let i = 0; i < count; i++) await emit(tx, 'role.created', roleData(`role ${i}`));
  });

/** Waits for a condition that a query tells. */
export async function eventually<T>(look: () => Promise<T | null | undefined | false>, withinMs = 30_000, pauseMs = 10): Promise<T> {
  for (const started = performance.now(); ; await delay(pauseMs)) {
    const found = await look();
    if (found) return found;
    if (performance.now() - started > withinMs) throw new Error(`not within ${withinMs} ms`);
  }
}

/** All deliveries of a webhook once none of them is under way any more, oldest first. */
export const settledDeliveries = async (ctx: Context, webhook_id: string, count = 1, withinMs = 30_000): Promise<WebhookDeliveryRow[]> =>
  eventually(async () => {
    const rows = await listDeliveries(ctx.scope, { webhook_id }, { limit: 20_000 });
    return rows.length >= count && rows.every((row) => row.completed_at !== null) && rows.reverse();
  }, withinMs);

/** The delivery once it is over, with its attempts. */
export async function settledDelivery(
  ctx: Context,
  id: string,
): Promise<{ delivery: WebhookDeliveryRow; attempts: WebhookDeliveryAttemptRow[] }> {
  const delivery = await eventually(async () => {
    const row = await findDelivery(ctx.scope, id);
    return row?.completed_at ? row : null;
  });
  return { delivery, attempts: await listAttempts(ctx.scope, [id]) };
}
