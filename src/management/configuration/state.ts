import { createHash } from 'node:crypto';
import type { Turn } from '../../lib/turns.js';
import { idOf, versionOf, type ResourceRow } from '../resource.js';
import { documentKinds, type KindName } from './kinds.js';

export type Links = readonly { readonly near: string; readonly far: string }[];

export type RowsByKind = Readonly<Record<KindName, readonly ResourceRow[]>>;

export const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** A digest of what is there: every record with its version, and what links them. Ids in it are nobody's to guess. */
export async function digestOf(
  rows: RowsByKind,
  kinds: readonly KindName[],
  links: Links,
  credentials: readonly ResourceRow[],
  turn: Turn,
): Promise<string> {
  const hash = createHash('sha256');
  for (const type of kinds)
    for (const row of rows[type]) {
      await turn();
      hash.update(`${type} ${idOf(documentKinds[type].resource, row)} ${versionOf(row)}\n`);
    }
  for (const row of credentials) hash.update(`federated_credential ${String(row['id'])} ${versionOf(row)}\n`);
  for (const { near, far } of [...links].sort((one, other) => compare(`${one.near} ${one.far}`, `${other.near} ${other.far}`)))
    hash.update(`${near} ${far}\n`);
  return hash.digest('base64url');
}

/** Whether a state is the one that was expected, as far as both tell. */
export function isState(expected: string, state: string): boolean {
  const [[one, ofOne], [other, ofOther]] = [expected.split('.'), state.split('.')];
  return one === other && (ofOne === undefined || ofOther === undefined || ofOne === ofOther);
}
