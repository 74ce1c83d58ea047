import { insert, run, table, update, type Scope } from '../scope.js';

/** What a passcode is for. */
export type PasscodePurpose = 'registration' | 'password_reset';

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
  superseded_digests: Buffer[];
  link_digest: Buffer | null;
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

/** The passcode of the id, or null. */
export async function findPasscode(scope: Scope, purpose: PasscodePurpose, id: string): Promise<PasscodeRow | null> {
  return (
    (await table<PasscodeRow>(scope, 'passcodes')
      .where({ id, purpose } as never)
      .first()) ?? null
  );
}

/** Stores a passcode. */
export async function insertPasscode(scope: Scope, row: Partial<PasscodeRow>): Promise<PasscodeRow> {
  return insert<PasscodeRow>(scope, 'passcodes', row);
}

/** What bounds the tries: `max_attempts` at one code, `max_wrong` at all codes of the address since `since`. */
export type AttemptLimits = { readonly max_attempts: number; readonly max_wrong: number; readonly since: Date };

/**
 * Counts a try in one statement, before the code is looked at, so that parallel guesses never get more than their number. Null:
 * there is no such passcode that may still be tried.
 */
export async function countAttempt(
  scope: Scope,
  which: { purpose: PasscodePurpose; id: string },
  limits: AttemptLimits,
  now: Date,
): Promise<PasscodeRow | null> {
  const rows = await run<PasscodeRow>(
    scope,
    {
      name: 'passcodes.count_attempt',
      text: `update passcodes p set attempt_count = p.attempt_count + 1, attempt_total = p.attempt_total + 1
             where p.environment_id = $1 and p.id = $2 and p.purpose = $3 and p.consumed_at is null and p.expires_at > $4
               and p.attempt_count < $5
               and (select coalesce(sum(o.attempt_total), 0) from passcodes o
                    where o.environment_id = $1 and o.purpose = $3 and o.email_key = p.email_key and o.created_at > $7) < $6
             returning p.*`,
    },
    [which.id, which.purpose, now, limits.max_attempts, limits.max_wrong, limits.since],
  );
  return rows[0] ?? null;
}

/** Gives a try back: the code was right, but what came with it was refused. */
export async function refundAttempt(scope: Scope, id: string): Promise<void> {
  await run(
    scope,
    {
      name: 'passcodes.refund_attempt',
      text: `update passcodes set attempt_count = greatest(attempt_count - 1, 0), attempt_total = greatest(attempt_total - 1, 0)
             where environment_id = $1 and id = $2`,
    },
    [id],
  );
}

/** Spends the passcode in one conditional statement; null when somebody else has, or when the code was replaced meanwhile. */
export async function consumePasscode(
  scope: Scope,
  proven: Pick<PasscodeRow, 'id' | 'code_digest'>,
  now: Date,
  token: { token_digest: Buffer; token_expires_at: Date } | null = null,
): Promise<PasscodeRow | null> {
  const rows = await run<PasscodeRow>(
    scope,
    {
      name: 'passcodes.consume',
      text: `update passcodes set consumed_at = $4, token_digest = $5, token_expires_at = $6
             where environment_id = $1 and id = $2 and code_digest = $3 and consumed_at is null and expires_at > $4
             returning *`,
    },
    [proven.id, proven.code_digest, now, token?.token_digest ?? null, token?.token_expires_at ?? null],
  );
  return rows[0] ?? null;
}

/** What a new code for the same passcode stores. */
export type Resend = { code_digest: Buffer; expires_at: Date; now: Date; sent_before: Date; max_sent: number; started_after: Date };

/** Replaces the code by another; null when it is too early, was done too often, or the passcode is spent. One statement decides. */
export async function renewPasscode(scope: Scope, id: string, resend: Resend): Promise<PasscodeRow | null> {
  const rows = await run<PasscodeRow>(
    scope,
    {
      name: 'passcodes.renew',
      text: `update passcodes set superseded_digests = array_append(superseded_digests, code_digest), code_digest = $3, attempt_count = 0,
               expires_at = $4, sent_at = $5, sent_count = sent_count + 1
             where environment_id = $1 and id = $2 and consumed_at is null and sent_at <= $6 and sent_count < $7 and created_at > $8
             returning *`,
    },
    [id, resend.code_digest, resend.expires_at, resend.now, resend.sent_before, resend.max_sent, resend.started_after],
  );
  return rows[0] ?? null;
}

/** The registration that the token goes on with, or null; locked, so that of two uses at once the later one finds it completed. */
export async function lockByToken(scope: Scope, token_digest: Buffer, now: Date): Promise<PasscodeRow | null> {
  const row = await table<PasscodeRow>(scope, 'passcodes')
    .where({ token_digest } as never)
    .whereNull('completed_at')
    .where('token_expires_at', '>', now)
    .forUpdate()
    .first();
  return (row as PasscodeRow | undefined) ?? null;
}

/** The registration that the token goes on with, or null. */
export async function findByToken(scope: Scope, token_digest: Buffer, now: Date): Promise<PasscodeRow | null> {
  const row = await table<PasscodeRow>(scope, 'passcodes')
    .where({ token_digest } as never)
    .whereNull('completed_at')
    .where('token_expires_at', '>', now)
    .first();
  return (row as PasscodeRow | undefined) ?? null;
}

/** Marks a registration as completed: its token is spent. */
export async function completePasscode(scope: Scope, id: string, now: Date): Promise<void> {
  await update<PasscodeRow>(scope, 'passcodes', { id }, { completed_at: now }, false);
}

/** Ends the open password resets of a user and returns how many there were. */
export async function voidPasswordResets(scope: Scope, user_id: string, now: Date): Promise<number> {
  return table<PasscodeRow>(scope, 'passcodes')
    .where({ user_id, purpose: 'password_reset' } as never)
    .whereNull('consumed_at')
    .update({ consumed_at: now } as never);
}
