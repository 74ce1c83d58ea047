import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { run, table, type Scope } from '../scope.js';
import { sameAccount } from './session_accounts.js';
import type { UserRow } from './users.js';

/** How somebody proved who they are; `device` is a browser that skips the second step, `email` a code by mail. */
export type ProofMethod = 'password' | 'provider' | 'email' | 'passkey' | 'totp' | 'recovery_code' | 'device';

export type SessionProof = {
  readonly method: ProofMethod;
  /** The passkey, TOTP, set of recovery codes or device; null for the others. */
  readonly authenticator_id: string | null;
  /** ISO 8601 with milliseconds. */
  readonly at: string;
  /** Of a passkey: the authenticator verified its user (PIN, fingerprint), and didn't only notice somebody. */
  readonly user_verified?: true;
  /** Of a provider: it didn't say when the person signed in there, so `at` is when they came here. */
  readonly at_unknown?: true;
  /** Of a provider: the class that its word is trusted for. */
  readonly asserted?: '2' | 'phr';
  /** Of a provider: nothing is asked after it. */
  readonly suffices?: true;
  /** Of a code by mail: it was asked for as the second step, after another factor; a registration and a first step by mail have one too. */
  readonly second_step?: true;
};

/**
 * A row of `sessions`; the cookie's value is stored only as its digest. `amr` (RFC 8176) are the methods used here and `acr` the class that they reach, both as follows from `proofs`; `provider_amr` and
 * `provider_acr` are those that a provider states, null for sign-ins without one.
 */
export type SessionRow = RecordRow & {
  token_digest: Buffer;
  user_id: string;
  ip_address: string | null;
  user_agent: string | null;
  amr: string[];
  acr: string | null;
  /** Empty for sessions of before proofs were kept. */
  proofs: SessionProof[];
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
  /** The client whose device it is (RFC 8628); null for a browser's session. */
  device_client_id: string | null;
  /** The connections that somebody signed in through during the session. */
  connection_ids: string[];
  /** Whether one of the sign-ins was by something of their account here, or through a connection of the environment: then it is good everywhere. */
  has_local_login: boolean;
  /** The account at a connection that every sign-in of the session came through; null where one of them didn't. */
  provider_connection_id: string | null;
  provider_subject: string | null;
  provider_sid: string | null;
};

/** A session with what pages and checks need of its user. */
export type SessionWithUser = SessionRow & {
  user_status: 'active' | 'blocked';
  user_email: string;
  user_email_key: string;
  /** A BCP 47 tag. */
  user_locale: string | null;
  user_first_name: string | null;
  user_last_name: string | null;
  user_authenticator_kinds: UserRow['authenticator_kinds'];
  user_two_step_enabled: boolean;
  user_factor_required_since: Date | null;
  /** Clients that the user, or an administrator for them, has blocked. */
  blocked_clients: string[];
};

/** A session runs out unless each of these columns is later than its bound (specification 4.7.4). */
const mustBeLaterThan = { expires_at: 'now', signed_in_at: 'signed_in_after', last_activity_at: 'active_after' } as const satisfies Partial<
  Record<keyof SessionRow, string>
>;

type BoundedColumn = keyof typeof mustBeLaterThan;
const boundedColumns = Object.keys(mustBeLaterThan) as BoundedColumn[];

type Bounds<T> = Readonly<Record<(typeof mustBeLaterThan)[BoundedColumn], T>>;

/** The moments that a session's columns are compared with; `sessionBounds` of domain/sessions makes them of the environment's lifetimes. */
export type SessionBounds = Bounds<Date>;

/**
 * SQL: whether the row of `sessions` with the alias `s` is a live session: neither ended nor run out. Null when there is no such row.
 * @param bounds parameters or other expressions in the place of the moments
 */
export const isLiveSql = (s: string, bounds: Bounds<string>): string =>
  `(${[`${s}.revoked_at is null`, ...boundedColumns.map((column) => `${s}.${column} > ${bounds[mustBeLaterThan[column]]}`)].join(' and ')})`;

