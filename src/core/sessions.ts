import {
  findSessionByToken,
  insertSession,
  revokeSessions,
  touchSession,
  type SessionRow,
  type SessionWithUser,
} from '../db/tables/sessions.js';
import { revokeGrants } from '../db/tables/revocations.js';
import { digest } from '../lib/digest.js';
import { randomToken, uuidv7 } from '../lib/random.js';
import { grantRevocationEnd } from './tokens/revoke.js';
import type { Context } from './context.js';

/** The session that a browser presents, with its user. */
export type BrowserSession = SessionWithUser;

/** When a session ends by itself: its own expiry, the environment's lifetimes if they became shorter, idleness. */
export function sessionEnd(
  ctx: Pick<Context, 'environment'>,
  session: Pick<SessionRow, 'created_at' | 'expires_at' | 'last_activity_at'>,
): Date {
  const { session_lifetime, session_idle_lifetime } = ctx.environment;
  const ends = [session.expires_at.getTime(), session.created_at.getTime() + session_lifetime * 1000];
  if (session_idle_lifetime !== null) ends.push(session.last_activity_at.getTime() + session_idle_lifetime * 1000);
  return new Date(Math.min(...ends));
}

/** The state of a session as the API shows it. */
export function sessionStatus(ctx: Pick<Context, 'environment' | 'clock'>, session: SessionRow): 'active' | 'expired' | 'revoked' {
  if (session.revoked_at !== null) return 'revoked';
  return sessionEnd(ctx, session) > ctx.clock.now() ? 'active' : 'expired';
}

/** The live session of an active user that the cookie's value stands for, or null. */
export async function findBrowserSession(ctx: Context, token: string): Promise<BrowserSession | null> {
  if (!/^[\w-]{43}$/.test(token)) return null;
  const session = await findSessionByToken(ctx.scope, digest(token));
  if (!session || session.user_status !== 'active' || sessionStatus(ctx, session) !== 'active') return null;
  return session;
}

const touchPauseMs = 60_000;

/** Moves the last activity, at most once a minute (decisions 4). */
export async function noteActivity(ctx: Context, session: BrowserSession): Promise<void> {
  const now = ctx.clock.now();
  if (now.getTime() - session.last_activity_at.getTime() >= touchPauseMs) await touchSession(ctx.scope, session.id, now);
}

/** A new session of a user who has just proven who it is; the token is for the cookie and known to nobody else. */
export async function startSession(
  ctx: Context,
  input: { user_id: string; amr: string[]; acr?: string | null; ip_address: string | null; user_agent: string | null },
): Promise<{ session: SessionRow; token: string }> {
  const token = randomToken('');
  const now = ctx.clock.now();
  const session = await insertSession(ctx.scope, {
    id: uuidv7(now.getTime()),
    token_digest: digest(token),
    user_id: input.user_id,
    ip_address: input.ip_address,
    user_agent: input.user_agent?.slice(0, 512) ?? null,
    amr: input.amr,
    acr: input.acr ?? null,
    authenticated_at: now,
    last_activity_at: now,
    expires_at: new Date(now.getTime() + ctx.environment.session_lifetime * 1000),
    created_at: now,
    updated_at: now,
  });
  return { session, token };
}

/**
 * Ends sessions, and with each of them what was issued in it (unless `offline_access` was granted). Call it in a transaction.
 * @returns the sessions that were live until now.
 */
export async function endSessions(
  tx: Context,
  which: { id: string } | { user_id: string; except?: string | undefined },
  reason: 'logout' | 'revoked' | 'replaced' | 'password_changed' | 'password_reset' | 'user_blocked',
): Promise<SessionRow[]> {
  const ended = await revokeSessions(tx.scope, which, tx.clock.now(), reason);
  for (const session of ended) {
    await revokeGrants(tx.scope, { user_id: session.user_id, session_id: session.id, keep_offline: true }, grantRevocationEnd(tx));
  }
  return ended;
}
