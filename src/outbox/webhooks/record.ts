import type { Deps } from '../../domain/context.js';
import { noOrigin } from '../../domain/origin.js';
import { noteSecurityEvent, recordOwnDeed } from '../../domain/audit/security-trail.js';
import { disableWebhook, failEventDeliveries } from '../../db/tables/webhook_disabling.js';
import type { ClaimedDelivery } from '../../db/tables/webhook_queue.js';
import { recordWebhookAttempts, type AttemptResult, type NotableResult } from '../../db/tables/webhook_recording.js';
import { uuidv7 } from '../../lib/random.js';
import type { DestinationKey, Job } from '../queue/queue.js';
import type { Attempt } from './deliver.js';

/** Events in a row that failed for good, after which a webhook is disabled (specification 7.4.3). */
const failedEventsToDisable = 100;
/** A disabled webhook's deliveries are ended up to so many at once; the rest ends as it falls due. */
const atOnce = 1000;

export type WebhookJob = Job & { readonly delivery: ClaimedDelivery };

const resultRow = ({ job, result }: { job: WebhookJob; result: Attempt }): AttemptResult => ({
  environment_id: job.destination.environment_id,
  id: job.delivery.id,
  webhook_id: job.destination.id,
  by_event: job.delivery.trigger === 'event',
  lease_id: job.lease_id,
  attempt_id: uuidv7(result.startedAt.getTime()),
  started_at: result.startedAt,
  ended_at: result.endedAt,
  duration_ms: Math.round(result.durationMs),
  response_status: result.response_status,
  response_body: result.response_body,
  response_truncated: result.response_truncated,
  failure_reason: result.failure_reason,
  retry_in_ms: result.retry_in_ms,
});

/**
 * Records attempts. Those that may disable their webhook (410; the hundredth failed event in a row) do so in the same transaction, and end
 * what was pending for it.
 */
export async function recordDeliveries(deps: Deps, results: readonly { job: WebhookJob; result: Attempt }[]): Promise<void> {
  const { logger } = deps;
  const { knex } = deps.db;
  const rows = results.map(resultRow);
  const mayDisable = results.some(({ result }) => !result.ok && result.retry_in_ms === null);
  const disabled: (() => void)[] = [];
  const notable = mayDisable
    ? await knex.transaction(async (trx) => {
        const found = await recordWebhookAttempts(trx, rows);
        disabled.push(...(await disableFailing(deps, trx, results, found)));
        return found;
      })
    : await recordWebhookAttempts(knex, rows);
  for (const tell of disabled) tell();
  countOutcomes(deps, results);
  noteBlocked(deps, results);
  // Another process has taken over since (e.g. this one was suspended): its result counts, this one was a duplicate.
  for (const { id, is_lost } of notable)
    if (is_lost) logger.warn({ event: 'webhook.lease_lost', delivery_id: id }, 'another process has taken over a delivery');
}

/** Counts how attempts went: one addition for each webhook and outcome, since those of one claim share the object that names their webhook. */
function countOutcomes({ metrics }: Pick<Deps, 'metrics'>, results: readonly { job: WebhookJob; result: Attempt }[]): void {
  const none = () => new Map<DestinationKey, number>();
  const tallies = { succeeded: none(), failed: none(), retrying: none() };
  for (const { job, result } of results) {
    const tally = tallies[result.ok ? 'succeeded' : result.retry_in_ms === null ? 'failed' : 'retrying'];
    tally.set(job.destination, (tally.get(job.destination) ?? 0) + 1);
  }
  for (const outcome of ['succeeded', 'failed', 'retrying'] as const) {
    let all = 0;
    for (const [{ environment_id }, count] of tallies[outcome]) {
      if (outcome !== 'retrying') metrics.daily.add(environment_id, 'deliveries', outcome, count);
      metrics.daily.add(environment_id, 'delivery_attempts', outcome === 'succeeded' ? 'succeeded' : 'failed', count);
      all += count;
    }
    if (all > 0) metrics.deliveries.inc({ queue: 'webhook', outcome }, all);
  }
}

/** Records a security event for deliveries to a blocked address: the URL names a private one, or its host resolves to one now. */
function noteBlocked(deps: Deps, results: readonly { job: WebhookJob; result: Attempt }[]): void {
  for (const { job, result } of results) {
    if (result.failure_reason !== 'blocked_address') continue;
    const { environment_id, id: webhook_id } = job.destination;
    noteSecurityEvent({ ...deps, environment: { id: environment_id } }, 'webhook.target_blocked', {
      actor: { actor_kind: 'system', actor_id: null, display: null },
      target: { target_type: 'webhook', target_id: webhook_id },
      origin: noOrigin,
      reason: result.failure_reason,
      detail: { delivery_id: job.delivery.id },
    });
  }
}

/** @returns what writes the lines of the log, once that is committed */
async function disableFailing(
  deps: Deps,
  trx: Parameters<typeof disableWebhook>[0],
  results: readonly { job: WebhookJob; result: Attempt }[],
  notable: readonly NotableResult[],
): Promise<(() => void)[]> {
  const { clock, logger } = deps;
  const logged: (() => void)[] = [];
  const gone = new Set(results.filter(({ result }) => result.response_status === 410).map(({ job }) => job.delivery.id));
  const seen = new Set<string>();
  for (const { id, environment_id, webhook_id, is_lost, failed_event_count } of notable) {
    if (is_lost) continue;
    const reason = gone.has(id) ? 'receiver_gone' : (failed_event_count ?? 0) >= failedEventsToDisable ? 'consecutive_failures' : null;
    if (reason === null || seen.has(webhook_id)) continue;
    seen.add(webhook_id);
    const name = await disableWebhook(trx, { environment_id, webhook_id }, reason, clock.now());
    if (name === null) continue;
    const target = { target_type: 'webhook', target_id: webhook_id, display: name };
    const detail = { action: 'webhook.disabled', settings: ['status'], reason };
    logged.push(
      () => logger.warn({ event: 'webhook.disabled', webhook_id, environment_id, reason }, 'a webhook was disabled'),
      await recordOwnDeed(deps, { knex: trx, environment_id }, 'security_setting.changed', { target, detail }),
    );
    await failEventDeliveries(trx, { environment_id, webhook_id, lease_id: null }, clock.now(), atOnce);
  }
  return logged;
}
