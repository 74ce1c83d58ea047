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
import type { Loop } from '../../platform/loop.js';
import { startQueueLoop } from '../queue/loop.js';
import { sendingQueue, smallRequest, type RowSender } from '../queue/row-sender.js';

const tokenLifetimeSeconds = 120;
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

const nextAttemptAt = (at: Date, retry_in_ms: number | null) => (retry_in_ms === null ? null : new Date(at.getTime() + retry_in_ms));

const backchannelLogouts: RowSender<BackchannelLogoutRow> = {
  name: 'backchannel_logout',
  rows: backchannelQueueRows,
  retryDelaysMs: [5_000, 20_000, 60_000, 180_000],
  oldestDueSeconds: oldestDueBackchannelSeconds,
  record: recordBackchannelAttempts,

  /** A logout token (Back-Channel Logout 1.0 2.5). */
  async post(deps, row, signal) {
    const environment = await findEnvironmentById(deps, row.environment_id);
    if (!environment) return { response_status: null, error: 'no_environment' };
    const ctx = createContext(deps, environment);
    const { status } = await ctx.net.fetch.request(row.logout_uri, {
      ...smallRequest(signal),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: await logoutToken(ctx, row) }).toString(),
    });
    return { response_status: status, error: status === 200 || status === 204 ? null : 'refused' };
  },

  noteUnsent: (logger, err, { id }) => logger.warn({ event: 'backchannel_logout.unsent', err, id }, 'a logout token could not be sent'),
  note(logger, row, { ok, error, response_status, retry_in_ms, at }, lost) {
    const { environment_id, client_id, session_id, id, attempt_count } = row;
    const log = { environment_id, client_id, session_id, id, attempt: attempt_count + 1, response_status };
    if (lost) logger.warn({ event: 'backchannel_logout.lease_lost', id }, 'another process has taken over a logout');
    else if (ok) logger.info({ event: 'backchannel_logout.delivered', ...log }, 'a logout token was delivered');
    else
      logger.warn(
        { event: 'backchannel_logout.failed', ...log, reason: error, next_attempt_at: nextAttemptAt(at, retry_in_ms) },
        'a logout token was not taken',
      );
  },
};

export const backchannelQueue = (deps: Deps) => sendingQueue(backchannelLogouts, deps);

/** Sends logout tokens until stopped; woken when a session ends. */
export const startBackchannelLogout = (deps: Deps): Loop => startQueueLoop(backchannelQueue(deps), deps);
