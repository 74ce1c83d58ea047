import {
  activateTotp,
  countAuthenticators,
  deleteAuthenticatorsOfUser,
  findAuthenticator,
  insertAuthenticator,
  isTotp,
  updateAuthenticator,
  type AuthenticatorKind,
  type AuthenticatorRow,
} from '../../db/tables/authenticators.js';
import { Duplicate } from '../../db/connection/failures.js';
import { findSession } from '../../db/tables/sessions.js';
import { isEnrolling } from '../../db/tables/sign_ins.js';
import { lockUser, type UserRow } from '../../db/tables/users.js';
import { isUuid, uuidv7 } from '../../lib/random.js';
import { transaction, type Context } from '../context.js';
import type { Origin } from '../origin.js';
import { passkeyProof, proofNow, type SessionProof } from '../proofs/proofs.js';
import { hasFactor } from './next-step.js';
import { tellOwner } from './notices.js';
import type { NewPasskey } from './passkey-registration.js';
import { renewRecoveryCodes } from './recovery-codes.js';
import { holdRpId } from './relying-party.js';
import { recordAdded } from './trail.js';
import { firstRecoveryCodes, switchTwoStep } from './two-step.js';
import { mintTotpSecret, otpauthUri, stepOfCode, totpDefaults, totpAad, totpSecretOf } from './totp.js';

export const authenticatorLimits = { passkey: 20, totp: 5 } as const;
/** Seconds that a new TOTP waits for its first code. */
export const totpPendingLifetime = 600;

/** A factor that was added. `proof`: that the person has it, for the session. */
export type Added = { readonly outcome: 'added'; readonly authenticator: AuthenticatorRow; readonly proof: SessionProof };

/** What an enrolment rests on: the session that it is done in, or a half sign-in that has yet to enrol. */
export type EnrolmentBasis = { readonly session_id: string } | { readonly sign_in_id: string };

/**
 * Whether the enrolment still rests on it, asked while the user's row is held: a reset or a new password may have ended it meanwhile. A half sign-in
 * enrols somebody's first factor and no other: whoever has one by now is asked for that.
 */
async function isBased(tx: Context, user: UserRow, basis: EnrolmentBasis): Promise<boolean> {
  if ('sign_in_id' in basis) return !hasFactor(user) && isEnrolling(tx.scope, basis.sign_in_id, tx.clock.now());
  const session = await findSession(tx.scope, basis.session_id);
  return session !== null && session.revoked_at === null;
}

/** Records that the person added a factor, and tells them by mail. */
async function announce(
  tx: Context,
  user: UserRow,
  factor: { readonly id: string; readonly kind: 'passkey' | 'totp'; readonly name: string },
  origin: Origin,
): Promise<void> {
  await recordAdded(tx, user, factor, origin);
  await tellOwner(tx, user, { kind: 'factor_added', what: factor.kind, name: factor.name }, origin);
}

/**
 * Stores a verified passkey in the transaction at hand, of a user whose row it holds; the first one fixes the RP id of the environment.
 * @throws {Duplicate} when somebody has the credential; null when the RP id was fixed otherwise meanwhile
 */
export async function savePasskey(
  tx: Context,
  user: UserRow,
  { user_verified: _user_verified, ...passkey }: NewPasskey,
  name: string,
  origin: Origin,
): Promise<AuthenticatorRow | null> {
  if (!(await holdRpId(tx, passkey.rp_id))) return null;
  const now = tx.clock.now();
  const stamps = { last_used_at: now, created_at: now, updated_at: now };
  const row = await insertAuthenticator(tx.scope, {
    ...passkey,
    id: uuidv7(now.getTime()),
    user_id: user.id,
    kind: 'passkey',
    name,
    ...stamps,
  });
  await announce(tx, user, { id: row.id, kind: 'passkey', name }, origin);
  return row;
}

/** `passkey_exists`: somebody has the credential already; `not_found`: what the enrolment rests on has ended. */
export type AddPasskeyOutcome = Added | { readonly outcome: 'passkey_exists' | 'too_many' | 'refused' | 'not_found' };

/** Adds a verified passkey to an account. Beside a password it only offers two-step. */
export async function addPasskey(
  ctx: Context,
  input: { user_id: string; passkey: NewPasskey; name: string; origin: Origin; basis?: EnrolmentBasis },
): Promise<AddPasskeyOutcome> {
  const { user_id, passkey, name, origin, basis } = input;
  try {
    return await transaction(ctx, async (tx): Promise<AddPasskeyOutcome> => {
      const user = await lockUser(tx.scope, user_id);
      if (!user || (basis && !(await isBased(tx, user, basis)))) return { outcome: 'not_found' };
      if ((await countAuthenticators(tx.scope, user_id, 'passkey')) >= authenticatorLimits.passkey) return { outcome: 'too_many' };
      const authenticator = await savePasskey(tx, user, passkey, name, origin);
      if (!authenticator) return { outcome: 'refused' };
      const proof = passkeyProof(tx.clock.now(), authenticator.id, passkey.user_verified);
      return { outcome: 'added', authenticator, proof };
    });
  } catch (error) {
    if (error instanceof Duplicate && error.constraint === 'authenticators_credential') return { outcome: 'passkey_exists' };
    throw error;
  }
}

