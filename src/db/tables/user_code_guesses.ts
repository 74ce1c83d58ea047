import { run, type Scope } from '../scope.js';

/** How many user codes a guesser may type in how long a time, in seconds. */
export type GuessLimit = { readonly limit: number; readonly seconds: number };

const since = (now: Date, seconds: number) => new Date(now.getTime() - seconds * 1000);

/** Counts a try before the code is looked at; false, and nothing is counted, when the guesser has used them up. The row's lock puts parallel tries in order. */
export async function countUserCodeGuess(scope: Scope, guesser: Buffer, { limit, seconds }: GuessLimit, now: Date): Promise<boolean> {
  const text = `
    insert into user_code_guesses as g (environment_id, guesser_digest, guessed_at, expires_at) values ($1, $2, array[$3::timestamptz], $6)
    on conflict (environment_id, guesser_digest) do update set
      guessed_at = array(select one from unnest(g.guessed_at) one where one > $4) || excluded.guessed_at, expires_at = excluded.expires_at
    where (select count(*) from unnest(g.guessed_at) one where one > $4) < $5
    returning guesser_digest`;
  const expires_at = new Date(now.getTime() + seconds * 1000);
  const values = [guesser, now, since(now, seconds), limit, expires_at];
  return (await run(scope, { name: 'user_code_guesses.count', text }, values)).length > 0;
}

/** Takes a counted try back: the code was right. */
export async function returnUserCodeGuess(scope: Scope, guesser: Buffer): Promise<void> {
  const text = `update user_code_guesses set guessed_at = guessed_at[1:cardinality(guessed_at) - 1] where environment_id = $1 and guesser_digest = $2`;
  await run(scope, { name: 'user_code_guesses.return', text }, [guesser]);
}

/** When the oldest try that still counts was; null when there is none. */
export async function findOldestUserCodeGuess(scope: Scope, guesser: Buffer, { seconds }: GuessLimit, now: Date): Promise<Date | null> {
  const text = `
    select min(one) as at from user_code_guesses, unnest(guessed_at) one where environment_id = $1 and guesser_digest = $2 and one > $3`;
  const rows = await run<{ at: Date | null }>(scope, { name: 'user_code_guesses.oldest', text }, [guesser, since(now, seconds)]);
  return rows[0]?.at ?? null;
}
