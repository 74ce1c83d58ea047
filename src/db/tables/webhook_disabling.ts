import type { Knex } from 'knex';
import { runSystem } from '../system.js';
import { failedAsDisabledSql } from './webhook_deliveries.js';
import type { DisabledReason } from './webhooks.js';

/** Disables an enabled webhook, as the service itself. @returns its name, where it was enabled */
export async function disableWebhook(
  knex: Knex,
  which: { environment_id: string; webhook_id: string },
  disabled_reason: DisabledReason,
  at: Date,
): Promise<string | null> {
  const text = `update webhooks set status = 'disabled', disabled_reason = $3, updated_at = $4, version = version + 1
      where environment_id = $1 and id = $2 and status = 'enabled' returning name`;
  const rows = await runSystem<{ name: string }>(knex, { name: 'webhooks.disable', text }, [
    which.environment_id,
    which.webhook_id,
    disabled_reason,
    at,
  ]);
  return rows[0]?.name ?? null;
}

/**
 * Ends deliveries of a disabled webhook that an event caused (specification 7.4.3), up to `limit`; what was sent by hand stays. A delivery leased to
 * somebody else ends with its attempt.
 * @param lease_id of the caller's own claim
 */
export async function failEventDeliveries(
  knex: Knex,
  which: { environment_id: string; webhook_id: string; lease_id: string | null },
  at: Date,
  limit: number,
): Promise<number> {
  const text = `update webhook_deliveries d
      set ${failedAsDisabledSql('$4')}
      where d.environment_id = $1 and d.id = any (array(
        select q.delivery_id from webhook_queue q
        where q.environment_id = $1 and q.webhook_id = $2 and q.by_event
          and (q.leased_until is null or q.leased_until <= now() or q.lease_id = $3)
        limit $5 for update skip locked))
      returning d.id`;
  const rows = await runSystem<{ id: string }>(knex, { name: 'webhook_deliveries.fail_events', text }, [
    which.environment_id,
    which.webhook_id,
    which.lease_id,
    at,
    limit,
  ]);
  return rows.length;
}
