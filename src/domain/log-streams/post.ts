import { randomUUID } from 'node:crypto';
import type { LogStreamRow } from '../../db/tables/log_streams.js';
import type { FailureReason } from '../../db/tables/webhook_deliveries.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import type { Deps } from '../context.js';
import { failureOfStatus, outboundFailures } from '../webhooks/failure-reason.js';
import { deliveryHeaders } from '../webhooks/sign.js';
import { logStreamAad } from './log-streams.js';

/** The longest that a POST may take, in milliseconds. */
export const postTimeoutMs = 10_000;

/** What came of a POST: `error` null when the receiver took the lines. */
export type Posted = {
  readonly response_status: number | null;
  readonly error: FailureReason | null;
  readonly retry_after: string | undefined;
  readonly duration_ms: number;
};

/** The name of the one kind of message that receivers get, in `X-Service-Event`. */
const batchEvent = 'log_stream.batch';

function headersOf(
  { crypto: { sealer }, clock }: Pick<Deps, 'crypto' | 'clock'>,
  stream: LogStreamRow,
  body: Buffer,
): Record<string, string> {
  const now = clock.now();
  const aad = logStreamAad(stream.id);
  const { previous_secret_sealed: previous, previous_secret_expires_at: until } = stream;
  const message = { id: randomUUID(), timestamp: Math.floor(now.getTime() / 1000), body };
  const previousSecret = previous !== null && until !== null && until > now ? sealer.open(previous, aad) : null;
  return {
    ...deliveryHeaders(sealer.open(stream.secret_sealed, aad), previousSecret, batchEvent, message),
    'Content-Type': 'application/x-ndjson',
    ...(stream.authorization_sealed && { Authorization: sealer.open(stream.authorization_sealed, aad) }),
  };
}

/**
 * POSTs lines of JSON, signed like a delivery of a webhook; redirects aren't followed, what is answered isn't kept. Every error becomes a result.
 * @throws the signal's reason, and nothing else, when the signal ends it
 */
export async function postLines(
  deps: Pick<Deps, 'crypto' | 'clock' | 'net' | 'logger'>,
  stream: LogStreamRow,
  lines: readonly string[],
  signal?: AbortSignal,
): Promise<Posted> {
  const started = performance.now();
  const took = () => Math.round(performance.now() - started);
  try {
    const body = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    const headers = headersOf(deps, stream, body);
    const limits = { timeoutMs: postTimeoutMs, maxResponseBytes: 1_024, bodyTimeoutMs: 1_000, pool: stream.id };
    const answer = await deps.net.fetch.request(stream.url, { method: 'POST', headers, body, ...limits, ...(signal && { signal }) });
    const header = answer.headers['retry-after'];
    const retry_after = Array.isArray(header) ? header[0] : header;
    return { response_status: answer.status, error: failureOfStatus(answer.status), retry_after, duration_ms: took() };
  } catch (error) {
    signal?.throwIfAborted();
    const reason = error instanceof OutboundError ? outboundFailures[error.reason] : 'internal_error';
    if (reason === 'internal_error')
      deps.logger.error(
        { event: 'log_stream.unsendable', err: error, log_stream_id: stream.id },
        'lines of a log stream could not be sent',
      );
    return { response_status: null, error: reason, retry_after: undefined, duration_ms: took() };
  }
}
