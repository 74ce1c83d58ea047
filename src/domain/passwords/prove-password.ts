import {
  findUserByEmailKey,
  listImportedPasswordKinds,
  recordFailedLogin,
  recordLogin,
  replacePassword,
  type UserRow,
} from '../../db/tables/users.js';
import type { Deadline } from '../../lib/deadline.js';
import { normalizeEmail } from '../../lib/email-address.js';
import { requiredConnectionFor } from '../connections/connections.js';
import type { Context } from '../context.js';
import { trustedBrowser, type Device } from '../sessions/known-browsers.js';
import type { Origin } from '../origin.js';
import { noteSecurityEvent } from '../audit/security-trail.js';

/** The result of checking a password. Unknown, wrong, locked and passwordless accounts all answer `invalid`, in the same time. */
export type PasswordVerdict =
  { readonly outcome: 'ok'; readonly user: UserRow } | { readonly outcome: 'invalid' } | { readonly outcome: 'blocked' };

/** Where a password is entered: for the trace, and to tell a browser that has signed in to the account before from a stranger's. */
export type Proving = { readonly origin: Origin; readonly device: Device | null };

/**
 * Whether it is the password of the user, who may be nobody. Every refusal costs a check of each kind of hash that the environment holds,
 * real or decoy, one look-up of those kinds, and one statement that writes or could have: imported accounts take as long as any other
 * until their first sign-in replaces the hash. Wrong passwords are counted per account; from `lockout_threshold` on it is locked for
 * `lockout_lifetime` seconds, for the right password too. Recovery and live sessions go on meanwhile, and so does a browser that has signed in
 * to the account before: only its own wrong passwords lock it, and it goes before strangers where passwords wait to be hashed.
 */
export async function checkPassword(ctx: Context, user: UserRow | null, password: string, { origin, device }: Proving): Promise<boolean> {
  const now = ctx.clock.now();
  const patience = ctx.passwords.patience(ctx.scope.deadline);
  const phc = user?.password_hash ?? null;
  const trusted = user === null || phc === null ? null : await trustedBrowser(ctx, device, user);
  const urgency = trusted ? 'known' : 'stranger';
  const accountLocked = user?.locked_until != null && user.locked_until > now;
  const locked = trusted ? trusted.locked : accountLocked;
  const right =
    phc === null
      ? await ctx.passwords.verifyDecoy(password, urgency, undefined, patience)
      : await ctx.passwords.verify(phc, password, urgency, patience);
  if (right && !locked) {
    await trusted?.succeeded();
    return true;
  }
  await ctx.passwords.verifyOtherKinds(phc, await listImportedPasswordKinds(ctx.scope), password, patience);
  if (!locked) await trusted?.failed();
  const lockedUntil = new Date(now.getTime() + ctx.environment.lockout_lifetime * 1000);
  const known = user !== null && phc !== null;
  const counted = known && !locked && !accountLocked ? user.id : nobody;
  const lockedNow = await recordFailedLogin(ctx.scope, counted, ctx.environment.lockout_threshold, lockedUntil);
  noteRefusal(ctx, user, known && locked ? 'account_locked' : 'invalid_credentials', origin);
  if (known && lockedNow) noteSecurityEvent(ctx, 'account.locked', { target: targetOf(user), origin });
  return false;
}

const targetOf = (user: UserRow | null) => ({ target_type: 'user', target_id: user?.id ?? null, display: user?.email ?? null });

/** Records a refused sign-in; the same work whether or not the account exists. */
function noteRefusal(ctx: Context, user: UserRow | null, reason: string, origin: Origin): void {
  noteSecurityEvent(ctx, 'login.failed', { target: targetOf(user), origin, reason });
}

/** A hash of outdated parameters is replaced, unless the password was changed while it was checked: then null. */
async function refreshHash(ctx: Context, user: UserRow, password: string, patience: Deadline): Promise<UserRow | null> {
  const { password_hash: proven } = user;
  if (proven === null || !ctx.passwords.needsRehash(proven)) return user;
  return replacePassword(ctx.scope, user.id, proven, { password_hash: await ctx.passwords.hash(password, patience) });
}

async function prove(ctx: Context, attempt: Attempt, again = true): Promise<PasswordVerdict> {
  const { password, by } = attempt;
  const patience = ctx.passwords.patience(ctx.scope.deadline);
  const address = attempt.barred ? null : normalizeEmail(attempt.email);
  const user = address && (await findUserByEmailKey(ctx.scope, address.email_key));
  const right = await checkPassword(ctx, user, password, by);
  if (!user || !right) return { outcome: 'invalid' };
  if (user.status !== 'active') {
    noteRefusal(ctx, user, 'account_blocked', by.origin);
    return { outcome: 'blocked' };
  }
  const current = await refreshHash(ctx, user, password, patience);
  if (!current) return again ? prove(ctx, attempt, false) : { outcome: 'invalid' };
  await recordLogin(ctx.scope, user.id, ctx.clock.now());
  return { outcome: 'ok', user: current };
}

type Attempt = { readonly email: string; readonly password: string; readonly barred: boolean; readonly by: Proving };

/**
 * Checks an address and a password, and notes the login. A hash of outdated parameters is replaced. An address that signs in through one
 * connection alone (`required`) is nobody's here, whatever the password.
 */
export async function provePassword(ctx: Context, email: string, password: string, by: Proving): Promise<PasswordVerdict> {
  return prove(ctx, { email, password, barred: (await requiredConnectionFor(ctx, email)) !== null, by });
}

/** The same for somebody who has signed in at a provider and proves the local account beside that, once: `required` bars nobody from it. */
export async function proveLocalAccount(ctx: Context, email: string, password: string, by: Proving): Promise<PasswordVerdict> {
  return prove(ctx, { email, password, barred: false, by });
}

/** An id that no user has, so that the refusal for an unknown address runs the same statement as that of a user. */
const nobody = '00000000-0000-7000-8000-000000000000';
