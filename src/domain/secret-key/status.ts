import { countSealedByKey } from '../../db/tables/sealed_columns.js';
import { listSecretKeyHolders, listSecretKeys, type SecretKeyRow } from '../../db/tables/secret_keys.js';
import type { Deps } from '../context.js';

/** The longest lifetime, in milliseconds, of anything keyed that isn't stored sealed: a reset code requested by an administrator. */
const lastingMs = 86_400_000;

/** The key id under which values without a key id are counted. */
export const unnamedKey = 'unnamed';

/** A key as an operator sees it. `may_go_at`: from when SECRET_KEY_PREVIOUS can do without it; null while it can't. */
export type SecretKeyStatus = {
  readonly id: string;
  readonly seals: boolean;
  /** Whether it ever did; a key that is listed for the next change has not. */
  readonly has_sealed: boolean;
  readonly pending_count: number;
  readonly may_go_at: Date | null;
};

/** From when nothing needs the key any more: what it made has run out. Null while values are sealed with it. */
export const mayGoAt = ({ emptied_at, sealing_seen_at, created_at }: SecretKeyRow): Date | null =>
  emptied_at && new Date((sealing_seen_at ?? created_at).getTime() + lastingMs);

/** All known keys: the sealing one first, then the earlier ones. */
export async function secretKeyStatus({ db: { knex } }: Pick<Deps, 'db'>): Promise<SecretKeyStatus[]> {
  const rows = await listSecretKeys(knex);
  return rows
    .map((row, index) => ({
      id: row.id,
      seals: index === 0 && row.sealing_since !== null,
      has_sealed: row.sealing_since !== null,
      pending_count: Number(row.pending_count),
      may_go_at: mayGoAt(row),
    }))
    .filter(({ id, may_go_at }) => id !== unnamedKey || may_go_at === null);
}

/** How many values wait to be sealed anew. */
export const pendingCount = (keys: readonly SecretKeyStatus[]): number =>
  keys.filter(({ seals }) => !seals).reduce((sum, { pending_count }) => sum + pending_count, 0);

/** What a change of SECRET_KEY still waits for, looked up now and not as the last pass left it. */
export type SecretKeyProgress = {
  /** Values that another key than SECRET_KEY has sealed, by key id. */
  readonly pending: ReadonlyMap<string, number>;
  /** Values that SECRET_KEY has sealed. */
  readonly done: number;
  /** The keys that live processes still seal with instead, each once for a process. */
  readonly sealing: readonly string[];
};

/** Counts all sealed values; changes nothing. */
export async function secretKeyProgress({ db: { knex }, crypto: { sealer } }: Pick<Deps, 'db' | 'crypto'>): Promise<SecretKeyProgress> {
  const counts = await countSealedByKey(knex);
  const holders = await listSecretKeyHolders(knex);
  return {
    pending: new Map([...counts].filter(([id]) => id !== sealer.key_id)),
    done: counts.get(sealer.key_id) ?? 0,
    sealing: holders.map(({ sealing_key }) => sealing_key).filter((id) => id !== sealer.key_id),
  };
}
