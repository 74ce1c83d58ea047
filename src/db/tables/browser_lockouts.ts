import { run, type Scope } from '../scope.js';

/** A row of `browser_lockouts`: wrong passwords from a browser that an account knows. */
export type BrowserLockoutRow = {
  environment_id: string;
  browser_digest: Buffer;
  failed_login_count: number;
  locked_until: Date | null;
  expires_at: Date;
};

/** The browser's failure count and lock; null when there is none. */
export async function findBrowserLockout(scope: Scope, browser_digest: Buffer): Promise<BrowserLockoutRow | null> {
  const rows = await run<BrowserLockoutRow>(
    scope,
    { name: 'browser_lockouts.find', text: 'select * from browser_lockouts where environment_id = $1 and browser_digest = $2' },
    [browser_digest],
  );
  return rows[0] ?? null;
}

/** Counts a wrong password in one statement; from `threshold` on the browser is locked until then, and the count starts anew. */
export async function recordBrowserFailure(
  scope: Scope,
  browser_digest: Buffer,
  { threshold, locked_until, expires_at }: { threshold: number; locked_until: Date; expires_at: Date },
): Promise<void> {
  await run(
    scope,
    {
      name: 'browser_lockouts.record',
      text: `insert into browser_lockouts as b (environment_id, browser_digest, failed_login_count, locked_until, expires_at)
             values ($1, $2, case when $3 <= 1 then 0 else 1 end, case when $3 <= 1 then $4::timestamptz end, $5)
             on conflict (environment_id, browser_digest) do update set
               failed_login_count = case when b.failed_login_count + 1 >= $3 then 0 else b.failed_login_count + 1 end,
               locked_until = case when b.failed_login_count + 1 >= $3 then $4 else b.locked_until end,
               expires_at = excluded.expires_at`,
    },
    [browser_digest, threshold, locked_until, expires_at],
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
