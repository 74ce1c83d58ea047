import type { Knex } from 'knex';
import { rowFunctions, type RecordRow } from '../records.js';
import { remove, run, table, update, type Scope } from '../scope.js';
import { servedSql } from '../served.js';
import { named } from '../../lib/named.js';
import type { ProfileColumn } from '../../lib/profile-columns.js';
import type { AuthenticatorKind } from './authenticators.js';

/** The `address` claim (OIDC Core 5.1.1). */
export type UserAddress = {
  formatted?: string;
  street_address?: string;
  locality?: string;
  region?: string;
  postal_code?: string;
  country?: string;
};

type OwnColumns = RecordRow & Record<ProfileColumn, string | null>;

/** A row of `users`. `email_key` is the case-folded address: unique, and what sign-in looks for. */
export type UserRow = OwnColumns & {
  email: string;
  email_key: string;
  email_verified: boolean;
  phone_number_verified: boolean;
  address: UserAddress | null;
  external_id: string | null;
  status: 'active' | 'blocked';
  /** Null where it was an administrator, or nobody. */
  blocked_reason: 'directory' | null;
  metadata: Record<string, unknown>;
  password_hash: string | null;
  password_changed_at: Date | null;
  /** When this very password was last looked up among leaked ones; another one makes it null (a trigger), unless it was looked up as it was set. */
  password_looked_up_at: Date | null;
  /** When this very password was found there; ended by another one (the same trigger). */
  password_breached_at: Date | null;
  last_login_at: Date | null;
  login_count: number;
  failed_login_count: number;
  locked_until: Date | null;
  /** The kinds of the active authenticators, sorted; kept by a trigger of authenticators. */
  authenticator_kinds: AuthenticatorKind[];
  /** How many recovery codes are not spent; kept by the same trigger. */
  recovery_codes_left: number;
  /** Whether one factor isn't enough to sign in. */
  two_step_enabled: boolean;
  /** The password came by mail, and no other factor was used since. */
  password_set_by_mail: boolean;
  /** The system that the person came from is asked at the first sign-in; ended by any password (a trigger). */
  pending_migration: boolean;
  /** When the policy first asked for a factor; null while it hasn't. */
  factor_required_since: Date | null;
  /** When the account is deleted, as its person asked; null: it stays. */
  deletion_due_at: Date | null;
};

/** What is written of a user who exists. `email_verified` turns true by {@link setEmailVerified} alone. */
export type UserChanges = Partial<Omit<UserRow, 'email_verified'>> & { email_verified?: false };

export async function findUser(scope: Scope, id: string): Promise<UserRow | null> {
  const text = 'select * from users where environment_id = $1 and id = $2';
  const rows = await run<UserRow>(scope, { name: 'users.find', short: 'look_up', text }, [id]);
  return rows[0] ?? null;
}

/** The user of the case-folded address, or null. */
export async function findUserByEmailKey(scope: Scope, email_key: string): Promise<UserRow | null> {
  const text = 'select * from users where environment_id = $1 and email_key = $2';
  const rows = await run<UserRow>(scope, { name: 'users.find_by_email_key', short: 'look_up', text }, [email_key]);
  return rows[0] ?? null;
}

export const { lock: lockUser, insert: insertUser } = rowFunctions<UserRow>('users');

/** Stores a user unless its address has one already (then null): the index decides, so that two at once make one account. */
export async function insertUserIfNew(scope: Scope, row: Partial<UserRow>): Promise<UserRow | null> {
  scope.touched.add('users');
  const [stored] = await scope
    .knex('users')
    .insert({ ...row, environment_id: scope.environment_id })
    .onConflict(['environment_id', 'email_key'])
    .ignore()
    .returning('*');
  return (stored as UserRow | undefined) ?? null;
}

/** Stores users, but those whose address or external id somebody has already; returns those that were stored. */
export async function insertUsersIfNew(scope: Scope, rows: readonly Partial<UserRow>[]): Promise<UserRow[]> {
  scope.touched.add('users');
  const stored: unknown = await scope
    .knex('users')
    .insert(rows.map((row) => ({ ...row, environment_id: scope.environment_id })))
    .onConflict()
    .ignore()
    .returning('*');
  return stored as UserRow[];
}

/** The users of the case-folded addresses. */
export const findUsersByEmailKeys = (scope: Scope, email_keys: readonly string[]): Promise<UserRow[]> =>
  table<UserRow>(scope, 'users').whereIn('email_key', [...email_keys]) as unknown as Promise<UserRow[]>;

/** Users from the one after the id on, in the order of their ids. */
export async function listUsersAfter(scope: Scope, after: string | null, limit: number): Promise<UserRow[]> {
  const query = table<UserRow>(scope, 'users').orderBy('id').limit(limit);
  return (after === null ? query : query.where('id', '>', after)) as unknown as Promise<UserRow[]>;
}

/**
 * Changes a user and returns it, or null when there is no such user. Whoever writes another address makes it unproven, and so another phone number
 * without saying that it is proven: the proof was of the one before.
 * @throws {Error} for `email_verified` true, whatever the types say
 */
export async function updateUser(scope: Scope, id: string, changes: UserChanges): Promise<UserRow | null> {
  if ((changes.email_verified as boolean | undefined) === true) throw new Error('an address is proven by setEmailVerified');
  const { email_key, email_verified } = changes;
  const moved = email_key !== undefined && email_verified === undefined;
  const email = moved ? { email_verified: scope.knex.raw('email_verified and email_key = ?', [email_key]) as never } : {};
  return update<UserRow>(scope, 'users', { id }, { ...withPhoneProof(scope, changes), ...email });
}

