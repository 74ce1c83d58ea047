import { tryAdvisoryLock } from '../../db/connection/advisory-lock.js';
import { awaitsUpgrade, noteSealedCounts, type SecretKeyRow } from '../../db/tables/secret_keys.js';
import {
  countSealedByKey,
  listStaleSealed,
  replaceSealed,
  sealedColumns,
  type SealedColumn,
  type StaleSealed,
} from '../../db/tables/sealed_columns.js';
import { SealError, type Sealer } from '../../lib/seal.js';
import type { Deps } from '../context.js';
import { mayGoAt, unnamedKey } from './status.js';

export type ResealDeps = Pick<Deps, 'db' | 'crypto' | 'logger' | 'metrics' | 'clock'>;

/** State kept between passes, so that the same isn't logged and tried every half minute. */
export type ResealMemory = {
  /** What it last logged that it waits for; null when it doesn't wait. */
  waitsFor: string | null;
  /** Epoch milliseconds until which the remaining values aren't tried again, because no key of this process opens them. */
  restsUntil: number;
};

export const createResealMemory = (): ResealMemory => ({ waitsFor: null, restsUntil: 0 });

const restMs = 3_600_000;

/** Logs what the pass waits for, unless it was logged last time. */
export function logOnce(memory: ResealMemory, waitsFor: string, say: () => void): void {
  if (memory.waitsFor !== waitsFor) say();
  memory.waitsFor = waitsFor;
}

const batch = 200;
/** Batches of a column after which a pass ends, so that the remaining values are counted regularly. */
const maxBatchesPerColumn = 50;

/**
 * Releases before values named their key can't read what is sealed now: for so long after the upgrade their processes may still be at work,
 * and keep the signing keys that they know.
 */
const upgradeSeconds = 3600;

/** The result of one scan of the columns. `lost`: how many values no key of this process opens, by key id. */
type Walk = { resealed: number; lost: Map<string, number>; more: boolean };

function renew(sealer: Sealer, row: StaleSealed, lost: Walk['lost']): (StaleSealed & { renewed: Buffer })[] {
  try {
    return [{ ...row, renewed: sealer.seal(sealer.open(row.sealed, row.aad), row.aad) }];
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    const name = error.key_id ?? unnamedKey;
    lost.set(name, (lost.get(name) ?? 0) + 1);
    return [];
  }
}

async function resealColumn(
  { db: { knex }, crypto: { sealer } }: ResealDeps,
  column: SealedColumn,
  walk: Walk,
  signal?: AbortSignal,
): Promise<void> {
  let after: StaleSealed | null = null;
  for (let i = 0; i < maxBatchesPerColumn; i++) {
    if (signal?.aborted) return;
    const rows: StaleSealed[] = await listStaleSealed(knex, column, { header: sealer.header, after, limit: batch });
    const changes = rows.flatMap((row) => renew(sealer, row, walk.lost));
    if (changes.length > 0) walk.resealed += await replaceSealed(knex, column, changes);
    if (rows.length < batch) return;
    after = rows.at(-1) ?? null;
  }
  walk.more = true;
}

/** Counts the values by key, stores the counts and logs keys that have none left. @returns how many values other keys have sealed */
async function count({ db: { knex }, crypto: { sealer }, logger, metrics }: ResealDeps): Promise<number> {
  const counts = await countSealedByKey(knex);
  const emptied = await noteSealedCounts(knex, sealer.key_id, counts);
  for (const key of emptied) {
    const may_go_at = mayGoAt(key)?.toISOString();
    logger.info({ event: 'secret_key.unused', key_id: key.id, may_go_at }, unusedText(key));
  }
  const pending = [...counts].reduce((sum, [id, amount]) => (id === sealer.key_id ? sum : sum + amount), 0);
  metrics.sealedRowsPending.set(pending);
  return pending;
}

function unusedText(key: SecretKeyRow): string {
  if (key.id === unnamedKey) return 'every sealed value names its key now';
  if (key.sealing_since === null) return `nothing is sealed with key ${key.id}`;
  return `nothing is sealed with key ${key.id} any more; codes and links of its time work until ${mayGoAt(key)?.toISOString()}: after that it may be taken out of SECRET_KEY_PREVIOUS`;
}

/**
 * Seals anew with SECRET_KEY what other keys have sealed, in batches; one process at a time. It may be stopped or killed at any moment: a
 * value is replaced by itself, and only if nobody has changed it meanwhile. When all that is left can't be opened, the next walk through the
 * tables is an hour later: until then nothing would come of it.
 * @returns whether there is more to do at once
 */
export async function reseal(deps: ResealDeps, memory: ResealMemory, signal?: AbortSignal): Promise<boolean> {
  const { logger, clock } = deps;
  const { knex } = deps.db;
  const { sealer } = deps.crypto;
  const walk: Walk = { resealed: 0, lost: new Map(), more: false };
  await tryAdvisoryLock(knex, 'reseal', async () => {
    const pending = await count(deps);
    if (pending === 0) return;
    if (await awaitsUpgrade(knex, upgradeSeconds)) {
      logOnce(memory, 'the upgrade', () =>
        logger.info({ event: 'secret_key.waiting', pending }, 'values that name no key are sealed anew an hour after the upgrade'),
      );
      return;
    }
    memory.waitsFor = null;
    logger.info({ event: 'secret_key.resealing', key_id: sealer.key_id, pending }, `sealing ${pending} values anew`);
    for (const column of sealedColumns) await resealColumn(deps, column, walk, signal);
    const left = await count(deps);
    logger.info({ event: 'secret_key.resealed', key_id: sealer.key_id, resealed: walk.resealed, pending: left }, `${left} values are left`);
    const lost = [...walk.lost.values()].reduce((sum, values) => sum + values, 0);
    if (lost > 0 && lost >= left) memory.restsUntil = clock.now().getTime() + restMs;
    for (const [key_id, values] of walk.lost) {
      logger.warn(
        { event: 'secret_key.missing', key_id, values },
        `${values} values can not be opened: they need the key ${key_id === unnamedKey ? 'of their time' : key_id} in SECRET_KEY_PREVIOUS`,
      );
    }
  });
  return walk.more && walk.resealed > 0 && !signal?.aborted;
}
