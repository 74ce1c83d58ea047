import type { Knex } from 'knex';
import { DatabaseFailure } from '../connection/failures.js';

/** A partition by an id of version 7: of ids made since `from` (null: all) and before `to` (null: all). `table` is null once it is detached and waits to be dropped. */
export type Partition = {
  readonly table: string | null;
  readonly name: string;
  readonly from: Date | null;
  readonly to: Date | null;
  /** A detachment that somebody's transaction kept from its end. */
  readonly is_detaching: boolean;
  readonly options: readonly string[] | null;
};

/** What a partition that is to be dropped says of itself: one that an administrator has detached is left alone. */
const mark = 'expired';

/** How long a change of partitions waits for a lock; everybody who comes after it waits behind it. */
const lockTimeout = '200ms';

/** The lowest id that a UUID of version 7 of that time can be. */
export function idSince(at: Date | null): string {
  const hex = (at?.getTime() ?? 0).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

const timeOf = (hex: string | undefined): Date | null => (hex === undefined ? null : new Date(Number.parseInt(hex.replace('-', ''), 16)));

type Found = Pick<Partition, 'table' | 'name' | 'is_detaching' | 'options'> & { bound: string | null };

/** All partitions, and what was one until it expired; the oldest of a table first. */
export async function listPartitions(knex: Knex): Promise<Partition[]> {
  const { rows } = await knex.raw<{ rows: Found[] }>(
    `select p.relname as table, c.relname as name, coalesce(i.inhdetachpending, false) as is_detaching, c.reloptions as options,
       pg_get_expr(c.relpartbound, c.oid) as bound
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and (p.relkind = 'p' or obj_description(c.oid, 'pg_class') = ?)`,
    [mark],
  );
  return rows
    .map(({ bound, ...rest }) => ({
      ...rest,
      from: timeOf(/FROM \('([0-9a-f]{8}-[0-9a-f]{4})/.exec(bound ?? '')?.[1]),
      to: timeOf(/TO \('([0-9a-f]{8}-[0-9a-f]{4})/.exec(bound ?? '')?.[1]),
    }))
    .sort((a, b) => Number(a.from) - Number(b.from));
}

const range = (from: Date | null, to: Date | null) =>
  `for values from (${from === null ? 'minvalue' : `'${idSince(from)}'`}) to (${to === null ? 'maxvalue' : `'${idSince(to)}'`})`;

/** Whether somebody else's lock was in the way. */
export const isHeld = (error: unknown): boolean => error instanceof DatabaseFailure && error.sqlstate === '55P03';

/**
 * Has the connection, which is the only one of its pool, give way, which all else here relies on, and takes the lock of these changes until it is closed: a transaction
 * that held it would be waited for by a detachment. @returns whether nobody else has it
 */
export async function takeTurn(knex: Knex): Promise<boolean> {
  await knex.raw(`set lock_timeout = '${lockTimeout}'`);
  const { rows } = await knex.raw<{ rows: { locked: boolean }[] }>(
    `select pg_try_advisory_lock(hashtextextended('partitions', 0)) as locked`,
  );
  return rows[0]?.locked === true;
}

/** Adds a partition behind the last one, with what that one's administrator has set. Takes no lock that keeps anybody from reading or writing the table. */
export async function addPartition(knex: Knex, table: string, last: Partition, to: Date): Promise<Partition> {
  const from = last.to as Date;
  const name = `${table}_${from.toISOString().slice(0, 10).replaceAll('-', '')}`;
  const options = last.options === null ? '' : `with (${last.options.join(', ')})`;
  await knex.transaction(async (trx) => {
    await trx.raw(`create table ?? (like ?? including all) ${options}`, [name, table]);
    await trx.raw(`alter table ?? attach partition ?? ${range(from, to)}`, [table, name]);
  });
  return { ...last, name, from, to };
}

/**
 * Gives the only partition, which is for all ids, an end: rows are read once, beside all writes, then the table is locked for the moment in which the catalogue is changed.
 * @throws when there are ids beyond that end
 */
export async function endPartition(knex: Knex, table: string, only: Partition, to: Date, key: string): Promise<Partition> {
  const { name } = only;
  const bindings = [name, `${name}_end`];
  const drop = 'alter table ?? drop constraint if exists ??';
  await knex.raw(`${drop}, add constraint ?? check (?? < '${idSince(to)}') not valid`, [...bindings, `${name}_end`, key]);
  try {
    await knex.raw('alter table ?? validate constraint ??', bindings);
  } catch (error) {
    await knex.raw(drop, bindings);
    throw error;
  }
  await knex.transaction(async (trx) => {
    // In this order: whoever writes to a table that refers to environments has mostly read those before.
    await trx.raw('lock table environments, ?? in access exclusive mode', [table]);
    await trx.raw('alter table ?? detach partition ??', [table, name]);
    await trx.raw(`alter table ?? attach partition ?? ${range(only.from, to)}`, [table, name]);
    await trx.raw(drop, bindings);
  });
  return { ...only, to };
}

/** Detaches and drops; goes on where it was kept from it the last time. */
export async function dropPartition(knex: Knex, { table, name, is_detaching }: Partition): Promise<void> {
  if (table !== null) {
    await knex.raw(`comment on table ?? is '${mark}'`, [name]);
    await knex.raw(`alter table ?? detach partition ?? ${is_detaching ? 'finalize' : 'concurrently'}`, [table, name]);
  }
  await knex.raw('drop table ??', [name]);
}

/** Drops a partition, after what goes with its rows, unless it is needed: both are SQL that knows its `:name:`, its ids (`:from`, `:to`) and `:since`. @returns whether it was dropped */
export async function expirePartition(
  knex: Knex,
  partition: Partition,
  { needed, before, since }: { readonly needed: string; readonly before?: string; readonly since: Date },
): Promise<boolean> {
  const bindings = { name: partition.name, from: idSince(partition.from), to: idSince(partition.to), since };
  const { rows } = await knex.raw<{ rows: { needed: boolean }[] }>(`select ${needed} as needed`, bindings);
  if (rows[0]?.needed !== false) return false;
  if (before !== undefined) await knex.raw(before, bindings);
  await dropPartition(knex, partition);
  return true;
}