/** Whether the session has run out, whether or not somebody ended it before. */
export const hasRunOut = (session: Pick<SessionRow, BoundedColumn>, bounds: SessionBounds): boolean =>
  boundedColumns.some((column) => session[column] <= bounds[mustBeLaterThan[column]]);

/** A bound for `active_after` where idleness doesn't count. */
export const ignoreActivity = `'-infinity'`;

const placeholders: Bounds<string> = { now: '?', signed_in_after: '?', active_after: '?' };

/** SQL with `?` and its values: sessions that are live. */
export const isLive = (bounds: SessionBounds): { sql: string; values: Date[] } => ({
  sql: isLiveSql('sessions', placeholders),
  values: boundedColumns.map((column) => bounds[mustBeLaterThan[column]]),
});

export async function findSessionByToken(scope: Scope, token_digest: Buffer): Promise<SessionWithUser | null> {
  const text = `select s.*, u.status as user_status, u.email as user_email, u.email_key as user_email_key, u.locale as user_locale,
        u.first_name as user_first_name, u.last_name as user_last_name,
        u.authenticator_kinds as user_authenticator_kinds, u.two_step_enabled as user_two_step_enabled,
        u.factor_required_since as user_factor_required_since,
        array(select b.client_id from authorizations b where b.environment_id = u.environment_id and b.user_id = u.id
          and b.blocked_at is not null) as blocked_clients
      from sessions s join users u on u.environment_id = s.environment_id and u.id = s.user_id
      where s.environment_id = $1 and s.token_digest = $2`;
  const rows = await run<SessionWithUser>(scope, { name: 'sessions.find_by_token', short: 'look_up', text }, [token_digest]);
  return rows[0] ?? null;
}

export const { find: findSession, insert: insertSession } = rowFunctions<SessionRow>('sessions', withJsonProofs);

/** What is stored of somebody's sign-in with a browser. */
export type BrowserSessionRow = Omit<SessionRow, 'environment_id' | 'device_client_id' | 'revoked_at' | 'revoke_reason' | 'version'>;

const insertText = `insert into sessions (environment_id, id, token_digest, user_id, ip_address, user_agent, amr, acr, proofs, provider_amr, provider_acr,
    authenticated_at, auth_time_known, signed_in_at, last_activity_at, expires_at, created_at, updated_at, connection_ids, has_local_login, provider_connection_id, provider_subject, provider_sid)
  values (${Array.from({ length: 23 }, (_, index) => `$${index + 1}`).join(', ')}) returning *`;

export async function insertBrowserSession(scope: Scope, row: BrowserSessionRow): Promise<SessionRow> {
  scope.touched.add('sessions');
  const [stored] = await run<SessionRow>(scope, { name: 'sessions.insert', text: insertText }, [
    row.id, row.token_digest, row.user_id, row.ip_address, row.user_agent, row.amr, row.acr, JSON.stringify(row.proofs), row.provider_amr, row.provider_acr,
    row.authenticated_at, row.auth_time_known, row.signed_in_at, row.last_activity_at, row.expires_at, row.created_at, row.updated_at,
    row.connection_ids, row.has_local_login, row.provider_connection_id, row.provider_subject, row.provider_sid,
  ]); // prettier-ignore
  return stored as SessionRow;
}

/** A list needs to be text for a column of JSON: `pg` would write it as an array of Postgres. */
function withJsonProofs(row: Partial<SessionRow>): Partial<SessionRow> {
  return row.proofs === undefined ? row : { ...row, proofs: JSON.stringify(row.proofs) as never };
}

/** The session of the id, held until the transaction ends; null when it has ended. */
export async function lockSession(scope: Scope, id: string): Promise<SessionRow | null> {
  const row = await table<SessionRow>(scope, 'sessions').where({ id }).whereNull('revoked_at').forUpdate().first();
  return (row as SessionRow | undefined) ?? null;
}

/**
 * Gives a live session a new token and a new sign-in; its id stays, so what was issued in it does too. How somebody signed in joins what is known of that.
 * Null when it ended meanwhile.
 */
