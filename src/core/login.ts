import { findUserByEmailKey, recordFailedLogin, recordLogin, replacePassword, type UserRow } from '../db/tables/users.js';
import { normalizeEmail } from '../lib/email-address.js';
import type { Context } from './context.js';
import { knownBrowserOf, trustedBrowser } from './known-browsers.js';

/** What proving a password came to. Unknown, wrong, locked and passwordless accounts all answer `invalid`, in the same time. */
export type PasswordVerdict =
  { readonly outcome: 'ok'; readonly user: UserRow } | { readonly outcome: 'invalid' } | { readonly outcome: 'blocked' };

/**
 * Whether it is the password of the user, who may be nobody. Every refusal costs one hash, real or decoy, and one statement that writes or
 * could have. Wrong passwords are counted per account; from `lockout_threshold` on it is locked for `lockout_lifetime` seconds, for the
 * right password too. Recovery and live sessions go on meanwhile, and so does a browser that has signed in to the account before: its wrong
 * passwords are counted by themselves, and it goes before strangers where passwords wait to be hashed.
 * @param shown what the browser's cookie says of accounts that it has signed in to; null for none
 */
export async function checkPassword(ctx: Context, user: UserRow | null, password: string, shown: string | null = null): Promise<boolean> {
  const now = ctx.clock.now();
  if (!user?.password_hash) {
    await ctx.passwords.verifyDecoy(password);
    await recordFailedLogin(ctx.scope, nobody, ctx.environment.lockout_threshold, now);
    return false;
  }
  const trusted = await trustedBrowser(ctx, knownBrowserOf(ctx, shown, user.email_key));
  const locked = trusted === null && user.locked_until !== null && user.locked_until > now;
  const right = await ctx.passwords.verify(user.password_hash, password, trusted ? 'known' : 'stranger');
  if (trusted) await (right ? trusted.succeeded() : trusted.failed());
  if (trusted || (right && !locked)) return right;
  const lockedUntil = new Date(now.getTime() + ctx.environment.lockout_lifetime * 1000);
  await recordFailedLogin(ctx.scope, locked ? nobody : user.id, ctx.environment.lockout_threshold, lockedUntil);
  return false;
}

/** A hash of outdated parameters is replaced when there is time for it, unless the password was changed while it was checked: then null. */
async function refreshHash(ctx: Context, user: UserRow, password: string): Promise<UserRow | null> {
  const { password_hash: proven } = user;
  if (proven === null || !ctx.passwords.needsRehash(proven)) return user;
  const password_hash = await ctx.passwords.hashIfIdle(password);
  return password_hash === null ? user : replacePassword(ctx.scope, user.id, proven, { password_hash });
}

/** Checks an address and a password, and notes the login. A hash of outdated parameters is replaced. */
export async function provePassword(
  ctx: Context,
  email: string,
  password: string,
  shown: string | null = null,
  again = true,
): Promise<PasswordVerdict> {
  const address = normalizeEmail(email);
  const user = address && (await findUserByEmailKey(ctx.scope, address.email_key));
  const right = await checkPassword(ctx, user, password, shown);
  if (!user || !right) return { outcome: 'invalid' };
  if (user.status !== 'active') return { outcome: 'blocked' };
  const current = await refreshHash(ctx, user, password);
  if (!current) return again ? provePassword(ctx, email, password, shown, false) : { outcome: 'invalid' };
  await recordLogin(ctx.scope, user.id, ctx.clock.now());
  return { outcome: 'ok', user: current };
}

/** An id that no user has: the refusal of a stranger makes the same statement as that of a user. */
const nobody = '00000000-0000-7000-8000-000000000000';
