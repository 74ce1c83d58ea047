import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, update, type Scope } from '../scope.js';
import { runSystem } from '../system.js';
import type { FailureReason } from './webhook_deliveries.js';

/** Why the service disabled a webhook by itself: the receiver answered 410, or 100 events in a row failed for good. */
const disabledReasons = ['receiver_gone', 'consecutive_failures'] as const;

export type DisabledReason = (typeof disabledReasons)[number];

/** A row of `webhooks`. Secrets are sealed; the previous one signs along until it expires (specification 7.3.4). */
export type WebhookRow = RecordRow & {
  name: string;
  url: string;
  description: string | null;
  events: string[];
  /** Event types that it was subscribed to before, or has deliveries of. */
  past_events: string[];
  status: 'enabled' | 'disabled';
  /** Null when a person disabled it. */
  disabled_reason: DisabledReason | null;
  secret_sealed: Buffer;
  /** The last four characters of the secret. */
  secret_hint: string;
  secret_rotated_at: Date | null;
  previous_secret_sealed: Buffer | null;
  previous_secret_expires_at: Date | null;
  /** How many events in a row have failed for good. */
  failed_event_count: number;
  last_delivery_at: Date | null;
  last_success_at: Date | null;
  /** Of the attempts in a row that failed until now: since when, and how many; null and 0 after one that didn't. */
  failing_since: Date | null;
  failed_attempt_count: number;
  /** Of the last attempt. */
  last_response_status: number | null;
  last_failure_reason: FailureReason | null;
};

/** The deliveries of a webhook that is removed follow in the background. */
export const {
  find: findWebhook,
  insert: insertWebhook,
  update: changeWebhook,
  remove: removeWebhook,
} = rowFunctions<WebhookRow>('webhooks');

/** How many enabled webhooks name the event type, or `*`, among theirs. */
export async function countSubscriptions(scope: Scope): Promise<{ event_type: string; count: number }[]> {
  const text = `select event_type, count(*)::int as count
      from webhooks w cross join lateral unnest(w.events) as event_type
      where w.environment_id = $1 and w.status = 'enabled' group by event_type`;
  return run<{ event_type: string; count: number }>(scope, { name: 'webhooks.count_subscriptions', text }, []);
}

/** The enabled webhooks with what they subscribe to. */
export const listSubscriptions = async (scope: Scope): Promise<Pick<WebhookRow, 'id' | 'events'>[]> =>
  table<WebhookRow>(scope, 'webhooks')
    .where({ status: 'enabled' } as never)
    .select('id', 'events') as unknown as Promise<Pick<WebhookRow, 'id' | 'events'>[]>;

/** Replaces the secret and keeps the old one as the previous one, in one UPDATE, so that concurrent rotations each leave a consistent pair. */
export async function rotateWebhookSecret(
  scope: Scope,
  id: string,
  next: { secret_sealed: Buffer; secret_hint: string; at: Date; previous_secret_expires_at: Date },
): Promise<WebhookRow | null> {
  const { at, ...secret } = next;
  return update<WebhookRow>(
    scope,
    'webhooks',
    { id },
    { ...secret, previous_secret_sealed: scope.knex.raw('secret_sealed') as never, secret_rotated_at: at, updated_at: at },
  );
}

/** What a webhook knows of how it is doing. */
const conditionColumns = [
  'id',
  'name',
  'url',
  'status',
  'disabled_reason',
  'failing_since',
  'failed_attempt_count',
  'last_response_status',
  'last_failure_reason',
] as const;

/** A webhook as somebody sees it who asks how the service is doing, with the slug of its environment. */
export type WatchedWebhook = Pick<WebhookRow, (typeof conditionColumns)[number]> & { readonly environment: string };

/** Webhooks of all environments that are enabled, or that the service disabled, those that were used last first. */
export async function listWatchedWebhooks(knex: Knex, limit: number): Promise<WatchedWebhook[]> {
  const text = `select ${conditionColumns.map((name) => `w.${name}`).join(', ')}, e.slug as environment
    from webhooks w join environments e on e.id = w.environment_id
    where w.status = 'enabled' or w.disabled_reason is not null
    order by w.last_delivery_at desc nulls last, w.id limit $1`;
  return runSystem<WatchedWebhook>(knex, { name: 'webhooks.watched', text }, [limit]);
}
