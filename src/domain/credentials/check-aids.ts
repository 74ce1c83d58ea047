import type { Context } from '../context.js';
import { decoyLike, drawDecoy } from '../passwords/decoys.js';
import { readableHash } from '../passwords/hash-formats.js';
import { openFirebaseKey } from '../users/imported-hashes.js';
import type { CheckAids } from '../passwords/passwords.js';

/** What a check for the owner of the hash, or for an address without one, needs beside it. Another statement is only made for a hash of Firebase. */
export async function checkAidsOf(ctx: Context, hash: string | null, email_key: string): Promise<CheckAids> {
  if (hash === null) {
    const { password_hash_mix: mix } = ctx.environment;
    return mix === null ? {} : { decoy: drawDecoy(mix, ctx.crypto.sealer.digest('password decoy', email_key)) };
  }
  const key_id = readableHash(hash)?.key_id ?? null;
  return { decoy: decoyLike(hash), ...(key_id !== null && { firebase: await openFirebaseKey(ctx, key_id) }) };
}
