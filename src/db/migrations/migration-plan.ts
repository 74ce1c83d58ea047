import type { Knex } from 'knex';
import { appliedMigrations, migrationNames, readMigration } from './migrate.js';

/**
 * What a migration may do beside the release before: `expand` only adds to what that uses, `contract` takes away what only releases before that one used.
 */
export type Phase = 'expand' | 'contract';

/** What a migration does to a table that was there before, while it holds a lock that keeps others from writing. */
export type TableLock = {
  readonly table: string;
  /** As PostgreSQL names it: `share` and `share row exclusive` stop writes, `access exclusive` stops reads too. */
  readonly lock: string;
  /** Whether all rows are read, or written anew, meanwhile. */
  readonly work: 'reads' | 'rewrites' | null;
};

/** What a migration's first lines say of it; null where they don't, as in the baseline. */
export type MigrationHeader = { readonly phase: Phase | null; readonly locks: readonly TableLock[] | null };

const lockLine = /^(\w+) (share|share row exclusive|exclusive|access exclusive)(?:, (reads|rewrites) its rows)?$/;

function locksOf(text: string): TableLock[] | null {
  if (text === 'none') return [];
  const found = text.split('; ').map((lock) => lockLine.exec(lock));
  if (found.some((one) => one === null)) return null;
  return found.map((one) => ({ table: one?.[1] ?? '', lock: one?.[2] ?? '', work: (one?.[3] as TableLock['work'] | undefined) ?? null }));
}

/** Reads `-- phase: expand` and `-- locks: users access exclusive, reads its rows; clients share`, which stand before the first statement. */
export function readHeader(sql: string): MigrationHeader {
  const lines = /^(?:--.*\n)*/.exec(sql)?.[0] ?? '';
  const field = (name: string) => new RegExp(`^-- ${name}: (.+)$`, 'm').exec(lines)?.[1] ?? null;
  const phase = field('phase');
  const locks = field('locks');
  return { phase: phase === 'expand' || phase === 'contract' ? phase : null, locks: locks === null ? null : locksOf(locks) };
}

/** A migration that waits, with the rows that each table has by PostgreSQL's estimate; null for a table that is made only by then, or was never analyzed. */
export type PlannedMigration = Pick<MigrationHeader, 'phase'> & {
  readonly name: string;
  readonly locks: readonly (TableLock & { readonly rows: number | null })[];
};

/** The migrations that the database lacks, without running any. @throws {OutdatedSchema} */
export async function planMigrations(knex: Knex): Promise<PlannedMigration[]> {
  const { rows } = await knex.raw<{ rows: { name: string; rows: number }[] }>(
    `select relname as name, reltuples as rows from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`,
  );
  const estimates = new Map(rows.map((table) => [table.name, Number(table.rows)]));
  const rowsOf = (table: string) => {
    const estimate = estimates.get(table) ?? -1;
    return estimate < 0 ? null : estimate;
  };
  const applied = new Set(await appliedMigrations(knex));
  const pending = (await migrationNames()).filter((name) => !applied.has(name));
  return Promise.all(
    pending.map(async (name) => {
      const { phase, locks } = readHeader(await readMigration(name));
      return { name, phase, locks: (locks ?? []).map((lock) => ({ ...lock, rows: rowsOf(lock.table) })) };
    }),
  );
}
