import { consumePasscode, findPasscode, refundAttempt, voidPasswordResets, type PasscodeRow } from '../../db/tables/passcodes.js';
import { revokeGrants } from '../../db/tables/revocations.js';
import { findUser, findUserByEmailKey, type UserRow } from '../../db/tables/users.js';
import type { EmailAddress } from '../../lib/email-address.js';
import { isUuid, randomToken } from '../../lib/random.js';
import { connectionLoginUrl, requiredConnectionFor, type Connection } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import { emitPasswordReset, emitUserUpdated } from '../events/users.js';
import { listIdentities } from '../connections/identities.js';
import { queueMail, type MailOrigin } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import { startPasscode, tryCode, type CodeVerdict } from '../passcodes/passcodes.js';
import { hashNewPassword, type NewPassword } from '../users/new-password.js';
import { passwordProblems, type PasswordProblem } from '../passwords/passwords.js';
import { noteSecurityEvent, recordSecurityEvent, userParty } from '../audit/security-trail.js';
import { endSessions } from '../sessions/sessions.js';
import { endTrust } from '../sessions/trust.js';
import { grantRevocationEnd } from '../tokens/revoke.js';
import { proveAddress } from '../users/address-proof.js';

/** Who asked: the person, or an administrator for them. */
export type ResetInitiator = 'user' | 'admin';

/** A reset under way: `reset_id` names it, and is worth nothing without the mail. `expires_in` in seconds. */
export type StartedReset = { readonly reset_id: string; readonly expires_in: number };

const unknownOrigin: MailOrigin = { ip_address: null, user_agent: null };
/** Seconds that a person has who did not ask for the mail and isn't waiting for it. */
const adminResetLifetime = 86_400;

/** Mails somebody whose address signs in through a required connection where to sign in. */
export async function mailElsewhere(
  tx: Context,
  to: string,
  connection: Connection,
  mail: { readonly locale: string | null; readonly origin: MailOrigin; readonly send_before: Date },
): Promise<void> {
  const model = { provider: connection.display_name, login_url: connectionLoginUrl(tx.environment, connection) };
  await queueMail(tx, { template: 'sign_in_elsewhere', to, model, ...mail });
}

type Start = { address: EmailAddress; user: UserRow | null; initiated_by: ResetInitiator; origin: MailOrigin };

async function openReset(ctx: Context, { address, user, initiated_by, origin }: Start): Promise<StartedReset> {
  const expires_in = initiated_by === 'admin' ? adminResetLifetime : ctx.environment.otp_lifetime;
  const token = randomToken('');
  const required = await requiredConnectionFor(ctx, address.email);
  const usable = user !== null && required === null;
  return transaction(ctx, async (tx) => {
    const { passcode, code } = await startPasscode(tx, {
      ...address,
      purpose: 'password_reset',
      user_id: user?.id ?? null,
      usable,
      lifetime: expires_in,
      initiated_by,
      link_digest: tx.crypto.sealer.digest('password_reset_link', usable ? token : randomToken('')),
    });
    if (user && required) {
      await mailElsewhere(tx, user.email, required, { locale: user.locale, origin, send_before: passcode.expires_at });
      return { reset_id: passcode.id, expires_in };
    }
    // The token may end in a dash, which mail programs leave out of a link: it doesn't come last.
    const query = new URLSearchParams({ code: token, reset_id: passcode.id });
    await queueMail(tx, {
      template: 'password_reset_code',
      to: user?.email ?? address.email,
      locale: user?.locale ?? null,
      model: { code, expires_in, reset_url: `${tx.environment.issuer}/password/reset?${query}`, administrator: initiated_by === 'admin' },
      origin,
      send_before: passcode.expires_at,
      discarded: user === null,
    });
    return { reset_id: passcode.id, expires_in };
  });
}

/**
 * Starts the recovery of whatever account has the address. Without one (or with a blocked one) the same happens, except that the mail
 * goes to nobody and no code is right: the same answer, in the same time (specification 4.3). An address that signs in through one connection alone gets a
 * mail that says where, and no code.
 */
export async function requestPasswordReset(ctx: Context, address: EmailAddress, origin: Origin): Promise<StartedReset> {
  const found = await findUserByEmailKey(ctx.scope, address.email_key);
  const started = await openReset(ctx, { address, user: found?.status === 'active' ? found : null, initiated_by: 'user', origin });
  const target = { target_type: 'user', target_id: found?.id ?? null, display: found?.email ?? null };
  noteSecurityEvent(ctx, 'recovery.requested', { target, origin });
  return started;
}

/**
 * Starts the recovery of a known account, for the Management API's `send_password_reset`: the code and the link are in the mail and
 * nowhere else. An administrator's lasts a day, because nobody waits for it.
 */
export const startPasswordReset = async (
  ctx: Context,
  user: UserRow,
  { initiated_by, origin = unknownOrigin }: { initiated_by: ResetInitiator; origin?: MailOrigin },
): Promise<StartedReset> => openReset(ctx, { address: user, user, initiated_by, origin });

/** The result of a password reset. A refused password leaves the code usable. */
export type ResetVerdict =
  | { readonly outcome: 'reset'; readonly user: UserRow }
  | { readonly outcome: 'refused'; readonly problems: PasswordProblem[] }
  | Exclude<CodeVerdict, { outcome: 'right' }>;

