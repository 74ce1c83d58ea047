import { consumePasscode, findBoundPasscode, findPasscode, renewPasscode, type PasscodeRow } from '../../db/tables/passcodes.js';
import { findUser, findUserByEmailKey, type UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import type { EmailAddress } from '../../lib/email-address.js';
import { isUuid } from '../../lib/random.js';
import { requiredConnectionFor } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import { queueMail } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import { mailElsewhere } from '../credentials/password-reset.js';
import { mintCode, startPasscode, tryCode, type CodeVerdict } from '../passcodes/passcodes.js';
import { noteSecurityEvent } from '../audit/security-trail.js';
import { proofNow, type SessionProof } from '../proofs/proofs.js';
import type { SingleUse } from '../proofs/single-use.js';
import { provenAddress } from '../users/address-proof.js';
import { isSession, type CurrentSignIn } from './current.js';

/** Seconds between two mails for the same sign-in. */
const emailCodePause = 60;
const mailsPerSignIn = 5;

const browserDigest = (browser: string) => digest(`sign_in ${browser}`);
/** What a code of the second step is bound to. */
const currentDigest = (current: CurrentSignIn) => digest(`${isSession(current) ? 'session' : 'sign_in'} ${current.id}`);

/** A code under way: `sign_in_id` names it, and is worth nothing without the mail and this browser. Seconds. */
export type StartedEmailSignIn = { readonly sign_in_id: string; readonly expires_in: number; readonly resend_after: number };

/**
 * Mails a code as the first step of a sign-in to whatever account has the address. Without one, and with a blocked one, the same happens, except
 * that the mail goes to nobody and no code is right. An address that signs in through one connection alone gets a mail that says where.
 */
export async function startEmailSignIn(ctx: Context, address: EmailAddress, browser: string, origin: Origin): Promise<StartedEmailSignIn> {
  const found = await findUserByEmailKey(ctx.scope, address.email_key);
  const user = found?.status === 'active' ? found : null;
  const required = await requiredConnectionFor(ctx, address.email);
  const expires_in = ctx.environment.otp_lifetime;
  return transaction(ctx, async (tx) => {
    const { passcode, code } = await startPasscode(tx, {
      ...address,
      purpose: 'sign_in',
      user_id: user?.id ?? null,
      usable: user !== null && required === null,
      lifetime: expires_in,
      bound_digest: browserDigest(browser),
    });
    const send_before = passcode.expires_at;
    if (user && required) await mailElsewhere(tx, user.email, required, { locale: user.locale, origin, send_before });
    else
      await queueMail(tx, {
        template: 'sign_in_code',
        to: user?.email ?? address.email,
        locale: user?.locale ?? null,
        model: { code, expires_in, second: false },
        origin,
        send_before,
        discarded: user === null,
      });
    return { sign_in_id: passcode.id, expires_in, resend_after: emailCodePause };
  });
}

type Outcome<T extends string> = { readonly outcome: T };

/** The result of a first step by mail. `expired`: no such code, spent, out of tries, past its time, or of another browser. */
export type EmailSignInVerdict =
  | { readonly outcome: 'proven'; readonly user: UserRow; readonly proof: SessionProof; readonly uses: SingleUse<Outcome<'expired'>> }
  | Outcome<'blocked'>
  | Exclude<CodeVerdict, { outcome: 'right' }>;

/** What a right code uses up: its passcode. */
const passcodeUse =
  (passcode: PasscodeRow): SingleUse['spend'] =>
  async (tx) =>
    (await consumePasscode(tx.scope, passcode, tx.clock.now())) !== null;

/** Tries the code of a first step, in the browser that asked for it. The address is proven by it. */
export async function judgeEmailSignIn(
  ctx: Context,
  input: { sign_in_id: string; code: string; browser: string; origin: Origin },
): Promise<EmailSignInVerdict> {
  const { sign_in_id: id, browser, origin } = input;
  const sent = isUuid(id) ? await findPasscode(ctx.scope, 'sign_in', id) : null;
  if (!sent?.bound_digest?.equals(browserDigest(browser))) return { outcome: 'expired' };
  const verdict = await tryCode(ctx, 'sign_in', id, input.code);
  const target = { target_type: 'user', target_id: sent.user_id };
  if (verdict.outcome === 'wrong') noteSecurityEvent(ctx, 'login.failed', { target, origin, reason: 'invalid_code' });
  if (verdict.outcome !== 'right') return verdict;
  const { passcode } = verdict;
  const user = passcode.user_id === null ? null : await findUser(ctx.scope, passcode.user_id);
  if (!user || user.email_key !== passcode.email_key || (await requiredConnectionFor(ctx, user.email)) !== null)
    return { outcome: 'expired' };
  if (user.status !== 'active') {
    noteSecurityEvent(ctx, 'login.failed', { target, origin, reason: 'account_blocked' });
    return { outcome: 'blocked' };
  }
  const proven = await provenAddress(ctx, user, origin);
  if (!proven) return { outcome: 'expired' };
  const uses = { spend: passcodeUse(passcode), refuse: async () => ({ outcome: 'expired' }) as const };
  return { outcome: 'proven', user: proven, proof: proofNow('email', ctx.clock.now()), uses };
}

/**
 * Whether a code by mail may be the second step: where the environment has it, after anything but another code by mail, and not while the password
 * came by mail as well: then a mailbox would be both factors. Never to an address that nobody has proven.
 */
export function mayUseEmail(
  { environment }: Pick<Context, 'environment'>,
  user: Pick<UserRow, 'email_verified' | 'password_set_by_mail'>,
  proofs: readonly SessionProof[],
): boolean {
  if (!environment.email_second_factor_enabled || !user.email_verified || user.password_set_by_mail) return false;
  return !proofs.some(({ method }) => method === 'email');
}

/** The result of asking for a code of the second step. Seconds. */
export type SecondStepCodeOutcome =
  | { readonly outcome: 'sent'; readonly expires_in: number; readonly resend_after: number }
  | { readonly outcome: 'too_soon'; readonly retry_after: number };

/** Mails a code as the second step, once a minute; the earlier one is worthless from then on. Ask {@link mayUseEmail} before. */
export async function sendSecondStepCode(
  ctx: Context,
  user: UserRow,
  current: CurrentSignIn,
  origin: Origin,
): Promise<SecondStepCodeOutcome> {
  const now = ctx.clock.now();
  const expires_in = ctx.environment.otp_lifetime;
  const bound_digest = currentDigest(current);
  const which = { purpose: 'second_step', user_id: user.id, bound_digest } as const;
  const earlier = await findBoundPasscode(ctx.scope, which, now);
  return transaction(ctx, async (tx): Promise<SecondStepCodeOutcome> => {
    const sent = earlier ? await sendAnother(tx, earlier, expires_in) : await startSecond(tx, user, bound_digest, expires_in);
    if (sent === null) {
      const wait = earlier ? earlier.sent_at.getTime() + emailCodePause * 1000 - now.getTime() : 0;
      return { outcome: 'too_soon', retry_after: Math.max(1, Math.ceil(wait / 1000)) };
    }
    const send_before = new Date(now.getTime() + expires_in * 1000);
    const model = { code: sent, expires_in, second: true };
    await queueMail(tx, { template: 'sign_in_code', to: user.email, locale: user.locale, model, origin, send_before });
    return { outcome: 'sent', expires_in, resend_after: emailCodePause };
  });
}

const startSecond = async (tx: Context, { id, email, email_key }: UserRow, bound_digest: Buffer, lifetime: number): Promise<string> =>
  (await startPasscode(tx, { email, email_key, purpose: 'second_step', user_id: id, usable: true, lifetime, bound_digest })).code;

async function sendAnother(tx: Context, earlier: PasscodeRow, lifetime: number): Promise<string | null> {
  const now = tx.clock.now();
  const { code, code_digest, code_length } = await mintCode(tx, earlier);
  const renewed = await renewPasscode(tx.scope, earlier.id, {
    code_digest,
    code_length,
    now,
    expires_at: new Date(now.getTime() + lifetime * 1000),
    sent_before: new Date(now.getTime() - emailCodePause * 1000),
    max_sent: mailsPerSignIn,
    started_after: new Date(now.getTime() - 3_600_000),
  });
  return renewed && code;
}

/** Tries the code of a second step: what it uses up, or null for a wrong one. */
export async function secondStepCodeUse(ctx: Context, current: CurrentSignIn, code: string): Promise<SingleUse['spend'] | null> {
  const which = { purpose: 'second_step', user_id: current.user_id, bound_digest: currentDigest(current) } as const;
  const sent = await findBoundPasscode(ctx.scope, which, ctx.clock.now());
  const verdict = sent && (await tryCode(ctx, 'second_step', sent.id, code));
  return verdict?.outcome === 'right' ? passcodeUse(verdict.passcode) : null;
}
