import { createContext, type Context, type Deps } from '../../domain/context.js';
import { findEnvironmentById } from '../../domain/environments/environments.js';
import { keyRing } from '../../domain/signing-keys/signing-keys.js';
import { signJwt } from '../../domain/tokens/formats/jwt.js';
import {
  claimBackchannelLogouts,
  recordBackchannelAttempt,
  releaseBackchannelLogout,
  type BackchannelAttempt,
  type BackchannelLogoutRow,
} from '../../db/tables/backchannel_logouts.js';
import { uuidv7 } from '../../lib/random.js';
import { startLoop, type Loop } from '../../platform/loop.js';
import { OutboundError } from '../../platform/fetch/outbound-error.js';

const pauseMs = 5_000;
const batch = 16;
const timeoutMs = 5_000;
/** Longer than a whole batch takes at its slowest. */
const leaseMs = 30_000;
const tokenLifetimeSeconds = 120;
/** How long to wait after each failed attempt; after the last one the logout is given up. */
const retryDelaysMs = [5_000, 20_000, 60_000, 180_000] as const;

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** A logout token (Back-Channel Logout 1.0 2.4): whose session ended, for one client; never a nonce. */
async function logoutToken(ctx: Context, row: BackchannelLogoutRow): Promise<string> {
  const now = ctx.clock.now().getTime();
  const iat = Math.floor(now / 1000);
  return signJwt(await keyRing(ctx), 'logout+jwt', {
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

type Outcome = { readonly status: number | null; readonly error: string | null };

/** One POST (Back-Channel Logout 1.0 2.5); no redirect is followed, and whatever comes back is not read far. */
async function post(ctx: Context, row: BackchannelLogoutRow, signal: AbortSignal): Promise<Outcome> {
  const body = new URLSearchParams({ logout_token: await logoutToken(ctx, row) }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  try {
    const answer = await ctx.fetch.request(row.logout_uri, {
      method: 'POST',
      headers,
      body,
      signal,
      timeoutMs,
      maxResponseBytes: 1_024,
      bodyTimeoutMs: 1_000,
    });
    const accepted = answer.status === 200 || answer.status === 204;
    return { status: answer.status, error: accepted ? null : 'refused' };
  } catch (error) {
    if (error instanceof OutboundError) return { status: null, error: error.reason };
    throw error;
  }
}

function attemptOf(ctx: Context, row: BackchannelLogoutRow, { status, error }: Outcome): BackchannelAttempt {
  const at = ctx.clock.now();
  const common = { last_response_status: status, last_error: error, at };
  if (error === null) return { ...common, status: 'delivered', next_attempt_at: null };
  const delay = retryDelaysMs[row.attempt_count];
  if (delay === undefined) return { ...common, status: 'failed', next_attempt_at: null };
  return { ...common, status: 'pending', next_attempt_at: new Date(at.getTime() + delay) };
}

async function send(deps: Deps, row: BackchannelLogoutRow, signal: AbortSignal): Promise<void> {
  const environment = await findEnvironmentById(deps, row.environment_id);
  if (!environment) return;
  const ctx = createContext(deps, environment);
  try {
    const outcome = await post(ctx, row, signal);
    const attempt = attemptOf(ctx, row, outcome);
    await recordBackchannelAttempt(ctx.scope, row, attempt);
    const log = {
      environment_id: row.environment_id,
      client_id: row.client_id,
      session_id: row.session_id,
      id: row.id,
      attempt: row.attempt_count + 1,
    };
    if (outcome.error === null) deps.logger.info({ ...log, response_status: outcome.status }, 'backchannel_logout.delivered');
    else
      deps.logger.warn(
        { ...log, response_status: outcome.status, reason: outcome.error, next_attempt_at: attempt.next_attempt_at },
        'backchannel_logout.failed',
      );
  } catch (error) {
    if (!signal.aborted) throw error;
    await releaseBackchannelLogout(ctx.scope, row);
  }
}

/** One pass: claims what is due and sends it, each independently of the others. @returns whether there was anything. */
export async function sendBackchannelLogouts(deps: Deps, signal: AbortSignal = new AbortController().signal): Promise<boolean> {
  const now = deps.clock.now();
  const claim = { lease_id: uuidv7(now.getTime()), leased_until: new Date(now.getTime() + leaseMs), now, limit: batch };
  const rows = await claimBackchannelLogouts(deps.knex, claim);
  const results = await Promise.allSettled(rows.map((row) => send(deps, row, signal)));
  for (const result of results)
    if (result.status === 'rejected') deps.logger.warn({ err: result.reason as unknown }, 'backchannel_logout.unsent');
  return rows.length > 0;
}

/** Sends logout tokens until stopped; woken when a session ends. */
export function startBackchannelLogout(deps: Deps): Loop {
  return startLoop({ name: 'backchannel_logout', pauseMs, logger: deps.logger, pass: (signal) => sendBackchannelLogouts(deps, signal) });
}
