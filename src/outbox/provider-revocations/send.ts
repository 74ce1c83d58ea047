import type { Deps } from '../../domain/context.js';
import { askProvider } from '../../domain/provider-tokens/provider-endpoint.js';
import { openTokens } from '../../domain/provider-tokens/tokens.js';
import { providerSecretAad } from '../../domain/connections/connections.js';
import {
  oldestDueProviderRevocationSeconds,
  providerRevocationQueueRows,
  recordProviderRevocations,
  type ProviderTokenRevocationRow,
} from '../../db/tables/provider_token_revocations.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import type { Loop } from '../../platform/loop.js';
import { startQueueLoop } from '../queue/loop.js';
import type { AttemptOutcome, Queue } from '../queue/queue.js';
import { rowQueue, type RowJob } from '../queue/row-queue.js';

const name = 'provider_revocation';

const timeoutMs = 5_000;
const leaseMs = 30_000;
const limits = { inFlight: 30, inFlightPerDestination: 5, held: 60, pollMs: 5_000, stopMs: 2_500 } as const;
/** How long to wait after each failed attempt; after the last one, a good day later, the provider is left alone. */
const retryDelaysMs = [10_000, 60_000, 600_000, 3_600_000, 21_600_000, 57_600_000] as const;

type Sending = AttemptOutcome & { readonly at: Date; readonly response_status: number | null; readonly error: string | null };
type Response = Pick<Sending, 'response_status' | 'error'>;
type RevocationJob = RowJob<ProviderTokenRevocationRow>;

/** One POST (RFC 7009 2.1), of the refresh token where there is one: with it the provider ends what it gave. */
async function post(deps: Deps, row: ProviderTokenRevocationRow, signal: AbortSignal): Promise<Response> {
  const { token_id, connection_id, tokens_sealed, provider_client_secret_sealed: sealed, provider_client_id: id, auth_method } = row;
  if (tokens_sealed === null) return { response_status: null, error: null };
  const { access_token, refresh_token } = openTokens(deps, token_id, tokens_sealed);
  const secret = sealed && deps.crypto.sealer.open(sealed, providerSecretAad(connection_id));
  const body =
    refresh_token === null
      ? { token: access_token, token_type_hint: 'access_token' }
      : { token: refresh_token, token_type_hint: 'refresh_token' };
  const { status } = await askProvider(deps, { url: row.revocation_endpoint, as: { id, secret, auth_method }, body, signal }, timeoutMs);
  return { response_status: status, error: status >= 200 && status < 300 ? null : 'refused' };
}

/** Revokes one token; every error becomes a failed attempt. @throws the signal's reason, and nothing else, when the signal ends it */
async function send(deps: Deps, row: ProviderTokenRevocationRow, signal: AbortSignal): Promise<Response> {
  try {
    return await post(deps, row, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) return { response_status: null, error: error.reason };
    deps.logger.warn({ event: 'provider_revocation.unsent', err: error, id: row.id }, 'a token at a provider could not be revoked');
    return { response_status: null, error: 'internal_error' };
  }
}

async function attempt(deps: Deps, { row }: RevocationJob, signal: AbortSignal): Promise<Sending> {
  const started = performance.now();
  const response = await send(deps, row, signal);
  const ok = response.error === null;
  const retry_in_ms = ok ? null : (retryDelaysMs[row.attempt_count] ?? null);
  return { ...response, ok, retry_in_ms, at: deps.clock.now(), durationMs: performance.now() - started };
}

type Results = readonly { readonly job: RevocationJob; readonly result: Sending }[];

async function record({ db: { knex }, logger, metrics }: Deps, results: Results): Promise<void> {
  const rows = results.map(({ job, result }) => ({
    environment_id: job.row.environment_id,
    id: job.row.id,
    lease_id: job.lease_id,
    retry_in_ms: result.retry_in_ms,
    last_response_status: result.response_status,
    last_error: result.error,
    at: result.at,
  }));
  const written = new Set(await recordProviderRevocations(knex, rows));
  for (const { job, result } of results) {
    const { environment_id, connection_id, id, attempt_count } = job.row;
    const log = { environment_id, connection_id, id, attempt: attempt_count + 1, response_status: result.response_status };
    metrics.deliveries.inc({ queue: name, outcome: result.ok ? 'succeeded' : result.retry_in_ms === null ? 'failed' : 'retrying' });
    // Another process has taken it over and writes its own outcome.
    if (!written.has(id)) logger.warn({ event: 'provider_revocation.lease_lost', id }, 'another process has taken over a revocation');
    else if (result.ok) logger.info({ event: 'provider_revocation.done', ...log }, 'a token was revoked at its provider');
    else
      logger.warn(
        { event: 'provider_revocation.failed', ...log, reason: result.error, last: result.retry_in_ms === null },
        'a provider did not revoke a token',
      );
  }
}

const providerRevocationQueue = (deps: Deps): Queue<RevocationJob, Sending> => ({
  ...rowQueue(providerRevocationQueueRows, deps.db.knex, leaseMs),
  name,
  limits,
  timeoutMs,
  retryBaseMs: retryDelaysMs[0],
  async tidy() {
    deps.metrics.outboxAge.set({ queue: name }, await oldestDueProviderRevocationSeconds(deps.db.knex));
  },
  attempt: (job, signal) => attempt(deps, job, signal),
  record: (results) => record(deps, results),
});

/** Revokes tokens at their providers until stopped; woken when one ends here. */
export const startProviderRevocations = (deps: Deps): Loop => startQueueLoop(providerRevocationQueue(deps), deps);
