import type { Deps } from '../../domain/context.js';
import { recordOwnDeed } from '../../domain/audit/security-trail.js';
import { postTimeoutMs } from '../../domain/log-streams/post.js';
import {
  findDueLogStreams,
  listLogStreamLags,
  logStreamQueueRows,
  recordLogStreamSend,
  removeOrphanedEntries,
  type LogStreamRow,
  type LogStreamSend,
  type RecordedSend,
} from '../../db/tables/log_streams.js';
import { startQueueLoop, type QueueLoop } from '../queue/loop.js';
import type { Queue } from '../queue/queue.js';
import { rowQueue, type RowJob } from '../queue/row-queue.js';
import { sendBatch, type Sending } from './send.js';

const name = 'log_stream';
/** One try at a time for each stream: its records stay in order. */
const limits = { inFlight: 30, inFlightPerDestination: 1, held: 40, pollMs: 1_000, stopMs: 2_500 } as const;
const leaseMs = 3.5 * postTimeoutMs;
const scanLimit = 100;

type StreamJob = RowJob<LogStreamRow>;

/** What the log says of a try: failures, the first success after them, and a stream that has failed for too long. */
function tell({ logger }: Deps, { row }: StreamJob, result: Sending, recorded: RecordedSend | null): void {
  const about = { environment_id: row.environment_id, log_stream_id: row.id, response_status: result.response_status };
  const { error: reason } = result;
  if (recorded === null) return logger.warn({ event: 'log_stream.lease_lost', ...about }, 'another process has taken over a log stream');
  if (reason === null && result.tried && row.attempt_count > 0)
    return logger.info({ event: 'log_stream.recovered', ...about, failures: row.attempt_count }, 'a log stream is taken again');
  if (reason === null) return;
  const retry_seconds = Math.round((result.retry_in_ms ?? 0) / 1000);
  if (recorded.was_paused)
    logger.error({ event: 'log_stream.paused', ...about, reason }, 'a log stream has failed for three days and is paused: enable it again');
  else logger.warn({ event: 'log_stream.failed', ...about, reason, retry_seconds }, 'a log stream was not taken and is tried again');
}

/** Records a try that failed, and that the stream is paused by it, together. */
async function recordFailure(deps: Deps, { row }: StreamJob, send: LogStreamSend): Promise<RecordedSend | null> {
  const { environment_id, id } = send;
  const target = { target_type: 'log_stream', target_id: id, display: row.name };
  const detail = { action: 'log_stream.paused', settings: ['status'], reason: send.error };
  let logged: (() => void) | null = null;
  const recorded = await deps.db.knex.transaction(async (knex) => {
    const found = await recordLogStreamSend(knex, send);
    if (found?.was_paused) logged = await recordOwnDeed(deps, { knex, environment_id }, 'security_setting.changed', { target, detail });
    return found;
  });
  (logged as (() => void) | null)?.();
  return recorded;
}

async function record(deps: Deps, results: readonly { readonly job: StreamJob; readonly result: Sending }[]): Promise<void> {
  for (const { job, result } of results) {
    const { sent, error, response_status, retry_in_ms, tried } = result;
    const held = { environment_id: job.row.environment_id, id: job.row.id, lease_id: job.lease_id };
    const send = { ...held, sent, error, response_status, tried, retry_in_ms: retry_in_ms ?? 0 };
    const recorded = error === null ? await recordLogStreamSend(deps.db.knex, send) : await recordFailure(deps, job, send);
    deps.metrics.deliveries.inc({ queue: name, outcome: result.ok ? 'succeeded' : 'retrying' });
    tell(deps, job, result, recorded);
  }
}

/** The streams as a queue: a stream is due when it has something to send and may be tried. */
export function logStreamQueue(deps: Deps): Queue<StreamJob, Sending> {
  const due = () => findDueLogStreams(deps.db.knex, scanLimit);
  return {
    ...rowQueue(logStreamQueueRows, deps.db.knex, leaseMs),
    name,
    limits,
    timeoutMs: postTimeoutMs,
    retryBaseMs: 1_000,
    async recent() {
      const found = await due();
      return { due: found, full: found.length === scanLimit };
    },
    fullScan: due,
    // What is recorded doesn't tell: it is looked for every second.
    nextDueIn: async () => null,
    async tidy() {
      await removeOrphanedEntries(deps.db.knex);
      deps.metrics.logStreamLag.reset();
      for (const { id, lag_seconds } of await listLogStreamLags(deps.db.knex))
        deps.metrics.logStreamLag.set({ log_stream_id: id }, lag_seconds);
    },
    attempt: ({ row }, signal) => sendBatch(deps, row, signal),
    record: (results) => record(deps, results),
  };
}

export const startLogStreams = (deps: Deps): QueueLoop => startQueueLoop(logStreamQueue(deps), deps);
