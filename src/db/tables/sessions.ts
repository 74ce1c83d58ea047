import { insert, run, table, type Scope } from '../scope.js';

/**
 * A row of `sessions`; the cookie's value is stored only as its digest. `amr` are RFC 8176 values, of what was proven here; what a provider
 * says of the manner is `provider_amr` and `provider_acr`, null for sign-ins without one.
 */
export type SessionRow = {
  environment_id: string;
  id: string;
  token_digest: Buffer;
  user_id: string;
  ip_address: string | null;
  user_agent: string | null;
  amr: string[];
  acr: string | null;
  provider_amr: string[] | null;
  provider_acr: string | null;
  /** When the person proved who they are, here or at the provider: never later than the provider says. */
  authenticated_at: Date;
  /** False: the provider didn't say when; `authenticated_at` is then when the person came in here, and no proof of a fresh sign-in. */
  auth_time_known: boolean;
  /** When the person last signed in to this browser, however old the provider's sign-in was. */
  signed_in_at: Date;
  last_activity_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  revoke_reason: string | null;
  created_at: Date;
  updated_at: Date;
  version: number;
};

/** A session with what pages and checks need of its user. */
export type SessionWithUser = SessionRow & {
  user_status: 'active' | 'blocked';
  user_email: string;
  user_first_name: string | null;
  user_last_name: string | null;
};

/** The session of the cookie's digest with its user, or null. */
export async function findSessionByToken(scope: Scope, token_digest: Buffer): Promise<SessionWithUser | null> {
  const rows = await run<SessionWithUser>(
    scope,
    {
      name: 'sessions.find_by_token',
      short: 'look_up',
      text: `select s.*, u.status as user_status, u.email as user_email, u.first_name as user_first_name, u.last_name as user_last_name
             from sessions s join users u on u.environment_id = s.environment_id and u.id = s.user_id
             where s.environment_id = $1 and s.token_digest = $2`,
    },
    [token_digest],
  );
  return rows[0] ?? null;
}

/** The session of the id, or null. */
export async function findSession(scope: Scope, id: string): Promise<SessionRow | null> {
  return (await table<SessionRow>(scope, 'sessions').where({ id }).first()) ?? null;
}

/** Stores a session. */
export async function insertSession(scope: Scope, row: Partial<SessionRow>): Promise<SessionRow> {
  return insert<SessionRow>(scope, 'sessions', row);
}

/** Gives a live session a new token and a new sign-in; its id stays, so what was issued in it does too. Null when it ended meanwhile. */
export async function renewSession(scope: Scope, id: string, changes: Partial<SessionRow>): Promise<SessionRow | null> {
  const [row] = await table<SessionRow>(scope, 'sessions')
    .where({ id })
    .whereNull('revoked_at')
    .update({ ...changes, version: scope.knex.raw('version + 1') as never })
    .returning('*');
  return (row as SessionRow | undefined) ?? null;
}

/** Moves the last activity of a session that is still live; never its expiry. Returns null when it isn't live. */
export async function touchSession(scope: Scope, id: string, at: Date): Promise<SessionRow | null> {
  const [row] = await table<SessionRow>(scope, 'sessions')
    .where({ id })
    .whereNull('revoked_at')
    .where('expires_at', '>', at)
    .update({ last_activity_at: at, updated_at: at, version: scope.knex.raw('version + 1') as never })
    .returning('*');
  return (row as SessionRow | undefined) ?? null;
}

/** Marks live sessions as revoked and returns them. `except` keeps one of them. */
export async function revokeSessions(
  scope: Scope,
  which: { id: string } | { user_id: string; except?: string | undefined },
  at: Date,
  reason: string,
): Promise<SessionRow[]> {
  const rows = table<SessionRow>(scope, 'sessions').whereNull('revoked_at');
  if ('id' in which) rows.where({ id: which.id });
  else rows.where({ user_id: which.user_id });
  if ('except' in which && which.except !== undefined) rows.whereNot({ id: which.except });
  return rows
    .update({ revoked_at: at, revoke_reason: reason, updated_at: at, version: scope.knex.raw('version + 1') as never })
    .returning('*') as unknown as Promise<SessionRow[]>;
}

const shownSessions = 100;

/** The user's sessions that were neither ended nor have run out, last active first. */
export async function listOpenSessionsOfUser(scope: Scope, user_id: string, now: Date): Promise<SessionRow[]> {
  return table<SessionRow>(scope, 'sessions')
    .where({ user_id } as never)
    .whereNull('revoked_at')
    .where('expires_at', '>', now)
    .orderBy('last_activity_at', 'desc')
    .limit(shownSessions) as unknown as Promise<SessionRow[]>;
}

/** The user's sessions that were ended for this reason since that moment, last active first. */
export async function listSessionsEnded(scope: Scope, user_id: string, reason: string, since: Date): Promise<SessionRow[]> {
  return table<SessionRow>(scope, 'sessions')
    .where({ user_id, revoke_reason: reason } as never)
    .where('revoked_at', '>=', since)
    .orderBy('last_activity_at', 'desc')
    .limit(shownSessions) as unknown as Promise<SessionRow[]>;
}
