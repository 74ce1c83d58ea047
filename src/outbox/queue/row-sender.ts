import type { Knex } from 'knex';
import type { AttemptRecord, QueueRows, WaitingRow } from '../../db/queue-rows.js';
import type { Deps } from '../../domain/context.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import type { Logger } from '../../platform/log/logger.js';
import type { AttemptOutcome, Queue } from './queue.js';
import { rowQueue, type RowJob } from './row-queue.js';

/** What came of one request. `error` null: it was taken. */
export type RowAnswer = { readonly response_status: number | null; readonly error: string | null };

export type RowSending = AttemptOutcome & RowAnswer & { readonly at: Date };

type SendingRecord = AttemptRecord & {
  readonly status: 'delivered' | 'failed' | 'pending';
  readonly last_response_status: number | null;
  readonly at: Date;
};

/** The longest that one request may take, in milliseconds. */
export const timeoutMs = 5_000;
/** One POST: no redirect is followed, and whatever comes back is not read far. */
export const smallRequest = (signal: AbortSignal) =>
  ({ method: 'POST', signal, timeoutMs, maxResponseBytes: 1_024, bodyTimeoutMs: 1_000 }) as const;

const leaseMs = 30_000;
const limits = { inFlight: 30, inFlightPerDestination: 5, held: 60, pollMs: 5_000, stopMs: 2_500 } as const;

/** What a row is sent by: one small request for each, to whoever waits for it. */
export type RowSender<Row> = {
  /** In metrics and notifications. */
  readonly name: string;
  readonly rows: QueueRows<Row>;
  /** How long to wait after each failed attempt; after the last one it is given up. */
  readonly retryDelaysMs: readonly [number, ...number[]];
  oldestDueSeconds(knex: Knex): Promise<number>;
  /** @returns the ids of those whose lease was not lost meanwhile */
  record(knex: Knex, records: readonly SendingRecord[]): Promise<string[]>;
  /** @throws whatever fails, which becomes a failed attempt */
  post(deps: Deps, row: Row, signal: AbortSignal): Promise<RowAnswer>;
  /** Logs that something here kept it from being sent. */
  noteUnsent(logger: Logger, err: unknown, row: Row): void;
  /** Logs what came of it. `lost`: another process has taken the row over and writes its own outcome. */
  note(logger: Logger, row: Row, sending: RowSending, lost: boolean): void;
};

/** @throws the signal's reason, and nothing else, when the signal ends it */
async function send<Row>(sender: RowSender<Row>, deps: Deps, row: Row, signal: AbortSignal): Promise<RowAnswer> {
  try {
    return await sender.post(deps, row, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) return { response_status: null, error: error.reason };
    sender.noteUnsent(deps.logger, error, row);
    return { response_status: null, error: 'internal_error' };
  }
}

const outcomes = { delivered: 'succeeded', failed: 'failed', pending: 'retrying' } as const;

export const sendingQueue = <Row extends WaitingRow>(sender: RowSender<Row>, deps: Deps): Queue<RowJob<Row>, RowSending> => ({
  ...rowQueue(sender.rows, deps.db.knex, leaseMs),
  name: sender.name,
  limits,
  timeoutMs,
  retryBaseMs: sender.retryDelaysMs[0],
  async tidy() {
    deps.metrics.outboxAge.set({ queue: sender.name }, await sender.oldestDueSeconds(deps.db.knex));
  },
  async attempt({ row }, signal) {
    const started = performance.now();
    const answer = await send(sender, deps, row, signal);
    const ok = answer.error === null;
    const retry_in_ms = ok ? null : (sender.retryDelaysMs[row.attempt_count] ?? null);
    return { ...answer, ok, retry_in_ms, at: deps.clock.now(), durationMs: performance.now() - started };
  },
  async record(results) {
    const records = results.map(({ job: { row, lease_id }, result: { ok, retry_in_ms, response_status, error, at } }) => ({
      environment_id: row.environment_id,
      id: row.id,
      lease_id,
      status: ok ? ('delivered' as const) : retry_in_ms === null ? ('failed' as const) : ('pending' as const),
      retry_in_ms,
      last_response_status: response_status,
      last_error: error,
      at,
    }));
    const written = new Set(await sender.record(deps.db.knex, records));
    for (const [at, { job, result }] of results.entries()) {
      deps.metrics.deliveries.inc({ queue: sender.name, outcome: outcomes[records[at]?.status ?? 'pending'] });
      sender.note(deps.logger, job.row, result, !written.has(job.row.id));
    }
  },
});
