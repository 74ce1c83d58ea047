import type { Deps } from '../../domain/context.js';
import { postLines, type Posted } from '../../domain/log-streams/post.js';
import { eventLineOf, lineOf } from '../../domain/log-streams/records.js';
import { listAuditLogsById } from '../../db/tables/audit_logs.js';
import { listEventsById } from '../../db/tables/events.js';
import { listDueEntries, type LogStreamEntry, type LogStreamRow } from '../../db/tables/log_streams.js';
import { backoffMs, retryAfterMs } from '../../lib/backoff.js';
import type { AttemptOutcome } from '../queue/queue.js';

/** Records in one POST, and their bytes. */
const maxRecords = 500;
const maxBytes = 1_048_576;
/** The longest wait after a failure, whatever the receiver asks for. */
const maxRetryMs = 300_000;

/** What came of one try to send. */
export type Sending = AttemptOutcome & {
  /** The entries that the receiver has taken. */
  readonly sent: readonly LogStreamEntry[];
  readonly error: string | null;
  readonly response_status: number | null;
  /** False when there was nothing to send. */
  readonly tried: boolean;
};

type Batch = { readonly lines: string[]; readonly taken: LogStreamEntry[]; readonly more: boolean };

/** The first that waits, as much as fits into one POST. What is no longer there is passed over. */
async function batchOf({ db: { knex } }: Pick<Deps, 'db'>, stream: LogStreamRow): Promise<Batch> {
  const entries = await listDueEntries(knex, stream, maxRecords);
  const idsOf = (isEvent: boolean) => entries.filter(({ source }) => (source === 'events') === isEvent).map(({ record_id }) => record_id);
  const rows = await listAuditLogsById(knex, stream.environment_id, idsOf(false));
  const events = await listEventsById(knex, stream.environment_id, idsOf(true));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const eventsById = new Map(events.map((event) => [event.id, event]));
  const batch: Batch = { lines: [], taken: [], more: entries.length === maxRecords };
  let bytes = 0;
  for (const entry of entries) {
    const { source, record_id } = entry;
    const [row, event] = [byId.get(record_id), eventsById.get(record_id)];
    const line = source === 'events' ? event && eventLineOf(stream.format, event) : row && lineOf(stream.format, source, row);
    bytes += line === undefined ? 0 : Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) return { ...batch, more: true };
    batch.taken.push(entry);
    if (line !== undefined) batch.lines.push(line);
  }
  return batch;
}

/** How long a stream that has failed so often waits: from a second to five minutes, no less than the receiver asks for within that. */
function retryMs(failures: number, { retry_after, response_status }: Posted, now: Date): number {
  const wait = backoffMs({ baseMs: 1000, factor: 2 }, Math.min(failures, 10));
  const requestedMs = response_status === 429 || response_status === 503 ? retryAfterMs(retry_after, now) : null;
  return Math.min(maxRetryMs, Math.max(wait, requestedMs ?? 0));
}

/** Sends what waits, up to one POST. @throws the signal's reason when that ends it; {DatabaseFailure} */
export async function sendBatch(deps: Deps, stream: LogStreamRow, signal: AbortSignal): Promise<Sending> {
  const started = performance.now();
  const { lines, taken, more } = await batchOf(deps, stream);
  const sent = { sent: taken, error: null, response_status: null, ok: true, retry_in_ms: more ? 0 : null, tried: lines.length > 0 };
  if (lines.length === 0) return { ...sent, durationMs: performance.now() - started };
  const posted = await postLines(deps, stream, lines, signal);
  const { error, response_status } = posted;
  const durationMs = performance.now() - started;
  if (error === null) return { ...sent, response_status, durationMs };
  return {
    ok: false,
    tried: true,
    sent: [],
    error,
    response_status,
    durationMs,
    retry_in_ms: retryMs(stream.attempt_count + 1, posted, deps.clock.now()),
  };
}
