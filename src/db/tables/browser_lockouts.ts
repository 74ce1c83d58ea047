import { run, type Scope } from '../scope.js';

/** How wrong passwords lock: from `threshold` on, until `locked_until`. `expires_at`: until when those of a browser are remembered. */
export type Lockout = { readonly threshold: number; readonly locked_until: Date; readonly now: Date; readonly expires_at: Date };

/** What a password is tried at: an account, and the browser when the account knows it. */
export type PasswordTry = { readonly user_id: string; readonly browser_digest: Buffer | null };

/** Whether this very try locked the browser, and the account; null where it wasn't counted, because it was locked already or there is none. */
export type CountedTry = { readonly browser_locked: boolean | null; readonly account_locked: boolean | null };

// The commit doesn't wait for the disk: the wait would tell a known account, which has a row to write, from an unknown one; a crash of the database
// forgets the counts of its last moments.
const hasty = `hasty as materialized (select set_config('synchronous_commit', 'off', true))`;

/**
 * Counts a password before it is looked at, in one conditional statement, so that parallel guesses get no more than their number: the one that reaches
 * `threshold` is the last and locks, and the count starts anew. Of a known browser that is locked nothing is counted for the account either.
 */
export async function countPasswordTry(scope: Scope, tried: PasswordTry, lockout: Lockout): Promise<CountedTry> {
  const text = `with ${hasty}, browser as (
        insert into browser_lockouts as b (environment_id, browser_digest, failed_login_count, locked_until, expires_at)
        select $1, $3::bytea, case when $4 <= 1 then 0 else 1 end, case when $4 <= 1 then $5::timestamptz end, $7::timestamptz
        from hasty where $3::bytea is not null
        on conflict (environment_id, browser_digest) do update set
          failed_login_count = case when b.failed_login_count + 1 >= $4 then 0 else b.failed_login_count + 1 end,
          locked_until = case when b.failed_login_count + 1 >= $4 then $5 else b.locked_until end,
          expires_at = excluded.expires_at
        where b.locked_until is null or b.locked_until <= $6
        returning b.failed_login_count = 0 as locked
      ), account as (
        update users u set
          failed_login_count = case when u.failed_login_count + 1 >= $4 then 0 else u.failed_login_count + 1 end,
          locked_until = case when u.failed_login_count + 1 >= $4 then $5 else u.locked_until end
        from hasty left join browser on true
        where u.environment_id = $1 and u.id = $2 and (u.locked_until is null or u.locked_until <= $6)
          and ($3::bytea is null or browser.locked is not null)
        returning u.failed_login_count = 0 as locked
      )
      select (select locked from browser) as browser_locked, (select locked from account) as account_locked`;
  const [counted] = await run<CountedTry>(scope, { name: 'browser_lockouts.count_try', text }, [
    tried.user_id,
    tried.browser_digest,
    lockout.threshold,
    lockout.locked_until,
    lockout.now,
    lockout.expires_at,
  ]);
  return counted ?? { browser_locked: null, account_locked: null };
}

const ofBrowser = {
  right: `delete from browser_lockouts`,
  unseen: `update browser_lockouts set failed_login_count = case when $7 then $4 else greatest(failed_login_count - 1, 0) end,
             locked_until = case when $7 then null else locked_until end`,
} as const;

/**
 * Takes a counted try back, with the locks that it set, in one statement: the password was `right`, which ends the counts, or `unseen`, for
 * there was no time to look at it.
 */
export async function returnPasswordTry(
  scope: Scope,
  { user_id, browser_digest, account_locked, browser_locked }: PasswordTry & CountedTry,
  { threshold, locked_until }: Pick<Lockout, 'threshold' | 'locked_until'>,
  end: keyof typeof ofBrowser,
): Promise<void> {
  // The browser before the account, as they are counted: two statements never wait for each other.
  const text = `with ${hasty}, browser as (
      ${ofBrowser[end]} where environment_id = $1 and browser_digest = $3 and $7::boolean is not null returning true
    )
    update users u set
      failed_login_count = case when $6 then $4 else least($4, greatest(u.failed_login_count - 1, 0)) end,
      locked_until = case when $6 and u.locked_until = $5 then null else u.locked_until end
    from hasty, (select count(*) as count from browser) returned
    where u.environment_id = $1 and u.id = $2 and $6::boolean is not null and returned.count >= 0`;
  // The failures that are left where this very try had locked.
  const left = end === 'right' ? 0 : threshold - 1;
  const values = [user_id, browser_digest, left, locked_until, account_locked, browser_locked];
  await run(scope, { name: `browser_lockouts.return_try_${end}`, text }, values);
}
