import type { Knex } from 'knex';
import { runSystem } from '../system.js';
import type { WebhookRow } from './webhooks.js';
import type { WebhookDeliveryRow } from './webhook_deliveries.js';

// The queue of webhook deliveries: what is due, apart from the history (`webhook_deliveries`), whose triggers fill and empty it. It works for all
// environments together, so these statements go through the unscoped door. Leases and due times follow the database's
// clock: replicas whose clocks differ still agree on who holds what.

/** A webhook that has something due, and since when. */
export type DueWebhook = { readonly environment_id: string; readonly webhook_id: string; readonly due_at: Date };

/** The webhook of claimed deliveries, shared by all of one claim. Its columns are null when it is gone. */
export type ClaimedWebhook = { readonly environment_id: string; readonly id: string } & {
  readonly [Column in 'url' | 'secret_sealed' | 'previous_secret_sealed' | 'previous_secret_expires_at' | 'status']:
    WebhookRow[Column] | null;
};

export type ClaimedDelivery = Pick<WebhookDeliveryRow, 'id' | 'event_id' | 'event_type' | 'payload' | 'trigger' | 'attempt_count'> & {
  readonly next_attempt_at: Date;
  readonly webhook: ClaimedWebhook;
};

/** A row of a claim: one of the webhooks asked for (`id` null), or a delivery. `place` counts the webhooks asked for from 1. */
type ClaimRow = { readonly place: number } & (
  (Omit<ClaimedWebhook, 'environment_id' | 'id'> & { readonly id: null }) | Omit<ClaimedDelivery, 'webhook'>
);

/** How far back the quick query goes; what is older (backlogs, missed rows) is found by the full scan. */
const recentSeconds = 60;

/**
 * The quick query: webhooks with something that fell due in the last minute. Its cost doesn't depend on how many dead index entries a long
 * transaction keeps alive. `full` says that there were `limit` rows: there may be more webhooks behind them.
 */
export async function findRecentlyDue(knex: Knex, limit: number): Promise<{ due: DueWebhook[]; full: boolean }> {
  const text = 'select * from recently_due_webhooks($1, $2)';
  const rows = await runSystem<DueWebhook & { seen: number }>(knex, { name: 'webhook_queue.recently_due', text }, [limit, recentSeconds]);
  return { due: rows, full: (rows[0]?.seen ?? 0) >= limit };
}

/**
 * The full scan: jumps through the queue from webhook to webhook, one index probe each, starting behind `after`. Returns up to `limit`
 * webhooks that wait for something, due or not yet.
 */
export async function findWaiting(
  knex: Knex,
  after: { environment_id: string; webhook_id: string },
  limit: number,
): Promise<(DueWebhook & { is_due: boolean })[]> {
  const text = 'select * from waiting_webhooks($1, $2, $3)';
  return runSystem(knex, { name: 'webhook_queue.waiting', text }, [after.environment_id, after.webhook_id, limit]);
}

/** Milliseconds until something falls due (never negative), or null when nothing waits. Claimed deliveries don't count. */
export async function millisecondsToNextDue(knex: Knex): Promise<number | null> {
  const text = 'select extract(epoch from next_due_webhook_delivery() - now())::float8 * 1000 as ms';
  const [row] = await runSystem<{ ms: number | null }>(knex, { name: 'webhook_queue.next_due', text }, []);
  return row?.ms == null ? null : Math.max(0, row.ms);
}

/** Seconds for which the oldest unclaimed due delivery has waited; 0 when none waits. */
export async function oldestDueSeconds(knex: Knex): Promise<number> {
  const text = 'select extract(epoch from now() - oldest_due_webhook_delivery())::float8 as seconds';
  const [row] = await runSystem<{ seconds: number | null }>(knex, { name: 'webhook_queue.oldest_due', text }, []);
  return row?.seconds ?? 0;
}

/**
 * Claims due deliveries, the oldest of each webhook first: `limit` of them, from `due_at` on. The claim is a lease of `leaseMs` under `lease_id`
 * (the fencing token); rows that another replica is claiming are skipped. (A function of the database.)
 */
export async function claimDeliveries(
  knex: Knex,
  claims: readonly (DueWebhook & { limit: number })[],
  lease: { lease_id: string; leaseMs: number },
): Promise<ClaimedDelivery[]> {
  const text = 'select * from lease_due_deliveries($1::uuid[], $2::uuid[], $3::timestamptz[], $4::integer[], $5, $6)';
  const rows = await runSystem<ClaimRow>(knex, { name: 'webhook_queue.claim', text }, [
    claims.map((one) => one.environment_id),
    claims.map((one) => one.webhook_id),
    claims.map((one) => one.due_at),
    claims.map((one) => one.limit),
    lease.lease_id,
    lease.leaseMs,
  ]);
  return deliveriesOf(claims, rows).sort(
    (one, other) => one.next_attempt_at.getTime() - other.next_attempt_at.getTime() || (one.id < other.id ? -1 : 1),
  );
}

const gone = { url: null, secret_sealed: null, previous_secret_sealed: null, previous_secret_expires_at: null, status: null };

function deliveriesOf(claims: readonly DueWebhook[], rows: readonly ClaimRow[]): ClaimedDelivery[] {
  const webhooks = claims.map(({ environment_id, webhook_id }): ClaimedWebhook => ({ environment_id, id: webhook_id, ...gone }));
  for (const row of rows) {
    if (row.id !== null) continue;
    const { url, secret_sealed, previous_secret_sealed, previous_secret_expires_at, status } = row;
    const { environment_id, id } = webhooks[row.place - 1] as ClaimedWebhook;
    webhooks[row.place - 1] = { environment_id, id, url, secret_sealed, previous_secret_sealed, previous_secret_expires_at, status };
  }
  const deliveries: ClaimedDelivery[] = [];
  for (const row of rows) {
    if (row.id === null) continue;
    const { id, event_id, event_type, payload, trigger, attempt_count, next_attempt_at } = row;
    const webhook = webhooks[row.place - 1] as ClaimedWebhook;
    deliveries.push({ id, event_id, event_type, payload, trigger, attempt_count, next_attempt_at, webhook });
  }
  return deliveries;
}

/** The row `q` of the queue that belongs to the delivery `d`. */
export const queueRowSql = `q.environment_id = d.environment_id and q.webhook_id = d.webhook_id and q.next_attempt_at = d.next_attempt_at and q.delivery_id = d.id`;

/** The key of a claimed delivery, and its lease. */
export type Held = { readonly environment_id: string; readonly id: string; readonly lease_id: string };

/** Gives claimed deliveries back unsent and wakes the other replicas. */
export async function releaseDeliveries(knex: Knex, held: readonly Held[]): Promise<void> {
  const text = `with released as (
        update webhook_queue q set lease_id = null, leased_until = null
        from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as h (environment_id, id, lease_id)
          join webhook_deliveries d on d.environment_id = h.environment_id and d.id = h.id
        where ${queueRowSql} and q.lease_id = h.lease_id
        returning q.delivery_id)
      select notify_after_commit('outbox', 'webhook') from (select count(*) from released) r (n) where n > 0`;
  await runSystem(knex, { name: 'webhook_queue.release', text }, [
    held.map((one) => one.environment_id),
    held.map((one) => one.id),
    held.map((one) => one.lease_id),
  ]);
}
