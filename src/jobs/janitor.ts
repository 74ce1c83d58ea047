import { tryAdvisoryLock } from '../db/connection/advisory-lock.js';
import { listPartitions, type Partition } from '../db/postgres/partitions.js';
import { analyzeGrownTables } from '../db/postgres/statistics.js';
import { deleteExpired, expiringTables, type DeletedBatch, type ExpiringTable } from '../db/tables/expiring.js';
import { deleteOldCacheChanges } from '../db/tables/cache_changes.js';
import { deleteExpiredRateLimits } from '../db/tables/rate_limits.js';
import { startLoop, type Loop } from '../platform/loop.js';
import { inBackground } from '../platform/spans/tracer.js';
import type { Deps } from '../domain/context.js';
import { named } from '../lib/named.js';

const batch = 1_000;
const maxBatchesPerPass = 50;
/** The most rows that one pass deletes from a table; a pass that did so left some behind. */
const fullPass = batch * maxBatchesPerPass;
const pauseMs = 30_000;
/** Tables that may fail in a pass; with more the database itself is at fault, and the pass ends. */
const maxFailures = 3;

/** Repeats while there is a whole batch to delete, up to the bound of a pass. @returns how many rows went */
async function inBatches(deleteBatch: (from: Date | null) => Promise<DeletedBatch>): Promise<number> {
  let total = 0;
  let from: Date | null = null;
  for (let i = 0; i < maxBatchesPerPass; i++) {
    const { deleted, reached } = await deleteBatch(from);
    total += deleted;
    from = reached;
    if (deleted < batch) break;
  }
  return total;
}

/**
 * Where a table's expired rows are deleted. Partitions are dropped as a whole (`partitions.ts`): of a partitioned table that is the one that was the table before, and all
 * for rows that expire before the others.
 */
function sweptIn({ name, only, keepSeconds }: ExpiringTable, partitions: readonly Partition[], now: Date): readonly string[] {
  const own = partitions.filter(({ table }) => table === name);
  if (own.length === 0) return [name];
  const before = now.getTime() - keepSeconds * 1000;
  return own.filter(({ from }) => from === null || (only !== undefined && from.getTime() < before)).map((partition) => partition.name);
}

/**
 * One pass over what has expired: batches of a thousand rows by the index on their expiry, a bounded number of batches, one replica at
 * a time. A table that can't be swept now, because something holds it, leaves no other unswept. @returns how many rows went, by table.
 * @throws the first failure, once all others are swept, or a few have failed
 */
export async function janitorPass(deps: Pick<Deps, 'db' | 'clock' | 'config'>): Promise<Record<string, number>> {
  const gone: Record<string, number> = named();
  await tryAdvisoryLock(deps.db.knex, 'janitor', async () => {
    const failures: unknown[] = [];
    const sweep = async (name: string, work: () => Promise<number>): Promise<void> => {
      if (failures.length === maxFailures) return;
      const swept = await work().catch((failure: unknown) => void failures.push(failure));
      if (swept !== undefined) gone[name] = (gone[name] ?? 0) + swept;
    };
    await sweep('cache_changes', () => deleteOldCacheChanges(deps.db.knex));
    await sweep('rate_limits', () =>
      inBatches(async () => ({ deleted: await deleteExpiredRateLimits(deps.db.knex, batch), reached: null })),
    );
    const [now, partitions] = [deps.clock.now(), await listPartitions(deps.db.knex)];
    for (const table of expiringTables(deps.config))
      for (const name of sweptIn(table, partitions, now))
        await sweep(table.name, () => inBatches((from) => deleteExpired(deps.db.knex, { ...table, name }, now, { limit: batch, from })));
    if (failures.length > 0) throw failures[0];
  });
  return gone;
}

/** Runs passes until stopped: the next one at once while a table had as many expired rows as a pass takes, so that they go as fast as they come. */
export function startJanitor(deps: Deps): Loop {
  const pass = async () => {
    const gone = await inBackground(deps.tracer, 'janitor pass', () => janitorPass(deps));
    return Object.values(gone).some((rows) => rows >= fullPass) ? ('more' as const) : ('done' as const);
  };
  return startLoop({ name: 'janitor', pauseMs, logger: deps.logger, pass });
}

const statisticsPauseMs = 3_000;

/** Runs ANALYZE on tables that have grown, so that the planner has current statistics; one replica at a time (advisory lock). */
export function startStatistics({ db: { knex }, logger }: Pick<Deps, 'db' | 'logger'>): Loop {
  const renew = async () => {
    const analyzed = await analyzeGrownTables(knex);
    if (analyzed.length > 0) logger.debug({ event: 'statistics.renewed', tables: analyzed }, 'statistics of grown tables were renewed');
  };
  const pass = async () => {
    await tryAdvisoryLock(knex, 'statistics', renew);
    return 'done' as const;
  };
  return startLoop({ name: 'statistics', pauseMs: statisticsPauseMs, logger, pass });
}
