import { isDeepStrictEqual } from 'node:util';
import {
  findPasswordHashKey,
  insertPasswordHashKey,
  listPasswordHashKeys,
  type PasswordHashKeyRow,
} from '../../db/tables/password_hash_keys.js';
import type { Aad } from '../../lib/seal.js';
import type { Context } from '../context.js';
import { type Problem, Refusal, unfit } from '../refusal.js';
import { readHash, type FirebaseKey } from '../passwords/hash-formats.js';

const keyAad = (id: string): Aad => `password_hash_keys/${id}`;

const opened = (ctx: Context, { id, key_sealed }: PasswordHashKeyRow): FirebaseKey =>
  JSON.parse(ctx.crypto.sealer.open(key_sealed, keyAad(id))) as FirebaseKey;

/**
 * Keeps the key that hashes of a Firebase project are checked with, sealed, and answers the id that they name: that of the same key where it is
 * here already, so that an import that comes again changes nobody.
 */
export async function saveFirebaseKey(tx: Context, id: string, key: FirebaseKey): Promise<string> {
  const same = (await listPasswordHashKeys(tx.scope)).find((row) => isDeepStrictEqual(opened(tx, row), key));
  if (same) return same.id;
  const key_sealed = tx.crypto.sealer.seal(JSON.stringify(key), keyAad(id));
  await insertPasswordHashKey(tx.scope, { id, key_sealed, created_at: tx.clock.now() });
  return id;
}

/** The key of that id; null when there is none. */
export async function openFirebaseKey(ctx: Context, id: string): Promise<FirebaseKey | null> {
  const row = await findPasswordHashKey(ctx.scope, id);
  return row && opened(ctx, row);
}

const texts = {
  unsupported_hash: 'This is no password hash of a format that is taken, or a weaker one than is taken.',
  hash_too_expensive: 'A check of this hash would take more memory or time than each sign-in may.',
  no_key: 'A hash of Firebase needs the project’s key: import it with hash_parameters.',
};

const refused = (code: 'unsupported_hash' | 'hash_too_expensive', detail: string): Problem => unfit('password_hash', code, detail);

/** What is wrong with a hash by itself; `has_key`: whether the key that one of Firebase needs is there. */
export function hashProblem(hash: string, has_key: (id: string | null) => boolean): Problem | null {
  const read = readHash(hash);
  if (typeof read === 'string') return refused(read, texts[read]);
  return read.engine === 'scrypt' && !has_key(read.key_id) ? refused('unsupported_hash', texts.no_key) : null;
}

/** @throws {Refusal} 422 for a hash that could not be checked, or only at a cost that nobody should bear */
export async function requireStorableHash(ctx: Context, hash: string): Promise<void> {
  const read = readHash(hash);
  const known = typeof read !== 'string' && read.key_id !== null && (await findPasswordHashKey(ctx.scope, read.key_id)) !== null;
  const problem = hashProblem(hash, () => known);
  if (problem) throw new Refusal(problem);
}
