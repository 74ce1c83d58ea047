import { run, type Scope } from '../scope.js';

/** How many wrong codes came in the window, if it began after `since`; else 0. */
export async function countGuesses(scope: Scope, since: Date): Promise<number> {
  const rows = await run<{ guess_count: number }>(
    scope,
    {
      name: 'passcode_budgets.count',
      text: 'select guess_count from passcode_budgets where environment_id = $1 and window_started_at > $2',
    },
    [since],
  );
  return rows[0]?.guess_count ?? 0;
}

/** Takes a counted guess back, because it was right. */
export async function returnGuess(scope: Scope): Promise<void> {
  await run(
    scope,
    {
      name: 'passcode_budgets.return',
      text: 'update passcode_budgets set guess_count = greatest(guess_count - 1, 0) where environment_id = $1',
    },
    [],
  );
}

/** Notes that half of the budget is used; true for the one caller that is the first of its window. */
export async function noteHalfUsed(scope: Scope, half: number, now: Date): Promise<boolean> {
  const rows = await run(
    scope,
    {
      name: 'passcode_budgets.note_half',
      text: `update passcode_budgets set half_noted_at = $3
             where environment_id = $1 and guess_count >= $2 and half_noted_at is null returning guess_count`,
    },
    [half, now],
  );
  return rows.length > 0;
}