export async function renewSession(scope: Scope, id: string, changes: Partial<SessionRow>): Promise<SessionRow | null> {
  const { connection_ids = [], has_local_login = false, provider_connection_id, provider_subject, provider_sid, ...others } = changes;
  // Not said where proofs are added: that is no sign-in of its own.
  const through = provider_connection_id === undefined ? {} : sameAccount(scope, provider_connection_id, provider_subject, provider_sid);
  const [row] = await table<SessionRow>(scope, 'sessions')
    .where({ id })
    .whereNull('revoked_at')
    .update({
      ...withJsonProofs(others),
      ...through,
      connection_ids: scope.knex.raw('array(select distinct unnest(sessions.connection_ids || ?::uuid[]))', [connection_ids]) as never,
      has_local_login: scope.knex.raw('sessions.has_local_login or ?::boolean', [has_local_login]) as never,
      version: scope.knex.raw('version + 1') as never,
    })
    .returning('*');
  return (row as SessionRow | undefined) ?? null;
}

/** Sets the last activity of a live session to `bounds.now`, and never its expiry. Null when it isn't live. */
export async function touchSession(scope: Scope, id: string, bounds: SessionBounds): Promise<SessionRow | null> {
  const live = isLive(bounds);
  const at = bounds.now;
  const [row] = await table<SessionRow>(scope, 'sessions')
    .where({ id })
    .whereRaw(live.sql, live.values)
    .update({ last_activity_at: at, updated_at: at, version: scope.knex.raw('version + 1') as never })
    .returning('*');
  return (row as SessionRow | undefined) ?? null;
}

/** Marks live sessions as revoked and returns them. `except` keeps one of them; with `device_client_id` only those of the client's devices, anybody's without `user_id`. */
export async function revokeSessions(
  scope: Scope,
  which:
    | { id: string }
    | { ids: readonly string[] }
    | { user_id: string; except?: string | undefined; device_client_id?: string }
    | { device_client_id: string },
  at: Date,
  reason: string,
): Promise<SessionRow[]> {
  const rows = table<SessionRow>(scope, 'sessions').whereNull('revoked_at');
  if ('id' in which) rows.where({ id: which.id });
  if ('ids' in which) rows.whereIn('id', [...which.ids]);
  if ('user_id' in which) rows.where({ user_id: which.user_id });
  if ('device_client_id' in which && which.device_client_id !== undefined) rows.where({ device_client_id: which.device_client_id });
  if ('except' in which && which.except !== undefined) rows.whereNot({ id: which.except });
  return rows
    .update({ revoked_at: at, revoke_reason: reason, updated_at: at, version: scope.knex.raw('version + 1') as never })
    .returning('*') as unknown as Promise<SessionRow[]>;
}

/** Ends every session of every environment. @returns how many */
export const revokeAllSessions = async (knex: Knex, at: Date, reason: string): Promise<number> =>
  knex<SessionRow>('sessions')
    .whereNull('revoked_at')
    .update({ revoked_at: at, revoke_reason: reason, updated_at: at, version: knex.raw('version + 1') as never });

/** A hundred of them at most, last active first. */
const lastActive = (sessions: Knex.QueryBuilder) =>
  sessions.orderBy('last_activity_at', 'desc').limit(100) as unknown as Promise<SessionRow[]>;

/** The user's live sessions, last active first; at most 100. */
export async function listLiveSessionsOfUser(scope: Scope, user_id: string, bounds: SessionBounds): Promise<SessionRow[]> {
  const live = isLive(bounds);
  return lastActive(table<SessionRow>(scope, 'sessions').where({ user_id }).whereRaw(live.sql, live.values));
}

/** The user's sessions that were ended for this reason since that moment, last active first; at most 100. */
export const listSessionsEnded = async (scope: Scope, user_id: string, reason: string, since: Date): Promise<SessionRow[]> =>
  lastActive(table<SessionRow>(scope, 'sessions').where({ user_id, revoke_reason: reason }).where('revoked_at', '>=', since));
