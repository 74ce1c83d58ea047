import { randomUUID } from 'node:crypto';
import type { Deps } from '../../domain/context.js';
import { noOrigin } from '../../domain/origin.js';
import { noteSecurityEvent } from '../../domain/audit/security-trail.js';
import { createSecretOpener } from '../../domain/webhooks/secrets.js';
import { deleteRemovedDeliveries, noteRemovedWebhook } from '../../db/tables/removed_webhooks.js';
import { disableWebhook, failEventDeliveries } from '../../db/tables/webhook_disabling.js';
import {
  claimDeliveries,
  findRecentlyDue,
  findWaiting,
  millisecondsToNextDue,
  oldestDueSeconds,
  recordAttempts,
  releaseDeliveries,
  type AttemptResult,
  type ClaimedDelivery,
  type RecordedDelivery,
} from '../../db/tables/webhook_queue.js';
import { uuidv7 } from '../../lib/random.js';
import { deliverWebhook, type Attempt } from './deliver.js';
import { startQueueLoop, type QueueLoop } from '../queue/loop.js';
import type { Job, Queue } from '../queue/queue.js';

/** So many events in a row that failed for good disable a webhook (specification 7.4.3). */
const failedEventsToDisable = 100;
const lookAt = 1000;
const atOnce = 1000;
const maxBatches = 20;
const slowClaimMs = 50;
const firstId = '00000000-0000-0000-0000-000000000000';

/** A claimed delivery in the dispatcher's terms. */
export type WebhookJob = Job & { readonly delivery: ClaimedDelivery };

/** Repeats `work` (which returns how many rows it changed) until it finds less than a batch, or has had its share. */
async function inBatches(work: (limit: number) => Promise<number>): Promise<void> {
  for (let i = 0; i < maxBatches; i++) if ((await work(atOnce)) < atOnce) return;
}

/** Deletes what is left of removed webhooks, one webhook at a time. */
async function sweepRemoved(knex: Deps['knex']): Promise<void> {
  for (let i = 0; i < maxBatches; i++) if ((await deleteRemovedDeliveries(knex, atOnce)) === 0) return;
}

/** The lease outlasts the longest exchange by far: 35 s with the default deadline of 10 s. */
const leaseMsFor = (timeoutMs: number) => Math.max(1000, timeoutMs * 3.5);

/** `webhook_deliveries` as a queue that the dispatcher works off. */
export function webhookQueue(deps: Deps): Queue<WebhookJob, Attempt> {
  const { config, knex, logger, clock, metrics } = deps;
  const leaseMs = leaseMsFor(config.webhook.timeoutMs);
  const sending = { config, fetch: deps.fetch, logger, clock, secrets: createSecretOpener(deps.sealer) };
  let visited = { environment_id: firstId, webhook_id: firstId };

  /** What was claimed for webhooks that are gone or disabled isn't sent: it ends here. Redeliveries and tests are sent all the same. */
  async function settle(claimed: readonly ClaimedDelivery[], lease_id: string): Promise<void> {
    const gone = new Map(claimed.filter((one) => one.webhook_status === null).map((one) => [one.webhook_id, one]));
    for (const { environment_id, webhook_id } of gone.values()) await noteRemovedWebhook(knex, environment_id, webhook_id);
    if (gone.size > 0) await sweepRemoved(knex);
    const disabled = new Map(claimed.filter((one) => one.webhook_status === 'disabled').map((one) => [one.webhook_id, one]));
    for (const { environment_id, webhook_id } of disabled.values()) {
      await inBatches((limit) => failEventDeliveries(knex, { environment_id, webhook_id, lease_id }, clock.now(), limit));
    }
  }

  return {
    name: 'webhook',
    leaseMs,
    timeoutMs: config.webhook.timeoutMs,
    retryBaseMs: config.webhook.retryBaseMs,
    async recent() {
      const { due, full } = await findRecentlyDue(knex, lookAt);
      return { due: due.map(({ webhook_id, ...rest }) => ({ ...rest, id: webhook_id })), full };
    },
    async tidy() {
      await sweepRemoved(knex);
      metrics.outboxAge.set({ queue: 'webhook' }, await oldestDueSeconds(knex));
    },
    async thorough() {
      const waiting = await findWaiting(knex, visited, lookAt);
      const last = waiting.at(-1);
      const start = { environment_id: firstId, webhook_id: firstId };
      const wrapped = waiting.length < lookAt && visited.environment_id !== firstId ? await findWaiting(knex, start, lookAt) : [];
      visited = waiting.length === lookAt && last ? { environment_id: last.environment_id, webhook_id: last.webhook_id } : start;
      return [...waiting, ...wrapped]
        .filter((one) => one.is_due)
        .map(({ environment_id, webhook_id, due_at }) => ({ environment_id, id: webhook_id, due_at }));
    },
    nextDueIn: () => millisecondsToNextDue(knex),
    async claim(wanted) {
      const lease_id = randomUUID();
      const claimedAt = performance.now();
      const rows = await claimDeliveries(
        knex,
        wanted.map(({ id, ...rest }) => ({ ...rest, webhook_id: id })),
        { lease_id, leaseMs },
      );
      const tookMs = performance.now() - claimedAt;
      metrics.claimSeconds.observe({ queue: 'webhook' }, tookMs / 1000);
      if (tookMs > slowClaimMs) logger.warn({ queue: 'webhook', took_ms: Math.round(tookMs) }, 'outbox.slow_claim');
      const sendable = (row: ClaimedDelivery) =>
        row.webhook_status === 'enabled' || (row.webhook_status === 'disabled' && row.trigger !== 'event');
      const rest = rows.filter((row) => !sendable(row));
      if (rest.length > 0) await settle(rest, lease_id);
      return rows.filter(sendable).map((delivery) => ({
        destination: { environment_id: delivery.environment_id, id: delivery.webhook_id },
        due_at: delivery.next_attempt_at,
        lease_id,
        claimedAt,
        delivery,
      }));
    },
    release: (jobs) =>
      releaseDeliveries(
        knex,
        jobs.map(({ delivery, lease_id }) => ({ ...delivery, lease_id })),
      ),
    attempt: (job, signal) => deliverWebhook(sending, job.delivery, signal),
    record: (results) => record(deps, results),
  };
}

