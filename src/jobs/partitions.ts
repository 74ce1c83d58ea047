import type { Knex } from 'knex';
import { createKnex } from '../db/connection/knex.js';
import {
  addPartition,
  dropPartition,
  endPartition,
  expirePartition,
  isHeld,
  listPartitions,
  takeTurn,
  type Partition,
} from '../db/postgres/partitions.js';
import { partitionedTables, type PartitionedTable } from '../db/tables/partitioned.js';
import type { Deps } from '../domain/context.js';
import { startLoop, type Loop } from '../platform/loop.js';

const dayMs = 86_400_000;
const pauseMs = 60_000;
/** For so long there are partitions in advance. */
const aheadMs = 7 * dayMs;

/** What a table has at most, from its oldest partition to the one in advance: twice as many for a while after its retention was changed. */
const mostPartitions = 16;

/** The end of the partition that `at` is in: they are as many whole days long as it takes for there not to be too many, counted from 1970. */
export function endOfPartition(at: number, keepDays: number): Date {
  const ms = Math.ceil((keepDays * dayMs + aheadMs) / (mostPartitions - 2) / dayMs) * dayMs;
  return new Date((Math.floor(at / ms) + 1) * ms);
}

type Given = Pick<Deps, 'db' | 'clock' | 'config' | 'logger' | 'metrics'>;

/** What there is of a table, and which of it has expired. */
type Work = { readonly table: PartitionedTable; readonly partitions: readonly Partition[]; readonly old: readonly Partition[] };

/** What has to happen, with what was detached and not yet dropped. */
async function workToDo({ config }: Given, knex: Knex, now: number): Promise<{ detached: Partition[]; todo: Work[] }> {
  const found = await listPartitions(knex);
  const todo = partitionedTables(config).flatMap((table): Work[] => {
    const partitions = found.filter((one) => one.table === table.name);
    const old = partitions.filter(({ to }) => to !== null && to.getTime() + table.keepDays * dayMs <= now);
    const end = partitions.at(-1)?.to ?? null;
    return old.length > 0 || end === null || end.getTime() < now + aheadMs ? [{ table, partitions, old }] : [];
  });
  return { detached: found.filter(({ table }) => table === null), todo };
}

/** Makes those that will be needed. The time for which nobody ran, and wrote, is in one. */
async function makeAhead(knex: Knex, { table, partitions }: Work, now: number): Promise<void> {
  let last = partitions.at(-1) as Partition;
  if (last.to === null) last = await endPartition(knex, table.name, last, endOfPartition(now + aheadMs, table.keepDays), table.key);
  while ((last.to as Date).getTime() < now + aheadMs)
    last = await addPartition(knex, table.name, last, endOfPartition(Math.max((last.to as Date).getTime(), now), table.keepDays));
}

/** Drops those that have expired, the oldest first, until one is needed. @returns how many */
async function dropOld(knex: Knex, { table, old }: Work, now: number): Promise<number> {
  const since = new Date(now - table.keepDays * dayMs);
  let dropped = 0;
  for (const partition of old) {
    if (!(await expirePartition(knex, partition, { ...table, since }))) break;
    dropped += 1;
  }
  return dropped;
}

/** One table's turn: what somebody holds is left for the next pass. @throws what else went wrong */
async function maintain(deps: Pick<Deps, 'logger' | 'metrics'>, table: string, work: () => Promise<number>): Promise<void> {
  try {
    const dropped = await work();
    if (dropped === 0) return;
    deps.metrics.partitionsDropped.inc({ table }, dropped);
    deps.logger.info({ event: 'partitions.dropped', table, dropped }, 'partitions whose rows had expired were dropped');
  } catch (error) {
    if (!isHeld(error)) throw error;
    deps.logger.debug({ event: 'partitions.held', table }, 'partitions are in use, and changed later');
  }
}

/** @throws the first failure, after all tables had their turn */
async function doAll(deps: Given, knex: Knex, now: number): Promise<void> {
  const failures: unknown[] = [];
  const turn = (table: string, work: () => Promise<number>) =>
    maintain(deps, table, work).catch((failure: unknown) => void failures.push(failure));
  const { detached, todo } = await workToDo(deps, knex, now);
  for (const one of detached) await turn(one.name.replace(/_[^_]+$/, ''), () => dropPartition(knex, one).then(() => 1));
  for (const work of todo) {
    await turn(work.table.name, () => makeAhead(knex, work, now).then(() => 0));
    await turn(work.table.name, () => dropOld(knex, work, now));
  }
  if (failures.length > 0) throw failures[0];
}

/**
 * One pass over the partitioned tables: partitions for the next seven days are made, those whose rows have all expired are dropped. Whoever holds a table for more than
 * 200 ms keeps it for now. A table that fails leaves no other undone. One process at a time.
 * @param directUrl detaching is no transaction, and its time-out one of the connection: it can't go through a pooler
 */
export async function partitionsPass(deps: Given, directUrl: string): Promise<void> {
  const now = deps.clock.now().getTime();
  const { detached, todo } = await workToDo(deps, deps.db.knex, now);
  if (detached.length + todo.length === 0) return;
  const knex = createKnex({ url: directUrl, poolMax: 1, unlimited: true });
  try {
    if (await takeTurn(knex)) await doAll(deps, knex, now);
  } finally {
    await knex.destroy();
  }
}

/** What a process that starts does before it serves: after days in which none ran there may be no partition for what it will write. */
export async function makeRoom(deps: Given, directUrl: string): Promise<void> {
  const isShort = async () => {
    const now = deps.clock.now().getTime();
    const found = await listPartitions(deps.db.knex);
    return partitionedTables(deps.config).some((table) => (found.findLast((one) => one.table === table.name)?.to?.getTime() ?? now) < now);
  };
  while (await isShort()) await partitionsPass(deps, directUrl);
}

export const startPartitions = (deps: Deps, directUrl: string): Loop =>
  startLoop({ name: 'partitions', pauseMs, logger: deps.logger, pass: () => partitionsPass(deps, directUrl).then(() => 'done' as const) });
