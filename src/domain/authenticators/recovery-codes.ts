import { randomBytes } from 'node:crypto';
import { insertRecoveryCodes, spendRecoveryCode } from '../../db/tables/recovery_codes.js';
import {
  deleteAuthenticatorsOfUser,
  insertAuthenticator,
  noteAuthenticatorUse,
  type RecoveryCodesRow,
} from '../../db/tables/authenticators.js';
import { keyedDigest } from '../../lib/digest.js';
import { randomText, uuidv7 } from '../../lib/random.js';
import type { UserRow } from '../../db/tables/users.js';
import type { Context } from '../context.js';
import type { Origin } from '../origin.js';
import type { Place } from '../../lib/seal.js';
import { recordAdded } from './trail.js';

/** How many codes a set has. */
const recoveryCodeCount = 10;

/** Without vowels, which would make words, and without what looks alike. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ23456789';
const codeLength = 10;
const keyLength = 32;

const place = (id: string): Place => `authenticators/${id}`;

/** A code as it was typed, without case, spaces and dashes; null when it can't be one. */
function normalize(typed: string): string | null {
  const code = typed.replaceAll(/[\s-]/g, '').toUpperCase();
  return code.length === codeLength && [...code].every((letter) => alphabet.includes(letter)) ? code : null;
}

const show = (code: string) => `${code.slice(0, codeLength / 2)}-${code.slice(codeLength / 2)}`;

/**
 * Makes a new set, which kills the one before. The codes are shown this once; what is stored are digests under a key of the set, which is
 * sealed: it is sealed anew when SECRET_KEY changes, so that printed codes stay good. It is recorded. Call it in a transaction that holds the user.
 * @returns `XXXXX-XXXXX`, ten of them
 */
export async function renewRecoveryCodes(tx: Context, user: Pick<UserRow, 'id' | 'email'>, origin: Origin): Promise<string[]> {
  const now = tx.clock.now();
  const id = uuidv7(now.getTime());
  const key = randomBytes(keyLength);
  const codes = Array.from({ length: recoveryCodeCount }, () => randomText(alphabet, codeLength));
  await deleteAuthenticatorsOfUser(tx.scope, { user_id: user.id, kind: 'recovery_codes' });
  const row = await insertAuthenticator(tx.scope, {
    id,
    user_id: user.id,
    kind: 'recovery_codes',
    name: 'Recovery codes',
    secret_sealed: tx.sealer.seal(key.toString('base64'), place(id)),
    codes_left: recoveryCodeCount,
    created_at: now,
    updated_at: now,
  });
  await insertRecoveryCodes(tx.scope, id, codes.map((code) => keyedDigest(key, code))); // prettier-ignore
  await recordAdded(tx, user, row, origin);
  return codes.map(show);
}

/** Spends a code of the set: true for one caller. @throws {SealError} when no key of this process opens the set */
export async function useRecoveryCode(ctx: Context, set: RecoveryCodesRow, typed: string): Promise<boolean> {
  const code = normalize(typed);
  if (code === null) return false;
  const key = Buffer.from(ctx.sealer.open(set.secret_sealed, place(set.id)), 'base64');
  const now = ctx.clock.now();
  if (!(await spendRecoveryCode(ctx.scope, set.id, keyedDigest(key, code), now))) return false;
  await noteAuthenticatorUse(ctx.scope, set.id, now);
  return true;
}