function resultRow({ job, result }: { job: WebhookJob; result: Attempt }): AttemptResult {
  return {
    environment_id: job.delivery.environment_id,
    id: job.delivery.id,
    webhook_id: job.delivery.webhook_id,
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
  };
}

/**
 * Records attempts. Those that may disable their webhook (410; the hundredth failed event in a row) do so in the same transaction, and end
 * what was pending for it.
 */
async function record(deps: Deps, results: readonly { job: WebhookJob; result: Attempt }[]): Promise<void> {
  const { knex, metrics, logger } = deps;
  const rows = results.map(resultRow);
  const mayDisable = results.some(({ result }) => !result.ok && result.retry_in_ms === null);
  const recorded = mayDisable
    ? await knex.transaction(async (trx) => {
        const written = await recordAttempts(trx, rows);
        await disableFailing(deps, trx, results, written);
        return written;
      })
    : await recordAttempts(knex, rows);
  const outcomes = new Map<string, number>();
  for (const { job, result } of results) {
    const outcome = result.ok ? 'succeeded' : result.retry_in_ms === null ? 'failed' : 'retrying';
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (outcome !== 'retrying') metrics.daily.add(job.delivery.environment_id, 'deliveries', outcome);
  }
  noteBlocked(deps, results);
  for (const [outcome, count] of outcomes) metrics.deliveries.inc({ queue: 'webhook', outcome }, count);
  if (recorded.length < rows.length) {
    const written = new Set(recorded.map((one) => one.id));
    // Another process has taken over since (e.g. this one was suspended): its result counts, this one was a duplicate.
    for (const row of rows) if (!written.has(row.id)) logger.warn({ delivery_id: row.id }, 'webhook.lease_lost');
  }
}

/** A receiver whose address may not be reached: somebody named one of ours, or its name has come to lead there. */
function noteBlocked(deps: Deps, results: readonly { job: WebhookJob; result: Attempt }[]): void {
  for (const { job, result } of results) {
    if (result.failure_reason !== 'blocked_address') continue;
    const { environment_id, webhook_id, id } = job.delivery;
    noteSecurityEvent({ ...deps, environment: { id: environment_id } }, 'webhook.target_blocked', {
      actor: { actor_kind: 'system', actor_id: null, display: null },
      target: { target_type: 'webhook', target_id: webhook_id },
      origin: noOrigin,
      reason: result.failure_reason,
      detail: { delivery_id: id },
    });
  }
}

async function disableFailing(
  { clock, logger }: Deps,
  trx: Parameters<typeof disableWebhook>[0],
  results: readonly { job: WebhookJob; result: Attempt }[],
  recorded: readonly RecordedDelivery[],
): Promise<void> {
  const gone = new Set(results.filter(({ result }) => result.response_status === 410).map(({ job }) => job.delivery.id));
  const seen = new Set<string>();
  for (const { id, environment_id, webhook_id, failed_event_count } of recorded) {
    const reason = gone.has(id) ? 'receiver_gone' : (failed_event_count ?? 0) >= failedEventsToDisable ? 'consecutive_failures' : null;
    if (reason === null || seen.has(webhook_id)) continue;
    seen.add(webhook_id);
    if (!(await disableWebhook(trx, { environment_id, webhook_id }, reason, clock.now()))) continue;
    logger.warn({ webhook_id, environment_id, reason }, 'webhook.disabled');
    await failEventDeliveries(trx, { environment_id, webhook_id, lease_id: null }, clock.now(), atOnce);
  }
}

/** Starts sending webhook deliveries. */
export function startWebhookLoop(deps: Deps): QueueLoop {
  return startQueueLoop(webhookQueue(deps), deps.logger);
}
