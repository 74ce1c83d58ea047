import { rowFunctions } from '../records.js';
import { run, table, update, type Scope } from '../scope.js';

export type PasscodePurpose = 'registration' | 'password_reset' | 'sign_in' | 'second_step' | 'email_change';

/** A row of `passcodes`; no column holds a code or token that could be used. */
export type PasscodeRow = {
  environment_id: string;
  id: string;
  purpose: PasscodePurpose;
  email: string;
  email_key: string;
  user_id: string | null;
  initiated_by: 'user' | 'admin';
  code_digest: Buffer;
  /** Digits; more than six need no budget of the environment. */
  code_length: number;
  superseded_digests: Buffer[];
  link_digest: Buffer | null;
  /** A digest of the browser, half sign-in or session that the code is good for; null for purposes that are bound to none. */
  bound_digest: Buffer | null;
  attempt_count: number;
  attempt_total: number;
  sent_count: number;
  sent_at: Date;
  expires_at: Date;
  consumed_at: Date | null;
  token_digest: Buffer | null;
  token_expires_at: Date | null;
  completed_at: Date | null;
  created_at: Date;
};

export const findPasscode = async (scope: Scope, purpose: PasscodePurpose, id: string): Promise<PasscodeRow | null> =>
  (await table<PasscodeRow>(scope, 'passcodes')
    .where({ id, purpose } as never)
    .first()) ?? null;

export const { insert: insertPasscode } = rowFunctions<PasscodeRow>('passcodes');

/**
 * Limits of tries: `max_attempts` at one code; for codes of six digits, since `since`, `max_wrong` at all codes of the address (of one that is bound to a browser:
 * at those that are bound to the same), and `budget` at all of the environment.
 */
export type AttemptLimits = { readonly max_attempts: number; readonly max_wrong: number; readonly budget: number; readonly since: Date };

export type CountedAttempt = {
  /** Null: there is none that may still be tried, or the environment's budget, which its code needs, is used up. */
  readonly passcode: PasscodeRow | null;
  /** The guesses of the environment with this one; null when the budget is used up, or the code needs none. */
  readonly guess_count: number | null;
  /** Whether operators know that half of the budget is used. */
  readonly half_noted: boolean;
  /** When the budget's window began; null while it isn't used up. */
  readonly used_up_since: Date | null;
};

/**
 * Counts a try in one statement, before the code is looked at, so that parallel guesses never get more than their number: against the code,
 * its address, and the budget of the environment; the last two a code of more than six digits doesn't need.
 */
export async function countAttempt(
  scope: Scope,
  which: { purpose: PasscodePurpose; id: string },
  limits: AttemptLimits,
  now: Date,
): Promise<CountedAttempt> {
  type Counted = PasscodeRow & { found: string | null; guess_count: number | null; half_noted: boolean | null; used_up_since: Date | null };
  const values = [which.id, which.purpose, now, limits.max_attempts, limits.max_wrong, limits.since, limits.budget];
  const [row] = await run<Counted>(scope, countStatement, values);
  if (!row) return { passcode: null, guess_count: null, half_noted: false, used_up_since: null };
  const { found, guess_count, half_noted, used_up_since, ...passcode } = row;
  return { passcode: found === null ? null : passcode, guess_count, half_noted: half_noted === true, used_up_since };
}

/** SQL: the passcode `p` may still be tried. */
const triable = `p.environment_id = $1 and p.id = $2 and p.purpose = $3 and p.consumed_at is null and p.expires_at > $4
  and p.attempt_count < $5
  and (p.code_length > 6 or (select coalesce(sum(o.attempt_total), 0) from passcodes o
       where o.environment_id = $1 and o.purpose = $3 and o.email_key = p.email_key and o.created_at > $7
         and (p.bound_digest is null or o.bound_digest = p.bound_digest)) < $6)`;

const countStatement = {
  name: 'passcodes.count_attempt',
  text: `
    with candidate as (
      select p.code_length from passcodes p where ${triable}
    ), budget as (
      insert into passcode_budgets as b (environment_id, window_started_at, guess_count)
      select $1, $4, 1 from candidate where code_length <= 6
      on conflict (environment_id) do update set
        window_started_at = case when b.window_started_at <= $7 then excluded.window_started_at else b.window_started_at end,
        guess_count = case when b.window_started_at <= $7 then 1 else b.guess_count + 1 end,
        half_noted_at = case when b.window_started_at <= $7 then null else b.half_noted_at end
      where b.window_started_at <= $7 or b.guess_count < $8
      returning guess_count, half_noted_at
    ), tried as (
      update passcodes p set attempt_count = p.attempt_count + 1, attempt_total = p.attempt_total + 1
      from candidate c left join budget b on true
      where ${triable} and p.code_length = c.code_length and (c.code_length > 6 or b.guess_count is not null)
      returning p.*
    )
    select t.*, t.id as found, b.guess_count, b.half_noted_at is not null as half_noted,
      case when b.guess_count is null and c.code_length <= 6 then (select window_started_at from passcode_budgets where environment_id = $1) end as used_up_since
    from candidate c left join budget b on true left join tried t on true`,
} as const;

