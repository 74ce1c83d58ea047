import type { Deps } from '../../domain/context.js';
import type { SecretOpener } from '../../domain/webhooks/secrets.js';
import { failureOfStatus, outboundFailures } from '../../domain/webhooks/failure-reason.js';
import { deliveryHeaders } from '../../domain/webhooks/sign.js';
import type { ClaimedDelivery } from '../../db/tables/webhook_queue.js';
import type { FailureReason } from '../../db/tables/webhook_deliveries.js';
import { backoffMs, retryAfterMs } from '../../lib/backoff.js';
import { OutboundError, type OutboundResponse } from '../../platform/fetch/fetch.js';
import type { AttemptOutcome } from '../queue/queue.js';

/** A delivery is tried this often in all: once, and up to five retries (specification 7.4.1). */
export const maxAttempts = 6;

/** The longest `Retry-After` that is obeyed, in milliseconds (specification 7.4.2). */
const maxRetryAfterMs = 3_600_000;
const maxResponseBytes = 16 * 1024;
/** Milliseconds for the response body after its headers; the status alone decides the outcome. */
const bodyTimeoutMs = 1000;

export type Attempt = AttemptOutcome & {
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly response_status: number | null;
  readonly response_body: string | null;
  readonly response_truncated: boolean;
  readonly failure_reason: FailureReason | null;
};

export type DeliveryDeps = Pick<Deps, 'clock' | 'config' | 'net' | 'logger'> & { readonly secrets: SecretOpener };

/** The headers of a delivery sent at `now`, signed with the webhook's secrets. */
function signed(deps: DeliveryDeps, delivery: ClaimedDelivery, body: Buffer, now: Date): Record<string, string> {
  const { id: webhook_id, secret_sealed, previous_secret_sealed, previous_secret_expires_at } = delivery.webhook;
  const previousCounts = previous_secret_sealed !== null && previous_secret_expires_at !== null && previous_secret_expires_at > now;
  const message = { id: delivery.event_id, timestamp: Math.floor(now.getTime() / 1000), body };
  const previous = previousCounts ? deps.secrets.open(webhook_id, 'previous', previous_secret_sealed) : null;
  const current = deps.secrets.open(webhook_id, 'current', secret_sealed ?? Buffer.alloc(0));
  return deliveryHeaders(current, previous, delivery.event_type, message);
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** As text that PostgreSQL can store: invalid UTF-8 and NUL become the replacement character. A cut-off last character is left out. */
function storable(body: Buffer, truncated: boolean): string {
  const text = truncated ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(body, { stream: true }) : decoder.decode(body);
  return text.replaceAll('\0', '\uFFFD');
}

/** When to try again after the given failed attempt (1 to 6): 5 s x 8^n, no sooner than the receiver asked; never after the sixth, or a 410. */
export function retryDelay(
  config: DeliveryDeps['config']['webhook'],
  attempt_number: number,
  answer: { status: number; retryAfter: string | undefined } | null,
  now: Date,
): number | null {
  if (attempt_number >= maxAttempts || answer?.status === 410) return null;
  const wait = backoffMs({ baseMs: config.retryBaseMs, factor: config.retryFactor }, attempt_number);
  const requestedMs = answer?.status === 429 || answer?.status === 503 ? retryAfterMs(answer.retryAfter, now) : null;
  return Math.max(wait, Math.min(requestedMs ?? 0, maxRetryAfterMs));
}

/**
 * Sends a delivery once: the stored bytes, signed now. Every error becomes a failed attempt.
 * @throws the signal's reason, and nothing else, when the signal ends it
 */
export async function deliverWebhook(deps: DeliveryDeps, delivery: ClaimedDelivery, signal: AbortSignal): Promise<Attempt> {
  const startedAt = deps.clock.now();
  const started = performance.now();
  let answer: OutboundResponse | null = null;
  let failure_reason: FailureReason | null;
  try {
    const body = Buffer.from(delivery.payload);
    answer = await deps.net.fetch.request(delivery.webhook.url ?? '', {
      method: 'POST',
      headers: signed(deps, delivery, body, startedAt),
      body,
      timeoutMs: deps.config.webhook.timeoutMs,
      maxResponseBytes,
      bodyTimeoutMs,
      // Receivers at one address don't wait for each other's connections, and environments share none.
      pool: delivery.webhook.id,
      signal,
    });
    failure_reason = failureOfStatus(answer.status);
  } catch (error) {
    signal.throwIfAborted();
    failure_reason = error instanceof OutboundError ? outboundFailures[error.reason] : 'internal_error';
    if (failure_reason === 'internal_error')
      deps.logger.error({ event: 'webhook.undeliverable', err: error, delivery_id: delivery.id }, 'a delivery could not be made');
  }
  const endedAt = deps.clock.now();
  const header = answer?.headers['retry-after'];
  const refusal = answer && { status: answer.status, retryAfter: Array.isArray(header) ? header[0] : header };
  return {
    ok: failure_reason === null,
    startedAt,
    endedAt,
    durationMs: performance.now() - started,
    response_status: answer?.status ?? null,
    response_body: answer && storable(answer.body, answer.truncated),
    response_truncated: answer?.truncated ?? false,
    failure_reason,
    retry_in_ms: failure_reason === null ? null : retryDelay(deps.config.webhook, delivery.attempt_count + 1, refusal, endedAt),
  };
}
