import { insertBackchannelLogouts } from '../../db/tables/backchannel_logouts.js';
import {
  findSession,
  findSessionByToken,
  hasRunOut,
  insertBrowserSession,
  lockSession,
  renewSession,
  revokeSessions,
  touchSession,
  type SessionBounds,
  type SessionRow,
  type SessionWithUser,
  type BrowserSessionRow,
} from '../../db/tables/sessions.js';
import type { ConnectionRow } from '../../db/tables/connections.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import { findUser, lockUser } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import { randomToken, uuidv7 } from '../../lib/random.js';
import { grantRevocationEnd } from '../tokens/revoke.js';
import type { Context } from '../context.js';
import { emit, emitAll } from '../events/emit.js';
import type { sessionEndReasons } from '../events/named-events.js';
import { reachedBy } from '../proofs/classes.js';
import { proofsOf, withProofs, type SessionProof } from '../proofs/proofs.js';

export type BrowserSession = SessionWithUser;

/** The bounds of live sessions: now, and now less each of the environment's lifetimes (specification 4.7.4). */
export function sessionBounds({ environment, clock }: Pick<Context, 'environment' | 'clock'>): SessionBounds {
  const now = clock.now();
  const { session_lifetime, session_idle_lifetime } = environment;
  const before = (seconds: number | null) => new Date(seconds === null ? 0 : now.getTime() - seconds * 1000);
  return { now, signed_in_after: before(session_lifetime), active_after: before(session_idle_lifetime) };
}

/** The state of a session as the API shows it; `active` is what is meant by a live session. */
export function sessionStatus(ctx: Pick<Context, 'environment' | 'clock'>, session: SessionRow): 'active' | 'expired' | 'revoked' {
  if (session.revoked_at !== null) return 'revoked';
  return hasRunOut(session, sessionBounds(ctx)) ? 'expired' : 'active';
}

/** The live session of an active user that the cookie's value stands for, or null. */
export async function findBrowserSession(ctx: Context, token: string): Promise<BrowserSession | null> {
  if (!/^[\w-]{43}$/.test(token)) return null;
  const session = await findSessionByToken(ctx.scope, digest(token));
  if (!session || session.user_status !== 'active' || sessionStatus(ctx, session) !== 'active') return null;
  return session;
}

/** A session that was looked up as it is by now, whatever its cookie has become; null once it has ended, or its person is not active. */
export async function findSessionAgain(ctx: Context, before: BrowserSession): Promise<BrowserSession | null> {
  const [session, user] = [await findSession(ctx.scope, before.id), await findUser(ctx.scope, before.user_id)];
  return session && user?.status === 'active' && sessionStatus(ctx, session) === 'active' ? { ...before, ...session } : null;
}

const touchPauseMs = 60_000;

/** Updates the last activity, at most once a minute (specification 4.7.3). */
export async function noteActivity(ctx: Context, session: BrowserSession): Promise<void> {
  const now = ctx.clock.now();
  if (now.getTime() - session.last_activity_at.getTime() >= touchPauseMs) await touchSession(ctx.scope, session.id, sessionBounds(ctx));
}

/** Providers' clocks may differ from ours by this much. */
export const providerSkewMs = 60_000;

type AuthenticationTime = Pick<SessionRow, 'authenticated_at' | 'auth_time_known' | 'provider_amr'>;

/** Whether the person is known to have proven who they are at that moment (milliseconds) or later; a provider may be off by its clock. */
export function isProvenSince(session: AuthenticationTime, since: number): boolean {
  const skew = session.provider_amr === null ? 0 : providerSkewMs;
  return session.auth_time_known && session.authenticated_at.getTime() >= since - skew;
}

/** What a provider says of the sign-in there: `auth_time` null when it doesn't say. */
export type ProviderSignIn = {
  readonly amr: string[];
  readonly acr: string | null;
  readonly auth_time: Date | null;
  /** What it calls the session there. */
  readonly sid?: string | null;
};

/** What is known of a sign-in: how the person proved who they are, and what a provider says of it. */
export type SignIn = {
  user_id: string;
  proofs: readonly SessionProof[];
  ip_address: string | null;
  user_agent: string | null;
  provider?: ProviderSignIn | null;
  /** The connection that the person came through, and whether it is an organization's. */
  connection?: Pick<ConnectionRow, 'id' | 'organization_id'> | null;
  /** The account there. */
  subject?: string | null;
  /** When it ends at the latest, if that is sooner than the environment's lifetime. */
  until?: Date | null;
};

/** The proofs with what follows from them: the class that they reach (null: the lowest), the methods, and when the oldest proof of the class was given. */
function proofColumns(
  proofs: readonly SessionProof[],
): Pick<SessionRow, 'proofs' | 'acr' | 'amr' | 'authenticated_at' | 'auth_time_known'> {
  const { acr, amr, auth_time, auth_time_known } = reachedBy(proofs);
  return { proofs: [...proofs], acr: acr === '1' ? null : acr, amr, authenticated_at: auth_time, auth_time_known };
}

/** Whether a proof is of the account here, and by itself a way in: whoever gave it is the person for everybody. */
const isLocal = ({ method, second_step }: SessionProof): boolean =>
  method === 'password' || method === 'passkey' || (method === 'email' && second_step !== true);

