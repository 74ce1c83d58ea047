import { run, type Scope } from '../scope.js';
import type { PasscodePurpose } from './passcodes.js';

/** How many wrong codes came since `since`: at six-digit codes of the environment, in its window, and at all codes of the address for the purpose. */
export async function countGuesses(
  scope: Scope,
  { purpose, email_key }: { readonly purpose: PasscodePurpose; readonly email_key: string },
  since: Date,
): Promise<{ environment: number; address: number }> {
  const text = `select
      coalesce((select guess_count from passcode_budgets where environment_id = $1 and window_started_at > $2), 0) as environment,
      (select coalesce(sum(attempt_total), 0)::integer from passcodes
       where environment_id = $1 and purpose = $3 and email_key = $4 and created_at > $2) as address`;
  const [row] = await run<{ environment: number; address: number }>(scope, { name: 'passcode_budgets.count', text }, [
    since,
    purpose,
    email_key,
  ]);
  return row ?? { environment: 0, address: 0 };
}

/** Takes a counted guess back, because it was right. */
export async function returnPasscodeGuess(scope: Scope): Promise<void> {
  const text = 'update passcode_budgets set guess_count = greatest(guess_count - 1, 0) where environment_id = $1';
  await run(scope, { name: 'passcode_budgets.return', text }, []);
}

/** Notes that half of the budget is used; true for the one caller that is the first of its window. */
export async function noteHalfUsed(scope: Scope, half: number, now: Date): Promise<boolean> {
  const text = `update passcode_budgets set half_noted_at = $3
      where environment_id = $1 and guess_count >= $2 and half_noted_at is null returning guess_count`;
  const rows = await run(scope, { name: 'passcode_budgets.note_half', text }, [half, now]);
  return rows.length > 0;
}
