import { Duplicate } from '../../db/connection/failures.js';
import { consumePasscode, findBoundPasscode, voidPasscodes, type PasscodeRow } from '../../db/tables/passcodes.js';
import { findUser, findUserByEmailKey, type UserRow } from '../../db/tables/users.js';
import { digest } from '../../lib/digest.js';
import type { EmailAddress } from '../../lib/email-address.js';
import { recordSecurityEvent, userParty } from '../audit/security-trail.js';
import { requiredConnectionFor } from '../connections/connections.js';
import { transaction, type Context } from '../context.js';
import { emitUserUpdated } from '../events/users.js';
import { queueMail } from '../mail/mail.js';
import type { Origin } from '../origin.js';
import { startPasscode, tryCode, type CodeVerdict } from '../passcodes/passcodes.js';
import { endSignIns } from '../sessions/half-sign-ins.js';
import { holdSession } from '../sessions/sessions.js';
import { proveAddress } from '../users/address-proof.js';

/** The session that asks for another address: what comes by mail is good in it alone. */
type OwnSession = { readonly id: string; readonly user_id: string };

const boundTo = ({ id }: OwnSession) => digest(`email_change ${id}`);

/**
 * Mails a code to the address that somebody wants in the place of their own. One that has an account gets a mail that says so, and no code is right: the same
 * answer as for all others (specification 4.5.8).
 */
export async function startAddressChange(ctx: Context, session: OwnSession, address: EmailAddress, origin: Origin): Promise<PasscodeRow> {
  const known = await findUserByEmailKey(ctx.scope, address.email_key);
  return transaction(ctx, async (tx) => {
    const { issuer, otp_lifetime: expires_in } = tx.environment;
    const { passcode, code } = await startPasscode(tx, {
      ...address,
      purpose: 'email_change',
      user_id: session.user_id,
      usable: known === null,
      lifetime: expires_in,
      bound_digest: boundTo(session),
    });
    const sending = { to: passcode.email, locale: known?.locale ?? null, origin, send_before: passcode.expires_at };
    const links = { login_url: `${issuer}/login`, reset_url: `${issuer}/password/forgot` };
    if (known) await queueMail(tx, { ...sending, template: 'account_exists', model: links });
    else await queueMail(tx, { ...sending, template: 'email_change_code', model: { code, expires_in } });
    return passcode;
  });
}

/** The change that waits for its code in this session; null without one. */
export async function findAddressChange(ctx: Context, session: OwnSession): Promise<PasscodeRow | null> {
  const which = { purpose: 'email_change', user_id: session.user_id, bound_digest: boundTo(session) } as const;
  return findBoundPasscode(ctx.scope, which, ctx.clock.now());
}

/** The result of a change. `email_taken`: somebody registered the address meanwhile. */
export type AddressChangeVerdict =
  | { readonly outcome: 'changed'; readonly user: UserRow }
  | { readonly outcome: 'email_taken' }
  | Exclude<CodeVerdict, { outcome: 'right' }>;

/**
 * Changes the address of somebody who types the code that was mailed to the new one. Codes that the address of before got are worth nothing from then on; both
 * addresses are told, and the one of before doesn't learn the new one. The first proven address of an account clears it (`proveAddress`).
 */
export async function changeAddress(ctx: Context, session: OwnSession, code: string, origin: Origin): Promise<AddressChangeVerdict> {
  const sent = await findAddressChange(ctx, session);
  const verdict = sent ? await tryCode(ctx, 'email_change', sent.id, code) : ({ outcome: 'expired' } as const);
  if (verdict.outcome !== 'right') return verdict;
  const { passcode } = verdict;
  try {
    const user = await transaction(ctx, (tx) => moveAddress(tx, session, passcode, origin));
    return user ? { outcome: 'changed', user } : { outcome: 'expired' };
  } catch (error) {
    if (error instanceof Duplicate && error.constraint === 'users_email') return { outcome: 'email_taken' };
    throw error;
  }
}

/** Null when the code was spent or the session ended meanwhile, or one connection signs in either address alone. */
async function moveAddress(tx: Context, session: OwnSession, passcode: PasscodeRow, origin: Origin): Promise<UserRow | null> {
  const { user_id } = session;
  const now = tx.clock.now();
  // What ended the session, as a recovery does, took the account back from whoever had it.
  const before = (await holdSession(tx, session)) && (await findUser(tx.scope, user_id));
  if (!before || !(await consumePasscode(tx.scope, passcode, now))) return null;
  const { email, email_key } = passcode;
  for (const address of [before.email, email]) if ((await requiredConnectionFor(tx, address)) !== null) return null;
  const user = await proveAddress(tx, before, { administrator: null, origin }, { email, email_key, updated_at: now });
  if (!user) return null;
  await voidPasscodes(tx.scope, user_id, now);
  await endSignIns(tx, user_id);
  await emitUserUpdated(tx, before, user, before.email_verified ? ['email'] : ['email', 'email_verified']);
  await recordSecurityEvent(tx, 'address.changed', { ...userParty(user), origin });
  const { locale } = user;
  for (const to of [before.email, email])
    await queueMail(tx, { template: 'email_changed', to, locale, model: { old: to === before.email }, origin });
  return user;
}
