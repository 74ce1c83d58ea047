import { readableHash } from './hash-formats.js';
import { ownCost, workOf } from './hash-work.js';

/** How many of an environment's users have hashes that begin like this, which says how dear they are (the database's `password_hash_shape`). */
export type HashMix = readonly { readonly shape: string; readonly users: number }[];

/** A decoy costs no more than so many hashes of ours: the rest of a dearer one is waited for, not computed. */
const mostWork = 2 * workOf(ownCost);

/** A hash of the shape that no password is known of. */
function sampleOf(shape: string): string {
  if (shape.startsWith('$2')) return shape + 'a'.repeat(53);
  if (shape.startsWith('aspnet$')) {
    const head = Buffer.from(shape.slice(7), 'base64');
    const rest = head[0] === 1 ? Buffer.concat([head.subarray(0, 12), Buffer.from([16]), Buffer.alloc(48)]) : Buffer.alloc(49);
    return `aspnet$${rest.toString('base64')}`;
  }
  const end = shape.lastIndexOf('$');
  return `${shape.slice(0, end)}$${'A'.repeat(22)}$${'A'.repeat(Number(shape.slice(end + 1)))}`;
}

/** Of the same cost as the hash, and nobody's: for a locked account, whose password isn't looked at. */
export const decoyLike = (hash: string): string | null => boundedDecoy(shapeOf(hash));

/** What of a hash says how dear it is: all but the salt and the hash, and how long that one is. The database says the same. */
export function shapeOf(hash: string): string {
  if (hash.startsWith('$2')) return hash.slice(0, 7);
  if (hash.startsWith('aspnet$')) return hash.slice(0, 23);
  return hash.replace(/\$[^$]*\$([^$=]*)=*$/, (_all, end: string) => `$${end.length}`);
}

function boundedDecoy(shape: string): string | null {
  const sample = sampleOf(shape);
  const work = readableHash(sample)?.work ?? Infinity;
  return work <= mostWork ? sample : null;
}

/**
 * The decoy of somebody without a password here: as often of each kind as the environment's users have it, and always the same one for the same `digest` (a keyed
 * one of the address). Null: one of our own kind, also in the place of those that would cost more than two of ours.
 */
export function drawDecoy(mix: HashMix, digest: Buffer): string | null {
  const total = mix.reduce((sum, { users }) => sum + users, 0);
  let point = total === 0 ? 0 : digest.readUIntBE(0, 6) % total;
  for (const { shape, users } of mix) {
    if (point < users) return boundedDecoy(shape);
    point -= users;
  }
  return null;
}
