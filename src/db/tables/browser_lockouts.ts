import { run, type Scope } from '../scope.js';
import type { Lockout } from './users.js';

/** A row of `browser_lockouts`: wrong passwords from a browser that an account knows. */
export type BrowserLockoutRow = {
  environment_id: string;
  browser_digest: Buffer;
  failed_login_count: number;
  locked_until: Date | null;
  expires_at: Date;
};

/**
 * Counts a password from the browser before it is looked at, in one statement; the one that reaches `threshold` is the last and locks it until then, and the
 * count starts anew. @returns whether this very try locked it; null when it was locked already
 */
export async function countBrowserTry(
  scope: Scope,
  browser_digest: Buffer,
  { threshold, locked_until, now, expires_at }: Lockout & { readonly expires_at: Date },
): Promise<boolean | null> {
  const rows = await run<{ locked: boolean }>(
    scope,
    {
      name: 'browser_lockouts.count',
      text: `insert into browser_lockouts as b (environment_id, browser_digest, failed_login_count, locked_until, expires_at)
             values ($1, $2, case when $3 <= 1 then 0 else 1 end, case when $3 <= 1 then $4::timestamptz end, $5)
             on conflict (environment_id, browser_digest) do update set
               failed_login_count = case when b.failed_login_count + 1 >= $3 then 0 else b.failed_login_count + 1 end,
               locked_until = case when b.failed_login_count + 1 >= $3 then $4 else b.locked_until end,
               expires_at = excluded.expires_at
             where b.locked_until is null or b.locked_until <= $6
             returning b.failed_login_count = 0 as locked`,
    },
    [browser_digest, threshold, locked_until, expires_at, now],
  );
  return rows[0]?.locked ?? null;
}

/** Takes a counted try of the browser back, with the lock that it set (`locked`): the password was never looked at. */
export async function returnBrowserTry(scope: Scope, browser_digest: Buffer, threshold: number, locked: boolean): Promise<void> {
  await run(
    scope,
    {
      name: 'browser_lockouts.return',
      text: `update browser_lockouts set failed_login_count = case when $4 then $3 - 1 else greatest(failed_login_count - 1, 0) end,
               locked_until = case when $4 then null else locked_until end
             where environment_id = $1 and browser_digest = $2`,
    },
    [browser_digest, threshold, locked],
  );
}

/** Resets the browser's failures after a right password. */
export async function deleteBrowserLockout(scope: Scope, browser_digest: Buffer): Promise<void> {
  await run(
    scope,
    { name: 'browser_lockouts.delete', text: 'delete from browser_lockouts where environment_id = $1 and browser_digest = $2' },
    [browser_digest],
  );
}