/** How somebody signed in, see {@link SessionRow}. */
export const loginColumns = (
  proofs: readonly SessionProof[],
  connection: SignIn['connection'],
): Pick<SessionRow, 'connection_ids' | 'has_local_login'> => ({
  connection_ids: connection ? [connection.id] : [],
  has_local_login: !connection || connection.organization_id === null || proofs.some(isLocal),
});

function signInColumns(ctx: Context, input: SignIn, token: string): Omit<BrowserSessionRow, 'id' | 'user_id' | 'created_at'> {
  const now = ctx.clock.now();
  const ends = new Date(now.getTime() + ctx.environment.session_lifetime * 1000);
  return {
    token_digest: digest(token),
    ip_address: input.ip_address,
    user_agent: input.user_agent?.slice(0, 512) ?? null,
    provider_amr: input.provider?.amr ?? null,
    provider_acr: input.provider?.acr ?? null,
    ...proofColumns(input.proofs),
    ...loginColumns(input.proofs, input.connection),
    provider_connection_id: input.connection?.id ?? null,
    provider_subject: (input.connection && input.subject) ?? null,
    provider_sid: (input.connection && input.provider?.sid) ?? null,
    signed_in_at: now,
    last_activity_at: now,
    expires_at: input.until && input.until < ends ? input.until : ends,
    updated_at: now,
  };
}

const eventData = ({ id, user_id, device_client_id, created_at }: SessionRow) => ({
  id,
  user_id,
  device_client_id,
  created_at: created_at.toISOString(),
});

/** Tells webhooks of a session that has just begun: `session.created`. */
export async function emitSessionCreated(tx: Context, session: SessionRow): Promise<void> {
  const { acr, amr } = reachedBy(proofsOf(session));
  const { ip_address, user_agent, expires_at } = session;
  await emit(tx, 'session.created', { ...eventData(session), amr, acr, ip_address, user_agent, expires_at: expires_at.toISOString() });
}

/** A new session of a user who has just proven who it is; the token is for the cookie and known to nobody else. */
export async function startSession(ctx: Context, input: SignIn): Promise<{ session: SessionRow; token: string }> {
  const token = randomToken('');
  const now = ctx.clock.now();
  const session = await insertBrowserSession(ctx.scope, {
    ...signInColumns(ctx, input, token),
    id: uuidv7(now.getTime()),
    user_id: input.user_id,
    created_at: now,
  });
  await emitSessionCreated(ctx, session);
  return { session, token };
}

/**
 * Another sign-in of the user whom the session belongs to: the cookie gets a new token (session fixation) and the sign-in counts as
 * fresh, but the session goes on, with all that was issued in it. Null when it ended meanwhile.
 */
export async function signInAgain(ctx: Context, session_id: string, input: SignIn): Promise<{ session: SessionRow; token: string } | null> {
  const token = randomToken('');
  const session = await renewSession(ctx.scope, session_id, signInColumns(ctx, input, token));
  return session && { session, token };
}

/**
 * Adds proofs to a session, for a step-up or a confirmation: the class never falls, the cookie gets a new token (session fixation), the session
 * goes on. Call it in a transaction. Null when it ended meanwhile.
 */
export async function addProofs(
  tx: Context,
  session_id: string,
  added: readonly SessionProof[],
): Promise<{ session: SessionRow; token: string } | null> {
  const held = await lockSession(tx.scope, session_id);
  if (!held) return null;
  const token = randomToken('');
  const now = tx.clock.now();
  const proven = proofColumns(withProofs(proofsOf(held), added));
  const session = await renewSession(tx.scope, session_id, {
    ...proven,
    has_local_login: added.some(isLocal),
    token_digest: digest(token),
    last_activity_at: now,
    updated_at: now,
  });
  return session && { session, token };
}

/**
 * A browser's session as it stands, null when it has ended. The user is held until the end of the transaction: what ends all sessions, as a reset, a block or
 * the first proof of an address do, doesn't miss what the session is about to attach to the account.
 */
export async function holdSession(tx: Context, { user_id, id }: Pick<BrowserSession, 'user_id' | 'id'>): Promise<SessionRow | null> {
  const user = await lockUser(tx.scope, user_id);
  const session = await findSession(tx.scope, id);
  return user?.status === 'active' && session?.revoked_at === null ? session : null;
}

/**
 * Ends sessions, and with each of them what was issued in it (unless `offline_access` was granted to something else than a device); their clients are told by
 * back-channel logout, webhooks by `session.revoked`. Call it in a transaction.
 * @returns the sessions that were live until now.
 */
export async function endSessions(
  tx: Context,
  which: { id: string } | { ids: readonly string[] } | { user_id: string; except?: string | undefined; device_client_id?: string },
  reason: (typeof sessionEndReasons)[number],
): Promise<SessionRow[]> {
  const ended = await revokeSessions(tx.scope, which, tx.clock.now(), reason);
  for (const session of ended) {
    // A device's session is all that the person sees of the device: nothing outlives it.
    const keep_offline = session.device_client_id === null;
    await revokeGrants(tx.scope, { user_id: session.user_id, session_id: session.id, keep_offline }, grantRevocationEnd(tx));
  }
  const ids = ended.map((session) => session.id);
  if (ids.length > 0) await insertBackchannelLogouts(tx.scope, ids, tx.environment.issuer, tx.clock.now());
  const revoked_at = tx.clock.now().toISOString();
  await emitAll(
    tx,
    'session.revoked',
    ended.map((session) => ({ ...eventData(session), reason, revoked_at })),
  );
  return ended;
}
