import { listHeldEnvironments } from '../../db/cells/held.js';
import { randomUUID } from 'node:crypto';
import type { Deps } from '../../domain/context.js';
import type { DueDestination } from '../../db/queue-rows.js';
import { createSecretOpener } from '../../domain/webhooks/secrets.js';
import { deleteRemovedDeliveries, noteRemovedWebhook } from '../../db/tables/removed_webhooks.js';
import { failEventDeliveries } from '../../db/tables/webhook_disabling.js';
import {
  claimDeliveries,
  findRecentlyDue,
  findWaiting,
  millisecondsToNextDue,
  oldestDueSeconds,
  releaseDeliveries,
  type ClaimedDelivery,
} from '../../db/tables/webhook_queue.js';
import { deliverWebhook, type Attempt } from './deliver.js';
import { startQueueLoop, type QueueLoop } from '../queue/loop.js';
import type { Queue } from '../queue/queue.js';
import { recordDeliveries, type WebhookJob } from './record.js';

const scanLimit = 1000;
const atOnce = 1000;
const maxBatches = 20;
const firstId = '00000000-0000-0000-0000-000000000000';

/** Repeats `work` (which returns how many rows it changed) until it finds less than a batch, or has had its share. */
async function inBatches(work: (limit: number) => Promise<number>): Promise<void> {
  for (let i = 0; i < maxBatches; i++) if ((await work(atOnce)) < atOnce) return;
}

/** Deletes what is left of removed webhooks, one webhook at a time. */
async function sweepRemoved(knex: Deps['db']['knex']): Promise<void> {
  for (let i = 0; i < maxBatches; i++) if ((await deleteRemovedDeliveries(knex, atOnce)) === 0) return;
}

/** The lease outlasts the longest exchange by far: 35 s with the default deadline of 10 s. */
const leaseMsFor = (timeoutMs: number) => Math.max(1000, timeoutMs * 3.5);

/** Which of the claimed deliveries are sent. Redeliveries and tests are sent though their webhook is disabled. */
const isSendable = ({ webhook, trigger }: ClaimedDelivery) =>
  webhook.status === 'enabled' || (webhook.status === 'disabled' && trigger !== 'event');

/** Ends claimed deliveries whose webhook is gone or disabled; they aren't sent. */
async function endUnsendable({ db: { knex }, clock }: Deps, claimed: readonly ClaimedDelivery[], lease_id: string): Promise<void> {
  const webhooks = [...new Set(claimed.map((one) => one.webhook))];
  const gone = webhooks.filter(({ status }) => status === null);
  for (const { environment_id, id } of gone) await noteRemovedWebhook(knex, environment_id, id);
  if (gone.length > 0) await sweepRemoved(knex);
  for (const { environment_id, id: webhook_id, status } of webhooks) {
    if (status !== 'disabled') continue;
    await inBatches((limit) => failEventDeliveries(knex, { environment_id, webhook_id, lease_id }, clock.now(), limit));
  }
}

/** Claims, and ends at once what won't be sent. */
async function claim(deps: Deps, claims: readonly (DueDestination & { limit: number })[], leaseMs: number): Promise<WebhookJob[]> {
  const lease_id = randomUUID();
  const claimedAt = performance.now();
  const ofWebhooks = claims.map(({ id, ...rest }) => ({ ...rest, webhook_id: id }));
  const rows = await claimDeliveries(deps.db.knex, ofWebhooks, { lease_id, leaseMs });
  const rest = rows.filter((row) => !isSendable(row));
  if (rest.length > 0) await endUnsendable(deps, rest, lease_id);
  return rows
    .filter(isSendable)
    .map((delivery) => ({ destination: delivery.webhook, due_at: delivery.next_attempt_at, lease_id, claimedAt, delivery }));
}

/** The full scan, a thousand webhooks at a time: each goes on where the last one ended. */
function createFullScan(knex: Deps['db']['knex']): () => Promise<DueDestination[]> {
  const start = { environment_id: firstId, webhook_id: firstId };
  let visited = start;
  return async () => {
    const waiting = await findWaiting(knex, visited, scanLimit);
    const last = waiting.at(-1);
    const wrapped = waiting.length < scanLimit && visited.environment_id !== firstId ? await findWaiting(knex, start, scanLimit) : [];
    visited = waiting.length === scanLimit && last ? { environment_id: last.environment_id, webhook_id: last.webhook_id } : start;
    return [...waiting, ...wrapped]
      .filter((one) => one.is_due)
      .map(({ environment_id, webhook_id, due_at }) => ({ environment_id, id: webhook_id, due_at }));
  };
}

function webhookQueue(deps: Deps): Queue<WebhookJob, Attempt> {
  const { knex } = deps.db;
  const { config, logger, clock, metrics, net } = deps;
  const { timeoutMs, retryBaseMs } = config.webhook;
  const leaseMs = leaseMsFor(timeoutMs);
  const sending = { config, net, logger, clock, secrets: createSecretOpener(deps.crypto.sealer) };
  return {
    name: 'webhook',
    limits: { inFlight: 600, inFlightPerDestination: 5, held: 2400, pollMs: 1000, stopMs: timeoutMs / 2 },
    leaseMs,
    timeoutMs,
    retryBaseMs,
    async recent() {
      const { due, full } = await findRecentlyDue(knex, scanLimit);
      return { due: due.map(({ webhook_id, ...rest }) => ({ ...rest, id: webhook_id })), full };
    },
    async tidy() {
      await sweepRemoved(knex);
      metrics.outboxAge.set({ queue: 'webhook' }, await oldestDueSeconds(knex));
      metrics.environmentHeld.reset();
      for (const { slug, seconds } of await listHeldEnvironments(knex)) metrics.environmentHeld.set({ environment: slug }, seconds);
    },
    fullScan: createFullScan(knex),
    nextDueIn: () => millisecondsToNextDue(knex),
    claim: (claims) => claim(deps, claims, leaseMs),
    release: (jobs) =>
      releaseDeliveries(
        knex,
        jobs.map(({ destination, delivery, lease_id }) => ({ environment_id: destination.environment_id, id: delivery.id, lease_id })),
      ),
    attempt: (job, signal) => deliverWebhook(sending, job.delivery, signal),
    record: (results) => recordDeliveries(deps, results),
  };
}

export const startWebhookLoop = (deps: Deps): QueueLoop => startQueueLoop(webhookQueue(deps), deps);
