import { countBrowserTry, deleteBrowserLockout, returnBrowserTry } from '../../db/tables/browser_lockouts.js';
import type { Lockout, UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import type { Context } from '../context.js';

/**
 * Content of the device cookie: a random id, and who signed in with the browser, when. It authenticates nobody; it distinguishes browsers that
 * an account knows from others.
 */
export type Device = {
  readonly id: string;
  /** User ids with the time of the last sign-in in milliseconds, the latest first. */
  readonly users: readonly (readonly [user_id: string, at: number])[];
};

/** How long an account knows a browser after a sign-in: 400 days, beyond which browsers keep no cookie (RFC 6265bis 5.5). */
export const knownForSeconds = 400 * 86_400;
const failuresKeptMs = 86_400_000;

/** Whether the account knows the browser. A new password makes all browsers unknown again, because any of them may have been an attacker's. */
export function isKnownTo(ctx: Context, device: Device | null, user: Pick<UserRow, 'id' | 'password_changed_at'>): boolean {
  const at = device?.users.find(([id]) => id === user.id)?.[1];
  if (at === undefined || at + knownForSeconds * 1000 <= ctx.clock.now().getTime()) return false;
  return user.password_changed_at === null || at >= user.password_changed_at.getTime();
}

/** A known browser: its wrong passwords are counted by themselves too, and it is locked by them alone, not by those of strangers. */
export type TrustedBrowser = {
  /** Counts a password before it is looked at. @returns null, when the browser is locked, or how the try ends */
  count(): Promise<{
    /** The password was right. */ forget(): Promise<void>;
    /** It was never looked at. */ takeBack(): Promise<void>;
  } | null>;
};

/** The browser if the account knows it, else null. From `lockout_threshold` wrong passwords on it is locked for `lockout_lifetime` seconds. */
export function trustedBrowser(ctx: Context, device: Device | null, user: UserRow, lockout: Lockout): TrustedBrowser | null {
  if (device === null || !isKnownTo(ctx, device, user)) return null;
  const browser_digest = digest(`${device.id} ${user.id}`);
  const expires_at = new Date(lockout.locked_until.getTime() + failuresKeptMs);
  return {
    async count() {
      const locked = await countBrowserTry(ctx.scope, browser_digest, { ...lockout, expires_at });
      if (locked === null) return null;
      return {
        forget: () => deleteBrowserLockout(ctx.scope, browser_digest),
        takeBack: () => returnBrowserTry(ctx.scope, browser_digest, lockout.threshold, locked),
      };
    },
  };
}
