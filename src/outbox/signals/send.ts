import { createContext, type Context, type Deps } from '../../domain/context.js';
import { findEnvironmentById } from '../../domain/environments/environments.js';
import { signSet } from '../../domain/signals/set.js';
import { mayHear, signalStreamAad } from '../../domain/signals/streams.js';
import { listSignalSets } from '../../db/tables/signal_sets.js';
import type { SignalStreamRow } from '../../db/tables/signal_streams.js';
import { backoffMs, retryAfterMs } from '../../lib/backoff.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import type { AttemptOutcome } from '../queue/queue.js';

/** The longest that one POST may take, in milliseconds. */
export const pushTimeoutMs = 10_000;
/** Tokens in one turn, and for how long new ones are begun in it. */
const mostSets = 50;
const turnMs = 15_000;
/** The longest wait after a failure, whatever the receiver asks for. */
const maxRetryMs = 300_000;

/** What came of one turn of a stream. */
export type PushOutcome = AttemptOutcome & {
  /** The tokens that the receiver has, or will never take. */
  readonly done: readonly string[];
  readonly error: string | null;
  readonly response_status: number | null;
  readonly tried: boolean;
};

type Pushed = { readonly error: string | null; readonly response_status: number | null; readonly retry_after?: string };

/** Whether the receiver says that it will never take this token (RFC 8935 2.4). */
function isUnreadable(status: number, body: Buffer): boolean {
  if (status !== 400) return false;
  try {
    return (JSON.parse(body.toString()) as { err?: unknown } | null)?.err === 'invalid_request';
  } catch {
    return false;
  }
}

/** POSTs one token (RFC 8935 2.1); redirects aren't followed. Every error becomes a result. @throws the signal's reason when that ends it */
async function push(
  ctx: Context,
  stream: SignalStreamRow,
  set: string,
  signal: AbortSignal,
): Promise<Pushed & { readonly unreadable: boolean }> {
  const { authorization_sealed: sealed, endpoint_url } = stream;
  try {
    const answer = await ctx.net.fetch.request(endpoint_url ?? '', {
      method: 'POST',
      headers: {
        'content-type': 'application/secevent+jwt',
        accept: 'application/json',
        ...(sealed && { authorization: ctx.crypto.sealer.open(sealed, signalStreamAad(stream.id)) }),
      },
      body: set,
      signal,
      timeoutMs: pushTimeoutMs,
      maxResponseBytes: 4_096,
      bodyTimeoutMs: 1_000,
      pool: stream.id,
    });
    const { status, headers, body } = answer;
    const retry_after = [headers['retry-after']].flat()[0];
    const unreadable = isUnreadable(status, body);
    const error = status >= 200 && status < 300 ? null : unreadable ? 'refused' : 'non_2xx';
    return { error, response_status: status, unreadable, ...(retry_after !== undefined && { retry_after }) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) return { error: error.reason, response_status: null, unreadable: false };
    ctx.logger.warn({ event: 'signal_stream.unsendable', err: error, signal_stream_id: stream.id }, 'a signal could not be sent');
    return { error: 'internal_error', response_status: null, unreadable: false };
  }
}

/** How long a stream that has failed so often waits: from a second to five minutes, no less than the receiver asks for within that. */
function retryMs(failures: number, { retry_after, response_status }: Pushed, now: Date): number {
  const wait = backoffMs({ baseMs: 1000, factor: 2 }, Math.min(failures, 10));
  const requestedMs = response_status === 429 || response_status === 503 ? retryAfterMs(retry_after, now) : null;
  return Math.min(maxRetryMs, Math.max(wait, requestedMs ?? 0));
}

/** Pushes what waits, one after the other, until one isn't taken: whatever follows waits behind it, so each subject's signals stay in order. */
export async function pushSets(deps: Deps, stream: SignalStreamRow, signal: AbortSignal): Promise<PushOutcome> {
  const started = performance.now();
  const done: string[] = [];
  const environment = await findEnvironmentById(deps, stream.environment_id);
  const isGranted = environment !== null && (await mayHear(createContext(deps, environment), stream.client_id));
  const rows = isGranted ? await listSignalSets(deps.db.knex, stream, mostSets) : [];
  let last: Pushed = { error: isGranted ? null : 'not_granted', response_status: null };
  for (const row of rows) {
    if (!environment || performance.now() - started > turnMs) break;
    const ctx = createContext(deps, environment);
    const set = await signSet(ctx, stream, row);
    const pushed = set === null ? null : await push(ctx, stream, set, signal);
    if (pushed) last = pushed;
    if (pushed && pushed.error !== null && !pushed.unreadable) break;
    done.push(row.id);
  }
  const failed = last.error !== null && last.error !== 'refused';
  const retry_in_ms = failed
    ? retryMs(stream.attempt_count + 1, last, deps.clock.now())
    : done.length < rows.length || rows.length === mostSets
      ? 0
      : null;
  const { error, response_status } = last;
  return {
    ok: !failed,
    done,
    error,
    response_status,
    tried: !isGranted || rows.length > 0,
    retry_in_ms,
    durationMs: performance.now() - started,
  };
}
