import type { UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import { randomToken } from '../../lib/random.js';
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

/** When the user last signed in with the browser; null when its cookie doesn't name the user. */
export function lastSignInWith(device: Device | null, user_id: string): Date | null {
  const at = device?.users.find(([id]) => id === user_id)?.[1];
  return at === undefined ? null : new Date(at);
}

const maxUsers = 5;

/** What the cookie says once the user has signed in with the browser just now: the five latest users. A browser without one gets an id. */
export function deviceAfter(device: Device | null, user_id: string, now: Date): Device {
  const others = (device?.users ?? []).filter(([id]) => id !== user_id);
  return { id: device?.id ?? randomToken(''), users: [[user_id, now.getTime()] as const, ...others].slice(0, maxUsers) };
}

/** As whom the cookie names somebody who came as an organization's guest alone: the account doesn't know the browser by that. */
export const asGuest = <U extends Pick<UserRow, 'id'>>(user: U): U => ({ ...user, id: `guest ${user.id}` });

/** Whether the account knows the browser. A new password makes all browsers unknown again, because any of them may have been an attacker's. */
export function isKnownTo(ctx: Context, device: Device | null, user: Pick<UserRow, 'id' | 'password_changed_at'>): boolean {
  const at = device?.users.find(([id]) => id === user.id)?.[1];
  if (at === undefined || at + knownForSeconds * 1000 <= ctx.clock.now().getTime()) return false;
  return user.password_changed_at === null || at >= user.password_changed_at.getTime();
}

/**
 * By what the wrong passwords of the browser are counted if the account knows it, else null: they are counted by themselves too, and it is locked by them
 * alone, not by those of strangers.
 */
export const knownBrowserDigest = (ctx: Context, device: Device | null, user: UserRow): Buffer | null =>
  device !== null && isKnownTo(ctx, device, user) ? digest(`${device.id} ${user.id}`) : null;