/** A TOTP that waits for its first code. `secret` in base32, shown this once; `expires_in` in seconds. */
export type StartedTotp = {
  readonly outcome: 'started';
  readonly authenticator_id: string;
  readonly secret: string;
  readonly otpauth_uri: string;
  readonly expires_in: number;
};

/** Begins to enrol a TOTP; one that was begun before ends. */
export async function startTotp(
  ctx: Context,
  input: { user_id: string; name: string },
): Promise<StartedTotp | { readonly outcome: 'too_many' | 'not_found' }> {
  const secret = mintTotpSecret();
  return transaction(ctx, async (tx) => {
    const user = await lockUser(tx.scope, input.user_id);
    if (!user) return { outcome: 'not_found' } as const;
    await deleteAuthenticatorsOfUser(tx.scope, { user_id: user.id, kind: 'totp', status: 'pending' });
    if ((await countAuthenticators(tx.scope, user.id, 'totp')) >= authenticatorLimits.totp) return { outcome: 'too_many' } as const;
    const now = tx.clock.now();
    const id = uuidv7(now.getTime());
    await insertAuthenticator(tx.scope, {
      id,
      user_id: user.id,
      kind: 'totp',
      name: input.name,
      status: 'pending',
      expires_at: new Date(now.getTime() + totpPendingLifetime * 1000),
      secret_sealed: tx.crypto.sealer.seal(secret, totpAad(id)),
      ...totpDefaults,
      created_at: now,
      updated_at: now,
    });
    const { branding, name } = tx.environment;
    const otpauth_uri = otpauthUri(secret, { issuer: branding.name || name, label: user.email, ...totpDefaults });
    return { outcome: 'started', authenticator_id: id, secret, otpauth_uri, expires_in: totpPendingLifetime } as const;
  });
}

/**
 * `recovery_codes`: shown this once, null when there are some already. `wrong`: not the code of this moment; `expired`: nothing waits for a code any more, or
 * what the enrolment rests on has ended.
 */
export type ActivateTotpOutcome = (Added & { readonly recovery_codes: string[] | null }) | { readonly outcome: 'wrong' | 'expired' };

/** Makes a TOTP good with its first code. The account's first one begins two-step, and brings recovery codes. */
export async function activateTotpOf(
  ctx: Context,
  user_id: string,
  input: { authenticator_id: string; code: string; basis?: EnrolmentBasis },
  origin: Origin,
): Promise<ActivateTotpOutcome> {
  const { authenticator_id: id, basis } = input;
  const now = ctx.clock.now();
  const pending = isUuid(id) ? await findAuthenticator(ctx.scope, id) : null;
  if (!pending || !isTotp(pending) || pending.user_id !== user_id || pending.expires_at === null || pending.expires_at <= now)
    return { outcome: 'expired' };
  const step = stepOfCode(totpSecretOf(ctx, pending), pending, input.code, now);
  if (step === null) return { outcome: 'wrong' };
  return transaction(ctx, async (tx): Promise<ActivateTotpOutcome> => {
    const user = await lockUser(tx.scope, user_id);
    if (user && basis && !(await isBased(tx, user, basis))) return { outcome: 'expired' };
    const authenticator = user && (await activateTotp(tx.scope, { id, user_id }, step, now));
    if (!user || !authenticator) return { outcome: 'expired' };
    await announce(tx, user, authenticator, origin);
    if (!user.authenticator_kinds.includes('totp')) await switchTwoStep(tx, user, true, { by: 'user', origin });
    const recovery_codes = await firstRecoveryCodes(tx, user_id, origin);
    return { outcome: 'added', authenticator, recovery_codes, proof: proofNow('totp', now, id) };
  });
}

/** Makes a new set of recovery codes, for whoever has a factor that they stand in for; null otherwise. */
export const makeRecoveryCodes = async (ctx: Context, user_id: string, origin: Origin): Promise<string[] | null> =>
  transaction(ctx, async (tx) => {
    const user = await lockUser(tx.scope, user_id);
    if (!user || !hasFactor(user)) return null;
    const codes = await renewRecoveryCodes(tx, user, origin);
    await tellOwner(tx, user, { kind: 'recovery_codes_made' }, origin);
    return codes;
  });

/** Renames an authenticator of the user; null when there is none of the id. */
export const renameAuthenticator = async (
  ctx: Context,
  key: { user_id: string; id: string },
  name: string,
): Promise<AuthenticatorRow | null> => (isUuid(key.id) ? updateAuthenticator(ctx.scope, key, { name, updated_at: ctx.clock.now() }) : null);

/** The name of a new factor that its owner doesn't name. */
export const defaultName = (kind: AuthenticatorKind): string =>
  ({ passkey: 'Passkey', totp: 'Authenticator app', recovery_codes: 'Recovery codes' })[kind];
