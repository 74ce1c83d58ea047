import { notificationAad, type PingNotice } from '../../domain/approvals/approvals.js';
import type { Deps } from '../../domain/context.js';
import { approvalPingRows, oldestDueApprovalPingSeconds, recordApprovalPings, type ApprovalRow } from '../../db/tables/approvals.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import type { Loop } from '../../platform/loop.js';
import { startQueueLoop } from '../queue/loop.js';
import type { AttemptOutcome, Queue } from '../queue/queue.js';
import { rowQueue, type RowJob } from '../queue/row-queue.js';

const name = 'approval_ping';

const timeoutMs = 5_000;
const leaseMs = 30_000;
const limits = { inFlight: 30, inFlightPerDestination: 5, held: 60, pollMs: 5_000, stopMs: 2_500 } as const;
/** How long to wait after each failed attempt; after the last one the client is left to ask by itself (CIBA Core 1.0 5). */
const retryDelaysMs = [2_000, 10_000, 30_000, 120_000] as const;

type Sending = AttemptOutcome & { readonly error: string | null };
type PingJob = RowJob<ApprovalRow>;

/** One POST (CIBA Core 1.0 10.2); no redirect is followed, and whatever comes back is not read far. */
async function post({ net, crypto }: Deps, row: ApprovalRow, signal: AbortSignal): Promise<string | null> {
  if (row.notification_sealed === null || row.notification_endpoint === null) return null;
  const opened = JSON.parse(crypto.sealer.open(row.notification_sealed, notificationAad(row.id))) as PingNotice;
  const { auth_req_id, client_notification_token } = opened;
  const { status } = await net.fetch.request(row.notification_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${client_notification_token}` },
    body: JSON.stringify({ auth_req_id }),
    signal,
    timeoutMs,
    maxResponseBytes: 1_024,
    bodyTimeoutMs: 1_000,
  });
  return status >= 200 && status < 300 ? null : 'refused';
}

/** Pings one client; every error becomes a failed attempt. @throws the signal's reason, and nothing else, when the signal ends it */
async function send(deps: Deps, row: ApprovalRow, signal: AbortSignal): Promise<string | null> {
  try {
    return await post(deps, row, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) return error.reason;
    deps.logger.warn({ event: 'approval_ping.unsent', err: error, id: row.id }, 'a client could not be told of an answer');
    return 'internal_error';
  }
}

async function attempt(deps: Deps, { row }: PingJob, signal: AbortSignal): Promise<Sending> {
  const started = performance.now();
  const error = await send(deps, row, signal);
  const retry_in_ms = error === null ? null : (retryDelaysMs[row.attempt_count] ?? null);
  return { ok: error === null, error, retry_in_ms, durationMs: performance.now() - started };
}

type Results = readonly { readonly job: PingJob; readonly result: Sending }[];

async function record({ db: { knex }, logger, metrics }: Deps, results: Results): Promise<void> {
  const rows = results.map(({ job: { row, lease_id }, result }) => ({
    environment_id: row.environment_id,
    id: row.id,
    lease_id,
    retry_in_ms: result.retry_in_ms,
    last_error: result.error,
  }));
  const written = new Set(await recordApprovalPings(knex, rows));
  for (const { job, result } of results) {
    const { environment_id, client_id, id, attempt_count } = job.row;
    const log = { environment_id, client_id, id, attempt: attempt_count + 1 };
    metrics.deliveries.inc({ queue: name, outcome: result.ok ? 'succeeded' : result.retry_in_ms === null ? 'failed' : 'retrying' });
    // Another process has taken it over and writes its own outcome.
    if (!written.has(id)) logger.warn({ event: 'approval_ping.lease_lost', id }, 'another process has taken over a ping');
    else if (result.ok) logger.info({ event: 'approval_ping.done', ...log }, 'a client was told of an answer');
    else
      logger.warn(
        { event: 'approval_ping.failed', ...log, reason: result.error, last: result.retry_in_ms === null },
        'a client did not take the word of an answer',
      );
  }
}

const approvalPingQueue = (deps: Deps): Queue<PingJob, Sending> => ({
  ...rowQueue(approvalPingRows, deps.db.knex, leaseMs),
  name,
  limits,
  timeoutMs,
  retryBaseMs: retryDelaysMs[0],
  async tidy() {
    deps.metrics.outboxAge.set({ queue: name }, await oldestDueApprovalPingSeconds(deps.db.knex));
  },
  attempt: (job, signal) => attempt(deps, job, signal),
  record: (results) => record(deps, results),
});

/** Tells clients that people have answered, until stopped; woken when one does. */
export const startApprovalPings = (deps: Deps): Loop => startQueueLoop(approvalPingQueue(deps), deps);