/** Whether it is the token of a recovery mail's link, by its form, rather than a code that was typed. */
export const isLinkToken = (text: unknown): boolean => typeof text === 'string' && /^[\w-]{43}$/.test(text.trim());

/** The token of the mail's link takes no try: it can't be guessed, so strangers who use up the code's tries keep nobody out. */
async function tryLink(ctx: Context, id: string, token: string): Promise<CodeVerdict> {
  const passcode = isUuid(id) ? await findPasscode(ctx.scope, 'password_reset', id) : null;
  if (!passcode?.link_digest || passcode.consumed_at !== null || passcode.expires_at <= ctx.clock.now()) return { outcome: 'expired' };
  return ctx.crypto.sealer.isDigest('password_reset_link', token, passcode.link_digest)
    ? { outcome: 'right', passcode }
    : { outcome: 'expired' };
}

async function apply(
  ctx: Context,
  passcode: PasscodeRow,
  user: UserRow,
  change: { chosen: NewPassword; origin: Origin },
): Promise<UserRow | null> {
  const now = ctx.clock.now();
  return transaction(ctx, async (tx) => {
    if (!(await consumePasscode(tx.scope, passcode, now))) return null;
    const ended = await endSessions(tx, { user_id: user.id }, 'password_reset');
    await endTrust(tx, user.id);
    await revokeGrants(tx.scope, { user_id: user.id }, grantRevocationEnd(tx));
    // The code came by this very address.
    const proof = { administrator: null, origin: change.origin };
    const changed = await proveAddress(tx, user, proof, {
      ...change.chosen,
      password_changed_at: now,
      failed_login_count: 0,
      locked_until: null,
      password_set_by_mail: true,
      updated_at: now,
    });
    if (!changed) return null;
    await voidPasswordResets(tx.scope, user.id, now);
    await emitPasswordReset(tx, changed, { initiated_by: passcode.initiated_by, sessions_revoked: ended.length > 0 });
    if (!user.email_verified) await emitUserUpdated(tx, user, changed, ['email_verified']);
    await recordSecurityEvent(tx, 'recovery.completed', { ...userParty(changed), origin: change.origin });
    const { issuer } = tx.environment;
    const accounts = (await listIdentities(tx, user.id))
      .filter(({ proven }) => proven)
      .map(({ connection_display_name, email }) => (email === null ? connection_display_name : `${connection_display_name} (${email})`));
    const model = { reset_url: `${issuer}/password/forgot`, account_url: `${issuer}/account`, accounts };
    await queueMail(tx, { template: 'password_reset_done', to: changed.email, locale: changed.locale, model, origin: change.origin });
    return changed;
  });
}

/** `reason` of the security event, by outcome. */
const failures = { wrong: 'invalid_code', expired: 'code_expired', budget_used_up: 'budget_used_up' } as const;

/**
 * Sets a new password with the code, or the token of the link, of a recovery mail: ends all sessions, all refresh tokens and the lockout,
 * voids other open resets, emits `user.password_reset`, tells the owner by mail (specification 4.5.2). What can be said of the password without
 * knowing whose it is comes before the try; the rest after it, lest the refusal tell a stranger the owner's name.
 */
export async function resetPassword(
  ctx: Context,
  input: { reset_id: string; code: string; password: string; origin: Origin },
): Promise<ResetVerdict> {
  const verdict = await tryReset(ctx, input);
  if (verdict.outcome !== 'reset' && verdict.outcome !== 'refused') {
    const reason = failures[verdict.outcome];
    noteSecurityEvent(ctx, 'recovery.failed', { target: { target_type: 'user', target_id: null }, origin: input.origin, reason });
  }
  return verdict;
}

async function tryReset(ctx: Context, input: Parameters<typeof resetPassword>[1]): Promise<ResetVerdict> {
  const { reset_id, password, origin } = input;
  const code = input.code.trim();
  const min_length = ctx.environment.password_min_length;
  const plain = passwordProblems(password, { min_length });
  if (plain.length > 0) return { outcome: 'refused', problems: plain };
  const byLink = isLinkToken(code);
  const verdict = byLink ? await tryLink(ctx, reset_id, code) : await tryCode(ctx, 'password_reset', reset_id, code);
  if (verdict.outcome !== 'right') return verdict;
  const { passcode } = verdict;
  const user = passcode.user_id === null ? null : await findUser(ctx.scope, passcode.user_id);
  if (user?.status !== 'active' || user.email_key !== passcode.email_key) return { outcome: 'expired' };
  if ((await requiredConnectionFor(ctx, user.email)) !== null) return { outcome: 'expired' };
  const problems = passwordProblems(password, { ...user, min_length });
  // Of a right code no try is spent unless a password comes of it: neither by one that is refused, nor where too many wait to be hashed.
  let chosen: NewPassword | null = null;
  try {
    if (problems.length === 0) chosen = await hashNewPassword(ctx, password);
  } finally {
    if (chosen === null && !byLink) await refundAttempt(ctx.scope, passcode.id);
  }
  if (chosen === null) return { outcome: 'refused', problems: problems.length > 0 ? problems : ['password_breached'] };
  const changed = await apply(ctx, passcode, user, { chosen, origin });
  return changed ? { outcome: 'reset', user: changed } : { outcome: 'expired' };
}
