import { findUserByEmailKey, recordFailedLogin, recordLogin, replacePassword, type UserRow } from '../db/tables/users.js';
import { normalizeEmail } from '../lib/email-address.js';
import type { Context } from './context.js';
import { trustedBrowser, type Device } from './known-browsers.js';
import type { Origin } from './origin.js';
import { noteSecurityEvent } from './security-trail.js';

/** What proving a password came to. Unknown, wrong, locked and passwordless accounts all answer `invalid`, in the same time. */
export type PasswordVerdict =
  { readonly outcome: 'ok'; readonly user: UserRow } | { readonly outcome: 'invalid' } | { readonly outcome: 'blocked' };

/** Where a password is entered: for the trace, and to tell a browser that has signed in to the account before from a stranger's. */
export type Proving = { readonly origin: Origin; readonly device: Device | null };

/**
 * Whether it is the password of the user, who may be nobody. Every refusal costs one hash, real or decoy, and one statement that writes or
 * could have. Wrong passwords are counted per account; from `lockout_threshold` on it is locked for `lockout_lifetime` seconds, for the
 * right password too. Recovery and live sessions go on meanwhile, and so does a browser that has signed in to the account before: only
 * its own wrong passwords lock it, and it goes before strangers where passwords wait to be hashed.
 */
export async function checkPassword(ctx: Context, user: UserRow | null, password: string, { origin, device }: Proving): Promise<boolean> {
  const now = ctx.clock.now();
  if (!user?.password_hash) {
    await ctx.passwords.verifyDecoy(password);
    await recordFailedLogin(ctx.scope, nobody, ctx.environment.lockout_threshold, now);
    noteRefusal(ctx, user, 'invalid_credentials', origin);
    return false;
  }
  const trusted = await trustedBrowser(ctx, device, user);
  const accountLocked = user.locked_until !== null && user.locked_until > now;
  const locked = trusted ? trusted.locked : accountLocked;
  const right = await ctx.passwords.verify(user.password_hash, password, trusted ? 'known' : 'stranger');
  if (right && !locked) {
    await trusted?.succeeded();
    return true;
  }
  if (!locked) await trusted?.failed();
  const lockedUntil = new Date(now.getTime() + ctx.environment.lockout_lifetime * 1000);
  const lockedNow = await recordFailedLogin(
    ctx.scope,
    locked || accountLocked ? nobody : user.id,
    ctx.environment.lockout_threshold,
    lockedUntil,
  );
  noteRefusal(ctx, user, locked ? 'account_locked' : 'invalid_credentials', origin);
  if (lockedNow) noteSecurityEvent(ctx, 'account.locked', { target: targetOf(user), origin });
  return false;
}

const targetOf = (user: UserRow | null) => ({ target_type: 'user', target_id: user?.id ?? null, display: user?.email ?? null });

/** A refused sign-in leaves the same trace in the same time, whether or not there is such an account. */
function noteRefusal(ctx: Context, user: UserRow | null, reason: string, origin: Origin): void {
  noteSecurityEvent(ctx, 'login.failed', { target: targetOf(user), origin, reason });
}

/** A hash of outdated parameters is replaced, unless the password was changed while it was checked: then null. `since`: see `hash`. */
async function refreshHash(ctx: Context, user: UserRow, password: string, since: number): Promise<UserRow | null> {
  const { password_hash: proven } = user;
  if (proven === null || !ctx.passwords.needsRehash(proven)) return user;
  return replacePassword(ctx.scope, user.id, proven, { password_hash: await ctx.passwords.hash(password, since) });
}

/** Checks an address and a password, and notes the login. A hash of outdated parameters is replaced. */
export async function provePassword(ctx: Context, email: string, password: string, by: Proving, again = true): Promise<PasswordVerdict> {
  const since = performance.now();
  const address = normalizeEmail(email);
  const user = address && (await findUserByEmailKey(ctx.scope, address.email_key));
  const right = await checkPassword(ctx, user, password, by);
  if (!user || !right) return { outcome: 'invalid' };
  if (user.status !== 'active') {
    noteRefusal(ctx, user, 'account_blocked', by.origin);
    return { outcome: 'blocked' };
  }
  const current = await refreshHash(ctx, user, password, since);
  if (!current) return again ? provePassword(ctx, email, password, by, false) : { outcome: 'invalid' };
  await recordLogin(ctx.scope, user.id, ctx.clock.now());
  return { outcome: 'ok', user: current };
}

/** An id that no user has: the refusal of a stranger makes the same statement as that of a user. */
const nobody = '00000000-0000-7000-8000-000000000000';
