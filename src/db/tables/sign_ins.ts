import { insert, remove, run, table, type Scope } from '../scope.js';
import type { SessionProof } from './sessions.js';

/** What a half-signed-in person has to do: prove a factor they have, or enrol one. */
export type SignInStage = 'verify' | 'enroll';

/** A row of `sign_ins`: somebody half signed in, in one browser, whose cookie is stored only as its digest. */
export type SignInRow = {
  environment_id: string;
  id: string;
  token_digest: Buffer;
  user_id: string;
  stage: SignInStage;
  proofs: SessionProof[];
  /** The hash of the password that was proven; null when none was. */
  proven_hash: string | null;
  /** What a provider says of the sign-in there; `auth_time` in ISO 8601. */
  provider: { amr: string[]; acr: string | null; auth_time: string | null; sid?: string | null } | null;
  /** The account at a provider that the person comes from, linked before or not: sealed for `sign_ins/<id>`. */
  linking_sealed: Buffer | null;
  attempt_count: number;
  created_at: Date;
  expires_at: Date;
};

const json = (value: unknown) => (value === undefined || value === null ? value : JSON.stringify(value));

export const insertSignIn = async (scope: Scope, row: Partial<SignInRow>): Promise<SignInRow> =>
  insert<SignInRow>(scope, 'sign_ins', { ...row, proofs: json(row.proofs), provider: json(row.provider) } as never);

/** The half sign-in of the cookie's digest while it lasts: not out of time, not out of tries; else null. */
export async function findSignIn(scope: Scope, token_digest: Buffer, max_attempts: number, now: Date): Promise<SignInRow | null> {
  const row = await table<SignInRow>(scope, 'sign_ins')
    .where({ token_digest } as never)
    .where('expires_at', '>', now)
    .where('attempt_count', '<', max_attempts)
    .first();
  return (row as SignInRow | undefined) ?? null;
}

/** Whether the half sign-in of the id has yet to enrol a factor, and hasn't ended. */
export async function isEnrolling(scope: Scope, id: string, now: Date): Promise<boolean> {
  const found = table<SignInRow>(scope, 'sign_ins').where({ id, stage: 'enroll' } as never);
  return (await found.where('expires_at', '>', now).first('id')) !== undefined;
}

/** Counts a try before it is looked at, in one statement. @returns the tries with this one; null when there is none left, or the time is up */
export async function countSignInAttempt(scope: Scope, id: string, max_attempts: number, now: Date): Promise<number | null> {
  const text = `update sign_ins set attempt_count = attempt_count + 1
      where environment_id = $1 and id = $2 and attempt_count < $3 and expires_at > $4 returning attempt_count`;
  const rows = await run<{ attempt_count: number }>(scope, { name: 'sign_ins.count_attempt', text }, [id, max_attempts, now]);
  return rows[0]?.attempt_count ?? null;
}

/** Moves a half sign-in to the step that is due after what was proven meanwhile; null when it is gone. Its time stays what it is. */
export async function advanceSignIn(
  scope: Scope,
  id: string,
  stage: SignInStage,
  proofs: readonly SessionProof[],
): Promise<SignInRow | null> {
  const [row] = await table<SignInRow>(scope, 'sign_ins')
    .where({ id } as never)
    .update({ stage, proofs: json(proofs) } as never)
    .returning('*');
  return (row as SignInRow | undefined) ?? null;
}

/** Takes the half sign-in of the id to complete it: of two at once, one gets the row. Null when it has ended. */
export async function takeSignIn(scope: Scope, id: string, now: Date): Promise<SignInRow | null> {
  const rows = await run<SignInRow>(
    scope,
    { name: 'sign_ins.take', text: 'delete from sign_ins where environment_id = $1 and id = $2 and expires_at > $3 returning *' },
    [id, now],
  );
  return rows[0] ?? null;
}

/** Ends half sign-ins: the one of a browser's cookie, or all of a user; returns how many there were. */
export const deleteSignIns = async (scope: Scope, which: { token_digest: Buffer } | { user_id: string }): Promise<number> =>
  remove<SignInRow>(scope, 'sign_ins', which);
