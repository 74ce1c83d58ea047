import { randomBytes } from 'node:crypto';
import { countRecoveryCodesLeft, hasRecoveryCode, insertRecoveryCodes, spendRecoveryCode } from '../../db/tables/recovery_codes.js';
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
import { emitAuthenticatorsDeleted } from '../events/authenticators.js';
import { userActor } from '../events/data.js';
import type { Origin } from '../origin.js';
import type { Aad } from '../../lib/seal.js';
import type { SingleUse } from '../proofs/single-use.js';
import { tellOwner } from './notices.js';
import { recordAdded } from './trail.js';

const recoveryCodeCount = 10;

/** Without vowels, which would make words, and without what looks alike. */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ23456789';
const codeLength = 10;
const keyLength = 32;

const aadOf = (id: string): Aad => `authenticators/${id}`;

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
  const before = await deleteAuthenticatorsOfUser(tx.scope, { user_id: user.id, kind: 'recovery_codes' });
  await emitAuthenticatorsDeleted(tx, userActor(user), before);
  const row = await insertAuthenticator(tx.scope, {
    id,
    user_id: user.id,
    kind: 'recovery_codes',
    name: 'Recovery codes',
    secret_sealed: tx.crypto.sealer.seal(key.toString('base64'), aadOf(id)),
    codes_left: recoveryCodeCount,
    created_at: now,
    updated_at: now,
  });
  await insertRecoveryCodes(tx.scope, id, codes.map((code) => keyedDigest(key, code))); // prettier-ignore
  await recordAdded(tx, user, row, origin);
  return codes.map(show);
}

/**
 * What a code of the set uses up, and the owner is told of by mail; null for a wrong code, and for one that was spent.
 * @throws {SealError} when no key of this process opens the set
 */
export async function recoveryCodeUse(
  ctx: Context,
  owner: UserRow,
  set: RecoveryCodesRow,
  typed: string,
  origin: Origin,
): Promise<SingleUse['spend'] | null> {
  const code = normalize(typed);
  if (code === null) return null;
  const key = Buffer.from(ctx.crypto.sealer.open(set.secret_sealed, aadOf(set.id)), 'base64');
  const code_digest = keyedDigest(key, code);
  if (!(await hasRecoveryCode(ctx.scope, set.id, code_digest))) return null;
  return async (tx) => {
    const now = tx.clock.now();
    if (!(await spendRecoveryCode(tx.scope, set.id, code_digest, now))) return false;
    await noteAuthenticatorUse(tx.scope, set.id, now);
    await tellOwner(tx, owner, { kind: 'recovery_code_used', left: await countRecoveryCodesLeft(tx.scope, owner.id) }, origin);
    return true;
  };
}
