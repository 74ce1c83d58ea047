import { createContext, type Context, type Deps } from '../../domain/context.js';
import { findEnvironmentById } from '../../domain/environments/environments.js';
import { clientOf } from '../../domain/clients/clients.js';
import { signerFor } from '../../domain/signing-keys/signing-keys.js';
import { signJwt } from '../../domain/tokens/formats/jwt.js';
import {
  backchannelQueueRows,
  oldestDueBackchannelSeconds,
  recordBackchannelAttempts,
  type BackchannelLogoutRow,
} from '../../db/tables/backchannel_logouts.js';
import { uuidv7 } from '../../lib/random.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';
import type { Loop } from '../../platform/loop.js';
import { startQueueLoop } from '../queue/loop.js';
import type { AttemptOutcome, Queue } from '../queue/queue.js';
import { rowQueue, type RowJob } from '../queue/row-queue.js';

const name = 'backchannel_logout';

const timeoutMs = 5_000;
const leaseMs = 30_000;
const limits = { inFlight: 30, inFlightPerDestination: 5, held: 60, pollMs: 5_000, stopMs: 2_500 } as const;
const tokenLifetimeSeconds = 120;
/** How long to wait after each failed attempt; after the last one the logout is given up. */
const retryDelaysMs = [5_000, 20_000, 60_000, 180_000] as const;

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** A logout token (Back-Channel Logout 1.0 2.4): whose session ended, for one client; never a nonce. */
async function logoutToken(ctx: Context, row: BackchannelLogoutRow): Promise<string> {
  const now = ctx.clock.now().getTime();
  const iat = Math.floor(now / 1000);
  // Verified as its ID tokens are (Back-Channel Logout 1.0 2.4); one that has gone meanwhile gets what is the default.
  const algorithm = (await clientOf(ctx, row.client_id))?.id_token_signed_response_alg ?? 'RS256';
  return signJwt(ctx, await signerFor(ctx, algorithm), 'logout+jwt', {
    iss: row.issuer,
    aud: row.client_id,
    iat,
    exp: iat + tokenLifetimeSeconds,
    jti: uuidv7(now),
    sub: row.user_id,
    sid: row.session_id,
    events: { [logoutEvent]: {} },
  });
}

type Sending = AttemptOutcome & { readonly at: Date; readonly response_status: number | null; readonly error: string | null };
type Response = Pick<Sending, 'response_status' | 'error'>;
type LogoutJob = RowJob<BackchannelLogoutRow>;

/** One POST (Back-Channel Logout 1.0 2.5); no redirect is followed, and whatever comes back is not read far. */
async function post(ctx: Context, row: BackchannelLogoutRow, signal: AbortSignal): Promise<Response> {
  const body = new URLSearchParams({ logout_token: await logoutToken(ctx, row) }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status } = await ctx.net.fetch.request(row.logout_uri, {
    method: 'POST',
    headers,
    body,
    signal,
    timeoutMs,
    maxResponseBytes: 1_024,
    bodyTimeoutMs: 1_000,
  });
  return { response_status: status, error: status === 200 || status === 204 ? null : 'refused' };
}

/** Sends one logout token; every error becomes a failed attempt. @throws the signal's reason, and nothing else, when the signal ends it */
async function send(deps: Deps, row: BackchannelLogoutRow, signal: AbortSignal): Promise<Response> {
  try {
    const environment = await findEnvironmentById(deps, row.environment_id);
    if (!environment) return { response_status: null, error: 'no_environment' };
    return await post(createContext(deps, environment), row, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) return { response_status: null, error: error.reason };
    deps.logger.warn({ event: 'backchannel_logout.unsent', err: error, id: row.id }, 'a logout token could not be sent');
    return { response_status: null, error: 'internal_error' };
  }
}

async function attempt(deps: Deps, { row }: LogoutJob, signal: AbortSignal): Promise<Sending> {
  const started = performance.now();
  const response = await send(deps, row, signal);
  const ok = response.error === null;
  const retry_in_ms = ok ? null : (retryDelaysMs[row.attempt_count] ?? null);
  return { ...response, ok, retry_in_ms, at: deps.clock.now(), durationMs: performance.now() - started };
}

type Results = readonly { readonly job: LogoutJob; readonly result: Sending }[];

async function record({ db: { knex }, logger, metrics }: Deps, results: Results): Promise<void> {
  const rows = results.map(({ job, result }) => ({
    environment_id: job.row.environment_id,
    id: job.row.id,
    lease_id: job.lease_id,
    status: result.ok ? ('delivered' as const) : result.retry_in_ms === null ? ('failed' as const) : ('pending' as const),
    retry_in_ms: result.retry_in_ms,
    last_response_status: result.response_status,
    last_error: result.error,
    at: result.at,
  }));
  const written = new Set(await recordBackchannelAttempts(knex, rows));
  for (const { job, result } of results) {
    const { environment_id, client_id, session_id, id, attempt_count } = job.row;
    const log = { environment_id, client_id, session_id, id, attempt: attempt_count + 1, response_status: result.response_status };
    const outcome = result.ok ? 'succeeded' : result.retry_in_ms === null ? 'failed' : 'retrying';
    metrics.deliveries.inc({ queue: name, outcome });
    // Another process has taken it over and writes its own outcome.
    if (!written.has(id)) logger.warn({ event: 'backchannel_logout.lease_lost', id }, 'another process has taken over a logout');
    else if (result.ok) logger.info({ event: 'backchannel_logout.delivered', ...log }, 'a logout token was delivered');
    else
      logger.warn(
        { event: 'backchannel_logout.failed', ...log, reason: result.error, next_attempt_at: nextAttemptAt(result) },
        'a logout token was not taken',
      );
  }
}

const nextAttemptAt = ({ at, retry_in_ms }: Sending) => (retry_in_ms === null ? null : new Date(at.getTime() + retry_in_ms));

export const backchannelQueue = (deps: Deps): Queue<LogoutJob, Sending> => ({
  ...rowQueue(backchannelQueueRows, deps.db.knex, leaseMs),
  name,
  limits,
  timeoutMs,
  retryBaseMs: retryDelaysMs[0],
  async tidy() {
    deps.metrics.outboxAge.set({ queue: name }, await oldestDueBackchannelSeconds(deps.db.knex));
  },
  attempt: (job, signal) => attempt(deps, job, signal),
  record: (results) => record(deps, results),
});

/** Sends logout tokens until stopped; woken when a session ends. */
export const startBackchannelLogout = (deps: Deps): Loop => startQueueLoop(backchannelQueue(deps), deps);