/** Changes a user whose address is proven from now on. For the operation alone that clears the account (`src/domain/users/address-proof.ts`). */
export const setEmailVerified = async (scope: Scope, id: string, changes: UserChanges): Promise<UserRow | null> =>
  update<UserRow>(scope, 'users', { id }, { ...withPhoneProof(scope, changes), email_verified: true });

/** Another phone number is unproven, unless the same write says otherwise. */
function withPhoneProof(scope: Scope, changes: UserChanges): UserChanges {
  const { phone_number, phone_number_verified } = changes;
  const proofs: Record<string, unknown> = named();
  if (phone_number !== undefined && phone_number_verified === undefined)
    proofs['phone_number_verified'] = scope.knex.raw('phone_number_verified and phone_number is not distinct from ?::text', [phone_number]);
  return { ...changes, ...proofs };
}

/**
 * Replaces a password that is still the one that was proven, and returns the user; null when it has been changed meanwhile. Hashing takes
 * time, and a reset that ends in that time must not be undone.
 */
export const replacePassword = async (scope: Scope, id: string, proven_hash: string, changes: UserChanges): Promise<UserRow | null> =>
  update<UserRow>(scope, 'users', { id, password_hash: proven_hash }, changes);

/** Stores the first password of a user whose old system has found it right; null when there is one by now. */
export const adoptPassword = async (scope: Scope, id: string, password_hash: string, at: Date): Promise<UserRow | null> =>
  update<UserRow>(
    scope,
    'users',
    { id, password_hash: null, pending_migration: true },
    { password_hash, password_changed_at: at, updated_at: at },
  );

/**
 * Takes it upon the caller to look up a password that is still the proven one: of many that ask at once one is true, and from then on nobody is until `since`
 * is later. Never once it was found.
 */
export async function claimPasswordLookUp(
  scope: Scope,
  id: string,
  proven_hash: string,
  { at, since }: { at: Date; since: Date },
): Promise<boolean> {
  const text = `update users set password_looked_up_at = $4 where environment_id = $1 and id = $2 and password_hash = $3 and status = 'active'
      and password_breached_at is null and (password_looked_up_at is null or password_looked_up_at < $5)
    returning id`;
  const statement = { name: 'users.claim_password_look_up', short: { kind: 'write', key: 2 }, text } as const;
  return (await run<{ id: string }>(scope, statement, [id, proven_hash, at, since])).length > 0;
}

/** The look-up had no answer: the next sign-in may ask. */
export async function returnPasswordLookUp(scope: Scope, id: string, proven_hash: string): Promise<void> {
  const text = 'update users set password_looked_up_at = null where environment_id = $1 and id = $2 and password_hash = $3';
  await run(scope, { name: 'users.return_password_look_up', short: { kind: 'write', key: 2 }, text }, [id, proven_hash]);
}

/** Notes that the proven password was found among leaked ones, and returns the user; null when it is another one by now, or was found before. */
export const notePasswordBreached = async (scope: Scope, id: string, proven_hash: string, at: Date): Promise<UserRow | null> =>
  update<UserRow>(
    scope,
    'users',
    { id, password_hash: proven_hash, password_breached_at: null, status: 'active' },
    { password_breached_at: at },
  );

/** Accounts of all environments whose time to return is over; those that waited longest first. A blocked one waits until it is unblocked. */
export const listDueDeletions = async (knex: Knex, now: Date, limit: number): Promise<Pick<UserRow, 'environment_id' | 'id'>[]> =>
  knex<UserRow>('users')
    .select('environment_id', 'id')
    .where('deletion_due_at', '<=', now)
    .where('status', 'active')
    .whereRaw(servedSql('environment_id'))
    .orderBy('deletion_due_at')
    .limit(limit);

/**
 * What a sign-in rests on: whether the address was proven when the proofs were judged, and the password's hash, null without one. `guest`: on the word of an
 * organization alone, which takes back no wrong password.
 */
export type LoginBasis = Pick<UserRow, 'id' | 'email_verified'> & { readonly proven_hash: string | null; readonly guest?: boolean };

/**
 * Counts a login and resets the failures, and returns the user; the row is locked against a change until the transaction ends. Null, and nothing is counted,
 * when the user isn't active, the password was changed, or the address was proven for the first time since then. A lock in force stays: a known browser may
 * sign in in spite of it, others may not.
 */
export async function recordLogin(
  scope: Scope,
  { id, email_verified, proven_hash, guest = false }: LoginBasis,
  at: Date,
): Promise<UserRow | null> {
  const text = `update users set last_login_at = $3, login_count = login_count + 1,
        failed_login_count = case when $6 then failed_login_count else 0 end,
        locked_until = case when locked_until > $3 then locked_until end
      where environment_id = $1 and id = $2 and status = 'active'
        and ($4::text is null or password_hash = $4) and ($5 or not email_verified)
      returning *`;
  const rows = await run<UserRow>(scope, { name: 'users.record_login', text }, [id, at, proven_hash, email_verified, guest]);
  return rows[0] ?? null;
}

/** Deletes a user with its codes and tokens, which have no foreign key, and (by cascade) all other rows of the user. */
export async function deleteUser(scope: Scope, id: string): Promise<boolean> {
  for (const name of ['authorization_codes', 'device_codes', 'access_tokens', 'refresh_tokens'])
    await remove<{ user_id: string }>(scope, name, { user_id: id });
  return (await remove<UserRow>(scope, 'users', { id })) > 0;
}