/** Takes a counted try back: the code was right, but other input was refused. */
export async function refundAttempt(scope: Scope, id: string): Promise<void> {
  const text = `update passcodes set attempt_count = greatest(attempt_count - 1, 0), attempt_total = greatest(attempt_total - 1, 0)
      where environment_id = $1 and id = $2`;
  await run(scope, { name: 'passcodes.refund_attempt', text }, [id]);
}

/** Spends the passcode in one conditional statement; null when somebody else has, or when the code was replaced meanwhile. */
export async function consumePasscode(
  scope: Scope,
  proven: Pick<PasscodeRow, 'id' | 'code_digest'>,
  now: Date,
  token: { token_digest: Buffer; token_expires_at: Date } | null = null,
): Promise<PasscodeRow | null> {
  const text = `update passcodes set consumed_at = $4, token_digest = $5, token_expires_at = $6
      where environment_id = $1 and id = $2 and code_digest = $3 and consumed_at is null and expires_at > $4
      returning *`;
  const rows = await run<PasscodeRow>(scope, { name: 'passcodes.consume', text }, [
    proven.id,
    proven.code_digest,
    now,
    token?.token_digest ?? null,
    token?.token_expires_at ?? null,
  ]);
  return rows[0] ?? null;
}

/** What a new code for the same passcode stores. */
export type Resend = {
  code_digest: Buffer;
  code_length: number;
  expires_at: Date;
  now: Date;
  sent_before: Date;
  max_sent: number;
  started_after: Date;
};

/** Replaces the code by another; null when it is too early, was done too often, or the passcode is spent. One statement decides. */
export async function renewPasscode(scope: Scope, id: string, resend: Resend): Promise<PasscodeRow | null> {
  const text = `update passcodes set superseded_digests = array_append(superseded_digests, code_digest), code_digest = $3, code_length = $9, attempt_count = 0,
        expires_at = $4, sent_at = $5, sent_count = sent_count + 1
      where environment_id = $1 and id = $2 and consumed_at is null and sent_at <= $6 and sent_count < $7 and created_at > $8
      returning *`;
  const rows = await run<PasscodeRow>(scope, { name: 'passcodes.renew', text }, [
    id,
    resend.code_digest,
    resend.expires_at,
    resend.now,
    resend.sent_before,
    resend.max_sent,
    resend.started_after,
    resend.code_length,
  ]);
  return rows[0] ?? null;
}

const openByToken = (scope: Scope, token_digest: Buffer, now: Date) =>
  table<PasscodeRow>(scope, 'passcodes')
    .where({ token_digest } as never)
    .whereNull('completed_at')
    .where('token_expires_at', '>', now)
    .first();

/** The registration that the token goes on with, or null; locked, so that of two uses at once the later one finds it completed. */
export const lockByToken = async (scope: Scope, token_digest: Buffer, now: Date): Promise<PasscodeRow | null> =>
  ((await openByToken(scope, token_digest, now).forUpdate()) as PasscodeRow | undefined) ?? null;

/** The registration that the token goes on with, or null. */
export const findByToken = async (scope: Scope, token_digest: Buffer, now: Date): Promise<PasscodeRow | null> =>
  ((await openByToken(scope, token_digest, now)) as PasscodeRow | undefined) ?? null;

/** Marks a registration as completed: its token is spent. */
export async function completePasscode(scope: Scope, id: string, now: Date): Promise<void> {
  await update<PasscodeRow>(scope, 'passcodes', { id }, { completed_at: now }, false);
}

/** The latest passcode of a purpose that is bound to the same browser, half sign-in or session, and neither spent nor over; null without one. */
export async function findBoundPasscode(
  scope: Scope,
  which: { purpose: PasscodePurpose; user_id: string; bound_digest: Buffer },
  now: Date,
): Promise<PasscodeRow | null> {
  const row = await table<PasscodeRow>(scope, 'passcodes')
    .where(which as never)
    .whereNull('consumed_at')
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .first();
  return (row as PasscodeRow | undefined) ?? null;
}

/** Ends the open password resets of a user and returns how many there were. */
export const voidPasswordResets = async (scope: Scope, user_id: string, now: Date): Promise<number> =>
  table<PasscodeRow>(scope, 'passcodes')
    .where({ user_id, purpose: 'password_reset' } as never)
    .whereNull('consumed_at')
    .update({ consumed_at: now } as never);

/** Ends every code of a user that was not used yet, whatever it is for. */
export const voidPasscodes = async (scope: Scope, user_id: string, now: Date): Promise<number> =>
  table<PasscodeRow>(scope, 'passcodes')
    .where({ user_id } as never)
    .whereNull('consumed_at')
    .update({ consumed_at: now } as never);
