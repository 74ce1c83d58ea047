import {
  completePasscode,
  consumePasscode,
  findByToken,
  findPasscode,
  lockByToken,
  renewPasscode,
  type PasscodeRow,
} from '../../db/tables/passcodes.js';
import { findUserByEmailKey, insertUserIfNew, type UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import type { EmailAddress } from '../../lib/email-address.js';
import { isUuid, randomToken, uuidv7Of } from '../../lib/random.js';
import { acceptInvitation, type Invitation } from '../organizations/invitations.js';
import { requiredConnectionFor, type Connection } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import { giveDefaultRoles } from '../roles/default-roles.js';
import { userData } from '../events/data.js';
import { emit } from '../events/emit.js';
import { queueMail, type MailOrigin } from '../mail/mail.js';
import { hashNewPassword } from '../users/new-password.js';
import { mailElsewhere } from '../credentials/password-reset.js';
import { Duplicate } from '../../db/connection/failures.js';
import { defaultName, savePasskey } from '../authenticators/enrolment.js';
import type { NewPasskey } from '../authenticators/passkey-registration.js';
import { renewRecoveryCodes } from '../authenticators/recovery-codes.js';
import { userHandleOf } from '../authenticators/webauthn-input.js';
import type { Origin } from '../origin.js';
import { passkeyProof, type SessionProof } from '../proofs/proofs.js';
import { mintCode, startPasscode, tryCode, type CodeVerdict } from '../passcodes/passcodes.js';

/** Lifetime of a completion token, in seconds (specification 4.3). */
export const completionTokenLifetime = 1800;
/** Seconds between two mails of one registration. */
export const resendPause = 60;
const resendsPerHour = 5;
const hourMs = 3_600_000;

async function mailCode(
  tx: Context,
  known: UserRow | null,
  mail: { passcode: PasscodeRow; code: string; required: Connection | null; origin: MailOrigin },
): Promise<void> {
  const { passcode, code, required, origin } = mail;
  const send_before = passcode.expires_at;
  if (required) return mailElsewhere(tx, passcode.email, required, { locale: known?.locale ?? null, origin, send_before });
  if (known) {
    const { issuer } = tx.environment;
    const model = { login_url: `${issuer}/login`, reset_url: `${issuer}/password/forgot` };
    return queueMail(tx, { template: 'account_exists', to: known.email, locale: known.locale, model, origin, send_before });
  }
  const model = { code, expires_in: tx.environment.otp_lifetime };
  return queueMail(tx, { template: 'register_code', to: passcode.email, locale: null, model, origin, send_before });
}

/**
 * Starts a registration: a code goes to the address. One that has an account gets a mail which says so, and a registration whose code
 * nobody knows: the same work, the same answer (specification 4.3.2). So does one that signs in through one connection alone (`required`).
 */
export async function startRegistration(ctx: Context, address: EmailAddress, origin: MailOrigin): Promise<PasscodeRow> {
  const known = await findUserByEmailKey(ctx.scope, address.email_key);
  const required = await requiredConnectionFor(ctx, address.email);
  return transaction(ctx, async (tx) => {
    const { passcode, code } = await startPasscode(tx, {
      ...address,
      purpose: 'registration',
      user_id: known?.id ?? null,
      usable: known === null && required === null,
      lifetime: tx.environment.otp_lifetime,
    });
    await mailCode(tx, known, { passcode, code, required, origin });
    return passcode;
  });
}

export const findRegistration = async (ctx: Context, id: string): Promise<PasscodeRow | null> =>
  isUuid(id) ? findPasscode(ctx.scope, 'registration', id) : null;

/** The result of requesting another code; `retry_after` in seconds. */
export type ResendVerdict =
  | { readonly outcome: 'sent'; readonly registration: PasscodeRow }
  | { readonly outcome: 'too_soon'; readonly retry_after: number }
  | { readonly outcome: 'expired' };

/** Sends another code, once a minute and five times in an hour; the earlier one is worthless from then on. */
export async function resendCode(ctx: Context, id: string, origin: MailOrigin): Promise<ResendVerdict> {
  const now = ctx.clock.now();
  const registration = await findRegistration(ctx, id);
  const age = registration ? now.getTime() - registration.created_at.getTime() : hourMs;
  if (!registration || registration.consumed_at !== null || age >= hourMs) return { outcome: 'expired' };
  const known = await findUserByEmailKey(ctx.scope, registration.email_key);
  const required = await requiredConnectionFor(ctx, registration.email);
  const { code, code_digest, code_length } = await mintCode(ctx, registration, known === null && required === null);
  const renewed = await transaction(ctx, async (tx) => {
    const passcode = await renewPasscode(tx.scope, id, {
      code_digest,
      code_length,
      now,
      expires_at: new Date(now.getTime() + tx.environment.otp_lifetime * 1000),
      sent_before: new Date(now.getTime() - resendPause * 1000),
      max_sent: 1 + resendsPerHour,
      started_after: new Date(now.getTime() - hourMs),
    });
    if (passcode) await mailCode(tx, known, { passcode, code, required, origin });
    return passcode;
  });
  if (renewed) return { outcome: 'sent', registration: renewed };
  const pauseLeft = resendPause * 1000 - (now.getTime() - registration.sent_at.getTime());
  const hourLeft = hourMs - age;
  const wait = registration.sent_count > resendsPerHour ? hourLeft : pauseLeft;
  return { outcome: 'too_soon', retry_after: Math.max(1, Math.ceil(wait / 1000)) };
}

/** A proven address: `token` goes on with it, once. */
export type ProvenAddress = { readonly outcome: 'right'; readonly registration: PasscodeRow; readonly token: string };

/** Checks the code of a registration and spends it. */
export async function verifyRegistration(
  ctx: Context,
  id: string,
  code: string,
): Promise<ProvenAddress | Exclude<CodeVerdict, { outcome: 'right' }>> {
  const verdict = await tryCode(ctx, 'registration', id, code);
  if (verdict.outcome !== 'right') return verdict;
  const token = randomToken('');
  const now = ctx.clock.now();
  const token_expires_at = new Date(now.getTime() + completionTokenLifetime * 1000);
  const registration = await consumePasscode(ctx.scope, verdict.passcode, now, { token_digest: digest(token), token_expires_at });
  return registration ? { outcome: 'right', registration, token } : { outcome: 'expired' };
}

/**
 * Starts the registration of whoever holds an invitation: the mail has proven the address, no code is asked for. It ends as all others, and accepts the invitation with
 * it. Null: the address has an account, or signs in through one connection alone.
 */
export async function startInvitedRegistration(
  ctx: Context,
  { email, email_key, token_digest }: Invitation,
): Promise<ProvenAddress | null> {
  if ((await findUserByEmailKey(ctx.scope, email_key)) || (await requiredConnectionFor(ctx, email))) return null;
  const token = randomToken('');
  const token_expires_at = new Date(ctx.clock.now().getTime() + completionTokenLifetime * 1000);
  return transaction(ctx, async (tx) => {
    const start = { email, email_key, purpose: 'registration', user_id: null, usable: false, lifetime: completionTokenLifetime } as const;
    const { passcode } = await startPasscode(tx, { ...start, link_digest: token_digest });
    const registration = await consumePasscode(tx.scope, passcode, tx.clock.now(), { token_digest: digest(token), token_expires_at });
    return registration && { outcome: 'right', registration, token };
  });
}

/** Whether the registration rests on an invitation, and is open where registration is switched off. */
export const isInvited = ({ link_digest }: Pick<PasscodeRow, 'link_digest'>): boolean => link_digest !== null;

export const findProvenRegistration = async (ctx: Context, token: string): Promise<PasscodeRow | null> =>
  /^[\w-]{43}$/.test(token) ? findByToken(ctx.scope, digest(token), ctx.clock.now()) : null;

export type RegistrationResult =
  | { readonly outcome: 'registered'; readonly user: UserRow }
  | { readonly outcome: 'email_taken' }
  | { readonly outcome: 'expired' }
  | { readonly outcome: 'password_breached' };

/** The id that the account of a registration will have: a passkey is made for it before there is an account. */
export const userIdOf = ({ id, created_at }: Pick<PasscodeRow, 'id' | 'created_at'>): string =>
  uuidv7Of(created_at.getTime(), digest(`user of registration ${id}`));

/** A registration as it ends, beside what the person signs in with from then on. */
export type RegistrationInput = { token: string; first_name: string; last_name: string; client_id: string | null };

/**
 * Makes the account of a proven address: user, default roles and `user.registered` in one transaction that spends the token. Whether the
 * address is still free is decided by the index; a taken one doesn't spend the token, nor
 * does a password that is known from a data breach.
 */
export async function completeRegistration(ctx: Context, input: RegistrationInput & { password: string }): Promise<RegistrationResult> {
  const chosen = await hashNewPassword(ctx, input.password);
  if (chosen === null) return { outcome: 'password_breached' };
  const now = ctx.clock.now();
  return completing(ctx, (tx) => register(tx, input, { ...chosen, password_changed_at: now }));
}

/** The result of completing a registration with a passkey; `passkey_exists`: somebody has this one. */
export type PasskeyCompletion =
  | { readonly outcome: 'registered'; readonly user: UserRow; readonly recovery_codes: string[]; readonly proof: SessionProof }
  | { readonly outcome: 'email_taken' | 'expired' | 'passkey_exists' | 'refused' };

/** Rolls a registration back whose passkey can't be stored. */
class Undone extends Error {}

type PasskeyRegistration = RegistrationInput & { readonly passkey: NewPasskey; readonly origin: Origin };

async function registerWithPasskey(tx: Context, input: PasskeyRegistration): Promise<PasskeyCompletion> {
  const completion = await register(tx, input, { two_step_enabled: true });
  if (completion.outcome !== 'registered') return completion;
  const row = await savePasskey(tx, completion.user, input.passkey, defaultName('passkey'), input.origin);
  if (!row || userHandleOf(completion.user.id) !== input.passkey.user_handle) throw new Undone();
  const codes = await renewRecoveryCodes(tx, completion.user, input.origin);
  const proof = passkeyProof(tx.clock.now(), row.id, input.passkey.user_verified);
  return { outcome: 'registered', user: completion.user, recovery_codes: codes, proof };
}

/**
 * The same with a passkey in the place of a password, verified for the id of {@link userIdOf}: two-step is on from the start, and there are recovery
 * codes, which are shown this once. All in one transaction: no account without its only way in.
 */
export async function completePasskeyRegistration(ctx: Context, input: PasskeyRegistration): Promise<PasskeyCompletion> {
  try {
    return await completing(ctx, (tx) => registerWithPasskey(tx, input));
  } catch (error) {
    if (error instanceof Undone) return { outcome: 'refused' };
    if (error instanceof Duplicate && error.constraint === 'authenticators_credential') return { outcome: 'passkey_exists' };
    throw error;
  }
}

/** Rolls a registration back whose invitation was revoked, replaced or used meanwhile. */
class InvitationOver extends Error {}

/** Runs the last step of a registration; one whose invitation is over is over too, and leaves nothing behind. */
async function completing<T>(ctx: Context, work: (tx: Context) => Promise<T>): Promise<T | { readonly outcome: 'expired' }> {
  try {
    return await transaction(ctx, work);
  } catch (error) {
    if (error instanceof InvitationOver) return { outcome: 'expired' };
    throw error;
  }
}

async function register(
  tx: Context,
  input: RegistrationInput,
  ways: Partial<UserRow>,
): Promise<Exclude<RegistrationResult, { outcome: 'password_breached' }>> {
  const now = tx.clock.now();
  const registration = await lockByToken(tx.scope, digest(input.token), now);
  if (!registration || (await requiredConnectionFor(tx, registration.email)) !== null) return { outcome: 'expired' };
  const user = await insertUserIfNew(tx.scope, {
    id: userIdOf(registration),
    email: registration.email,
    email_key: registration.email_key,
    email_verified: true,
    first_name: input.first_name,
    last_name: input.last_name,
    ...ways,
    created_at: now,
    updated_at: now,
  });
  if (!user) return { outcome: 'email_taken' };
  await completePasscode(tx.scope, registration.id, now);
  const roles = await giveDefaultRoles(tx, user.id);
  const { client_id } = input;
  await emit(tx, 'user.registered', { ...userData(user, roles), registration_method: 'email_otp', connection_id: null, client_id });
  const { link_digest } = registration;
  if (link_digest !== null && !(await acceptInvitation(tx, link_digest, user))) throw new InvitationOver();
  return { outcome: 'registered', user };
}
