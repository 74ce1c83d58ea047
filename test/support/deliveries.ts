// Deliveries and attempts as rows, for tests that look at more than the API shows.
import { table, type Scope } from '../../src/db/scope.js';
import type { DeliveryStatus, WebhookDeliveryAttemptRow, WebhookDeliveryRow } from '../../src/db/tables/webhook_deliveries.js';

/** Deliveries of a webhook, newest first. */
export async function listDeliveries(
  scope: Scope,
  filter: { webhook_id: string; status?: readonly DeliveryStatus[] },
  { limit }: { limit: number },
): Promise<WebhookDeliveryRow[]> {
  const query = table<WebhookDeliveryRow>(scope, 'webhook_deliveries').where('webhook_id', filter.webhook_id);
  if (filter.status) query.whereIn('status', [...filter.status]);
  const order = ['created_at', 'id'].map((column) => ({ column, order: 'desc' as const }));
  return (await query.orderBy(order).limit(limit).select('webhook_deliveries.*')) as WebhookDeliveryRow[];
}

/** The attempts of deliveries, oldest first within each. */
export async function listAttempts(scope: Scope, delivery_ids: readonly string[]): Promise<WebhookDeliveryAttemptRow[]> {
  const query = table<WebhookDeliveryAttemptRow>(scope, 'webhook_delivery_attempts').whereIn('delivery_id', [...delivery_ids]);
  return (await query.orderBy(['delivery_id', 'attempt_number']).select('*')) as WebhookDeliveryAttemptRow[];
}
