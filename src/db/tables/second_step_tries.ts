import { remove, run, table, type Scope } from '../scope.js';

export type SecondStepTriesRow = {
  environment_id: string;
  user_id: string;
  /** Since the last lock. */
  try_count: number;
  /** Since the last success. */
  total_count: number;
  locked_until: Date | null;
};

export type SecondStepLimits = {
  /** With this try the second step is locked until `locked_until`. */
  readonly threshold: number;
  readonly locked_until: Date;
  /** Beyond this many tries without success there is no further one; null: there is. */
  readonly max_total: number | null;
};

/**
 * Counts a second step before it is looked at, in one statement: parallel guesses never get more than their number.
 * @returns the counts with this try (`locked_until` in the future: this was the last one before the lock); null when it may not be looked at
 */
export async function countSecondStep(
  scope: Scope,
  user_id: string,
  { threshold, locked_until, max_total }: SecondStepLimits,
  now: Date,
): Promise<SecondStepTriesRow | null> {
  const text = `insert into second_step_tries as t (environment_id, user_id, try_count, total_count, locked_until)
      values ($1, $2, case when $3 <= 1 then 0 else 1 end, 1, case when $3 <= 1 then $4::timestamptz end)
      on conflict (environment_id, user_id) do update set
        try_count = case when t.try_count + 1 >= $3 then 0 else t.try_count + 1 end,
        total_count = t.total_count + 1,
        locked_until = case when t.try_count + 1 >= $3 then $4 end
      where (t.locked_until is null or t.locked_until <= $6) and ($5::integer is null or t.total_count < $5)
      returning *`;
  const rows = await run<SecondStepTriesRow>(scope, { name: 'second_step_tries.count', text }, [
    user_id,
    threshold,
    locked_until,
    max_total,
    now,
  ]);
  return rows[0] ?? null;
}

/** What was tried, or null. */
export async function findSecondStepTries(scope: Scope, user_id: string): Promise<SecondStepTriesRow | null> {
  const row = await table<SecondStepTriesRow>(scope, 'second_step_tries')
    .where({ user_id } as never)
    .first();
  return (row as SecondStepTriesRow | undefined) ?? null;
}

/** Forgets the tries after a right second step. */
export async function deleteSecondStepTries(scope: Scope, user_id: string): Promise<void> {
  await remove<SecondStepTriesRow>(scope, 'second_step_tries', { user_id });
}
