import type * as Helpers from '@simplewebauthn/server/helpers';
import type * as OneTimePasswords from 'otpauth';
import { countAuthenticators, insertAuthenticator, type AuthenticatorRow, type totpAlgorithms } from '../../db/tables/authenticators.js';
import { lockUser, updateUser } from '../../db/tables/users.js';
import { onDemand } from '../../lib/on-demand.js';
import { uuidv7 } from '../../lib/random.js';
import type { Actor } from '../actor.js';
import { recordSecurityEvent } from '../audit/security-trail.js';
import type { Context } from '../context.js';
import { emitAuthenticatorCreated } from '../events/authenticators.js';
import { noOrigin, type Origin } from '../origin.js';
import { invalidValue, type Problem, Refusal, refuseDuplicates, refuseIfAny } from '../refusal.js';
import { authenticatorLimits } from '../authenticators/enrolment.js';
import { tellOwner } from '../authenticators/notices.js';
import { passkeyAlgorithms } from '../authenticators/passkey-registration.js';
import { holdRpId, rpIdOf } from '../authenticators/relying-party.js';
import { requireReachOver } from './authenticator-removal.js';
import { totpAad } from '../authenticators/totp.js';

/** An authenticator of another system. Texts in base64url but for `secret`, which is base32; `period` in seconds. */
export type ImportedAuthenticator = { readonly name: string } & (
  | {
      readonly kind: 'totp';
      readonly secret: string;
      readonly algorithm: (typeof totpAlgorithms)[number];
      readonly digits: 6 | 8;
      readonly period: number;
    }
  | {
      readonly kind: 'passkey';
      readonly credential_id: string;
      readonly public_key: string;
      readonly rp_id: string;
      readonly sign_count: number;
      readonly transports: string[];
      readonly backup_eligible: boolean;
    }
);

/** RFC 4226 4 (R6): 128 bits at the least. */
const minSecretBytes = 16;
const maxSecretBytes = 128;

const base32Of = (secret: string) => secret.replaceAll(/[\s=]/g, '').toUpperCase();

function secretProblems(secret: string): Problem[] {
  const { Secret } = onDemand('otpauth') as typeof OneTimePasswords;
  const text = base32Of(secret);
  const bytes = /^[A-Z2-7]+$/.test(text) ? Secret.fromBase32(text).bytes.length : 0;
  if (bytes >= minSecretBytes && bytes <= maxSecretBytes) return [];
  return [invalidValue('secret', `Must be base32 (RFC 4648 6) of ${minSecretBytes} to ${maxSecretBytes} bytes.`)];
}

function keyProblems(public_key: string): Problem[] {
  const { decodeCredentialPublicKey, cose } = onDemand('@simplewebauthn/server/helpers') as typeof Helpers;
  try {
    const key = decodeCredentialPublicKey(new Uint8Array(Buffer.from(public_key, 'base64url')));
    if (passkeyAlgorithms.includes(key.get(cose.COSEKEYS.alg) as number)) return [];
  } catch {
    // Told like a key of another algorithm.
  }
  return [invalidValue('public_key', 'Must be a COSE key of algorithm -8, -7 or -257 in base64url (RFC 9053).')];
}

/** What is wrong with an import, as far as the input tells. */
export function importProblems(ctx: { environment: Parameters<typeof rpIdOf>[0] }, input: ImportedAuthenticator): Problem[] {
  if (input.kind === 'totp') return secretProblems(input.secret);
  const rp_id = rpIdOf(ctx.environment);
  // A passkey of another domain could never be used here.
  const foreign = input.rp_id === rp_id ? [] : [invalidValue('rp_id', `Passkeys of this environment belong to ${rp_id}.`)];
  return [...foreign, ...keyProblems(input.public_key)];
}

const duplicates = { authenticators_credential: { attribute: 'credential_id', detail: 'Somebody has this passkey already.' } };

/**
 * Moves in an authenticator of another system, in a transaction, records it, and tells the owner by mail. Two-step stays as it is for a passkey, and begins
 * with a TOTP, as it does when a person enrols one.
 * @throws {Refusal} 401 for one's own without a proof, 403 `scope_escalation`, 404, 409 `already_exists`, `too_many`, 422
 */
export async function importAuthenticator(
  tx: Context,
  actor: Actor,
  user_id: string,
  input: ImportedAuthenticator,
  origin: Origin = noOrigin,
): Promise<AuthenticatorRow> {
  refuseIfAny(importProblems(tx, input));
  await requireReachOver(tx, actor, user_id);
  const user = await lockUser(tx.scope, user_id);
  if (!user) throw new Refusal({ status: 404, code: 'related_not_found', relationship: 'user', detail: 'There is no such user.' });
  const limit = authenticatorLimits[input.kind];
  if ((await countAuthenticators(tx.scope, user_id, input.kind)) >= limit)
    throw new Refusal({ status: 409, code: 'too_many', attribute: 'kind', detail: `A user has at most ${limit} of this kind.` });
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const row = { id, user_id, kind: input.kind, name: input.name, created_at: now, updated_at: now };
  const stored = await refuseDuplicates(duplicates, async () =>
    insertAuthenticator(tx.scope, { ...row, ...(await columnsOf(tx, id, input)) }),
  );
  // As when a person enrols one: it was asked for where it comes from.
  if (input.kind === 'totp' && !user.authenticator_kinds.includes('totp'))
    await updateUser(tx.scope, user_id, { two_step_enabled: true, updated_at: now });
  const target = { target_type: 'authenticator', target_id: id, display: input.name };
  await emitAuthenticatorCreated(tx, actor, stored);
  await recordSecurityEvent(tx, 'authenticator.imported', { actor, target, origin, detail: { kind: input.kind } });
  // Not from where: that is the administrator's address.
  await tellOwner(tx, user, { kind: 'factor_added', what: input.kind, name: input.name }, noOrigin);
  return stored;
}

async function columnsOf(tx: Context, id: string, input: ImportedAuthenticator): Promise<Partial<AuthenticatorRow>> {
  if (input.kind === 'totp') {
    const { algorithm, digits, period } = input;
    return { algorithm, digits, period, secret_sealed: tx.crypto.sealer.seal(base32Of(input.secret), totpAad(id)) };
  }
  const { credential_id, public_key, rp_id, transports, backup_eligible } = input;
  if (!(await holdRpId(tx, rp_id))) throw new Refusal(invalidValue('rp_id', 'The passkeys of this environment belong to another domain.'));
  // The handle that the other system gave isn't known; the first step asks for some handle, and the credential tells whose it is.
  const unknown = { user_handle: null, backed_up: backup_eligible, discoverable: true };
  return { credential_id, public_key, rp_id, transports, backup_eligible, sign_count: input.sign_count, ...unknown };
}
