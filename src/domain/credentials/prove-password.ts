import { countPasswordTry, returnPasswordTry, type Lockout } from '../../db/tables/browser_lockouts.js';
import { findDearestImportedHash } from '../../db/tables/user_proofs.js';
import { findUserByEmailKey, replacePassword, type UserRow } from '../../db/tables/users.js';
import type { Deadline } from '../../lib/deadline.js';
import { normalizeEmail } from '../../lib/email-address.js';
import type { SecurityEventReason } from '../../lib/security-event.js';
import { requiredConnectionFor } from '../connections/connections.js';
import type { Context } from '../context.js';
import { knownBrowserDigest, type Device } from '../sessions/known-browsers.js';
import type { Origin } from '../origin.js';
import { noteSecurityEvent } from '../audit/security-trail.js';
import { checkAidsOf } from './check-aids.js';
import { adopt, isMigrating, isRightElsewhere } from './migrated-password.js';
import { OverloadedError } from '../passwords/hashing-queue.js';

/** The result of checking a password. Unknown, wrong, locked and passwordless accounts all answer `invalid`, in the same time. */
export type PasswordVerdict =
  { readonly outcome: 'ok'; readonly user: UserRow } | { readonly outcome: 'invalid' } | { readonly outcome: 'blocked' };

/** Where a password is entered: for the trace, and to tell a browser that has signed in to the account before from a stranger's. */
export type Proving = { readonly origin: Origin; readonly device: Device | null };

/** How long wrong passwords of a browser are remembered after a lock of theirs. */
const failuresKeptMs = 86_400_000;

/** The lock that a wrong password of this moment would set. */
function lockoutOf({ clock, environment }: Context): Lockout {
  const now = clock.now();
  const locked_until = new Date(now.getTime() + environment.lockout_lifetime * 1000);
  return { threshold: environment.lockout_threshold, locked_until, now, expires_at: new Date(locked_until.getTime() + failuresKeptMs) };
}

/** A password that is counted as wrong until it has been found right. */
type Tried = {
  /** Whether the password is looked at: the account isn't locked, or the browser that it knows isn't. */
  readonly allowed: boolean;
  /** Whether this very try locked the account. */
  readonly locked: boolean;
  /** Takes the count back: the password was right, or wasn't checked for lack of time. */
  takeBack(end: 'right' | 'unseen'): Promise<void>;
  /** The end of the lock that it set, if it did. */
  readonly locked_until: Date;
};

/** Counts a password of the account, or of nobody, before anything is spent on it: one statement, and one takes it back. */
async function countTry(ctx: Context, holder: UserRow | null, browser_digest: Buffer | null): Promise<Tried> {
  const lockout = lockoutOf(ctx);
  const tried = { user_id: holder?.id ?? nobody, browser_digest };
  const counted = await countPasswordTry(ctx.scope, tried, lockout);
  const { browser_locked, account_locked } = counted;
  return {
    allowed: (browser_digest ? browser_locked : account_locked) !== null,
    locked: account_locked === true,
    locked_until: lockout.locked_until,
    takeBack: (end) => returnPasswordTry(ctx.scope, { ...tried, ...counted }, lockout, end),
  };
}

/**
 * Whether it is the password of the user, who may be nobody. The try is counted first, and of a locked account nothing is looked at. Every refusal costs one
 * check, of the account's own hash or of a decoy of ours, in the same place of the same queue, the same statements, and the time of the dearest
 * imported hash of the environment, which is waited for and not computed: no answer tells who has an account here, or where it came from (what those behind
 * it in the queue may measure: specification 4.6.3). Wrong passwords are counted per account; from `lockout_threshold` on it is locked for
 * `lockout_lifetime` seconds, for the right password too. Recovery and live sessions go on meanwhile, and so does a browser that has signed in to the
 * account before: only its own wrong passwords lock it, and it goes before strangers where passwords wait to be hashed. What finds no place there is no try.
 * @throws {OverloadedError}
 */
