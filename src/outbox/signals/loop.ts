import type { Deps } from '../../domain/context.js';
import { fanOutSignals, pauseFullStreams } from '../../db/tables/signal_sets.js';
import {
  findDueSignalStreams,
  listSignalStreamLags,
  recordSignalSend,
  signalStreamQueueRows,
  type SignalStreamRow,
} from '../../db/tables/signal_streams.js';
import { startQueueLoop, type QueueLoop } from '../queue/loop.js';
import type { Queue } from '../queue/queue.js';
import { rowQueue, type RowJob } from '../queue/row-queue.js';
import { pushTimeoutMs, pushSets, type PushOutcome } from './send.js';

const name = 'signal';
/** One try at a time for each stream: its tokens stay in order. */
const limits = { inFlight: 30, inFlightPerDestination: 1, held: 40, pollMs: 1_000, stopMs: 2_500 } as const;
const timeoutMs = 2.5 * pushTimeoutMs;
const leaseMs = 4 * pushTimeoutMs;
const scanLimit = 100;
/** Happenings that one statement fans out. */
const fanOutAtOnce = 500;
/** What may wait for a stream before it is paused: tokens, and seconds. */
const bounds = { most: 10_000, seconds: 7 * 86_400 } as const;

type StreamJob = RowJob<SignalStreamRow>;

async function record(
  { db: { knex }, logger, metrics }: Deps,
  results: readonly { readonly job: StreamJob; readonly result: PushOutcome }[],
): Promise<void> {
  for (const { job, result } of results) {
    const { environment_id, id } = job.row;
    const { done, error, response_status, tried, retry_in_ms, ok } = result;
    const held = await recordSignalSend(knex, {
      environment_id,
      id,
      lease_id: job.lease_id,
      done,
      error,
      response_status,
      tried,
      retry_in_ms: retry_in_ms ?? 0,
    });
    metrics.deliveries.inc({ queue: name, outcome: ok ? 'succeeded' : 'retrying' });
    const about = { environment_id, signal_stream_id: id, response_status };
    if (!held) logger.warn({ event: 'signal_stream.lease_lost', ...about }, 'another process has taken over a stream of signals');
    else if (error !== null)
      logger.warn(
        { event: 'signal_stream.failed', ...about, reason: error, retry_seconds: Math.round((retry_in_ms ?? 0) / 1000) },
        'a signal was not taken',
      );
  }
}

async function tidy({ db: { knex }, logger, metrics }: Deps): Promise<void> {
  for (const { environment_id, id } of await pauseFullStreams(knex, bounds))
    logger.error(
      { event: 'signal_stream.paused', environment_id, signal_stream_id: id },
      'too much waits for a stream of signals: it is paused',
    );
  metrics.signalStreamLag.reset();
  for (const { id, lag_seconds } of await listSignalStreamLags(knex)) metrics.signalStreamLag.set({ signal_stream_id: id }, lag_seconds);
}

/** The streams as a queue. What has happened becomes their tokens first; those of streams that are polled wait for their receivers. */
export function signalQueue(deps: Deps): Queue<StreamJob, PushOutcome> {
  const due = async () => {
    while ((await fanOutSignals(deps.db.knex, fanOutAtOnce)) === fanOutAtOnce);
    return findDueSignalStreams(deps.db.knex, scanLimit);
  };
  return {
    ...rowQueue(signalStreamQueueRows, deps.db.knex, leaseMs),
    name,
    limits,
    timeoutMs,
    retryBaseMs: 1_000,
    async recent() {
      const found = await due();
      return { due: found, full: found.length === scanLimit };
    },
    fullScan: due,
    // What is recorded doesn't tell: it is looked for every second.
    nextDueIn: async () => null,
    tidy: () => tidy(deps),
    attempt: ({ row }, signal) => pushSets(deps, row, signal),
    record: (results) => record(deps, results),
  };
}

export const startSignals = (deps: Deps): QueueLoop => startQueueLoop(signalQueue(deps), deps);