export async function checkPassword(
  ctx: Context,
  user: UserRow | null,
  password: string,
  { origin, device }: Proving,
  email_key = user?.email_key ?? '',
): Promise<boolean> {
  const deadline = ctx.crypto.passwords.patience(ctx.scope.deadline);
  const migrating = isMigrating(ctx, user) ? user : null;
  const holder = user?.password_hash == null ? migrating : user;
  const browser = holder && knownBrowserDigest(ctx, device, holder);
  const tried = await countTry(ctx, holder, browser);
  const turn = { environment_id: ctx.environment.id, priority: browser ? 'known' : 'stranger', deadline } as const;
  const phc = tried.allowed && holder ? holder.password_hash : null;
  const aids = await checkAidsOf(ctx, holder?.password_hash ?? null, email_key);
  const unseen = async (error: unknown) => {
    if (error instanceof OverloadedError) await tried.takeBack('unseen');
    throw error;
  };
  const checked = await ctx.crypto.passwords.check(phc, password, turn, aids).catch(unseen);
  if (checked.right || (migrating && tried.allowed && (await isRightElsewhere(ctx, migrating, password).catch(unseen)))) {
    await tried.takeBack('right');
    return true;
  }
  noteRefusal(ctx, user, holder && !tried.allowed ? 'account_locked' : 'invalid_credentials', origin);
  if (tried.locked)
    noteSecurityEvent(ctx, 'account.locked', { target: targetOf(user), origin, detail: { locked_until: tried.locked_until } });
  await ctx.crypto.passwords.hold(checked, await findDearestImportedHash(ctx.scope), deadline);
  return false;
}

const targetOf = (user: UserRow | null) => ({ target_type: 'user', target_id: user?.id ?? null, display: user?.email ?? null });

/** Records a refused sign-in; the same work whether or not the account exists. */
function noteRefusal(ctx: Context, user: UserRow | null, reason: SecurityEventReason, origin: Origin): void {
  noteSecurityEvent(ctx, 'login.failed', { target: targetOf(user), origin, reason });
}

/**
 * A hash of outdated parameters is replaced, unless the password was changed while it was checked: then null. Where too many wait to be hashed it stays
 * until the next sign-in: whoever has the right password gets in.
 */
async function refreshHash(ctx: Context, user: UserRow, password: string, deadline: Deadline): Promise<UserRow | null> {
  const { password_hash: proven } = user;
  if (proven === null || !ctx.crypto.passwords.needsRehash(proven)) return user;
  const hashing = ctx.crypto.passwords.hash(password, { environment_id: ctx.environment.id, deadline });
  const password_hash = await hashing.catch((error: unknown) => {
    if (error instanceof OverloadedError) return null;
    throw error;
  });
  return password_hash === null ? user : replacePassword(ctx.scope, user.id, proven, { password_hash });
}

async function prove(ctx: Context, attempt: Attempt, again = true): Promise<PasswordVerdict> {
  const { password, by } = attempt;
  const patience = ctx.crypto.passwords.patience(ctx.scope.deadline);
  const address = attempt.barred ? null : normalizeEmail(attempt.email);
  const user = address && (await findUserByEmailKey(ctx.scope, address.email_key));
  const right = await checkPassword(ctx, user, password, by, address?.email_key);
  if (!user || !right) return { outcome: 'invalid' };
  if (user.status !== 'active') {
    noteRefusal(ctx, user, 'account_blocked', by.origin);
    return { outcome: 'blocked' };
  }
  const current = await (isMigrating(ctx, user) ? adopt(ctx, user, password) : refreshHash(ctx, user, password, patience));
  if (!current) return again ? prove(ctx, attempt, false) : { outcome: 'invalid' };
  return { outcome: 'ok', user: current };
}

type Attempt = { readonly email: string; readonly password: string; readonly barred: boolean; readonly by: Proving };

/**
 * Checks an address and a password. A hash of outdated parameters is replaced. An address that signs in through one
 * connection alone (`required`) is nobody's here, whatever the password.
 */
export const provePassword = async (ctx: Context, email: string, password: string, by: Proving): Promise<PasswordVerdict> =>
  prove(ctx, { email, password, barred: (await requiredConnectionFor(ctx, email)) !== null, by });

/** The same for somebody who has signed in at a provider and proves the local account beside that, once: `required` bars nobody from it. */
export const proveLocalAccount = async (ctx: Context, email: string, password: string, by: Proving): Promise<PasswordVerdict> =>
  prove(ctx, { email, password, barred: false, by });

/** An id that no user has, so that the refusal for an unknown address runs the same statement as that of a user. */
const nobody = '00000000-0000-7000-8000-000000000000';
