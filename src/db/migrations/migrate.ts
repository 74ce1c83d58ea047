import type { Knex } from 'knex';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../platform/log/logger.js';
import { isOutdated, MissingExtension, migrationsTable, sinceBaseline, takeOver } from './baseline.js';
import { createKnex } from '../connection/knex.js';
import { packageRoot } from '../../lib/package-root.js';

const migrationDirectory = join(packageRoot, 'migrations');

/** The advisory lock's key: "migr" in ASCII. */
const lockKey = 0x6d696772;

/** `lock_timeout` of migrations: a statement may run long, but one that waits for a lock blocks everything queued behind it. */
const lockTimeout = '10s';

const source: Knex.MigrationSource<string> = {
  getMigrations: () => migrationNames(),
  getMigrationName: (name) => name,
  async getMigration(name) {
    const sql = await readMigration(name);
    return {
      // Knex takes a bare question mark for a binding.
      up: (transaction) =>
        transaction.raw(sql.replaceAll('?', '\\?')).catch((error: Error) => {
          const reason = error.message.slice(error.message.lastIndexOf(' - ') + 3);
          throw /pg_trgm|gin_trgm_ops/.test(reason) ? new MissingExtension(reason) : error;
        }),
      down: () => Promise.reject(new Error(`migration ${name} can't be undone; restore a backup instead`)),
    };
  },
};

const migrations: Knex.MigratorConfig = { migrationSource: source, tableName: migrationsTable, disableMigrationsListValidation: true };

export async function migrationNames(): Promise<string[]> {
  const entries = await readdir(migrationDirectory);
  return entries.map((entry) => entry.replace(/\.sql$/, '')).sort();
}

/** The SQL of a migration: of its file, or of the files of its folder, in the order of their names. */
export async function readMigration(name: string): Promise<string> {
  const path = join(migrationDirectory, name);
  const folder = await readdir(path).catch(() => null);
  const files = folder?.sort().map((file) => join(path, file)) ?? [`${path}.sql`];
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n');
}

/**
 * Brings the database to the newest schema and returns the names of the migrations that ran.
 *
 * Each migration is one transaction, on an empty database all of them are, so a killed process leaves whole migrations behind. Replicas may start together: an
 * advisory lock lets one migrate while the others wait. The server drops it with the connection, hence a killed
 * process blocks nobody; Knex's own lock row is freed first, as only the holder of the advisory lock can own it.
 * Migrations that only a newer release knows are left alone, so that an older replica can still start beside it.
 * @throws {OutdatedSchema}
 */
export async function migrate(knex: Knex, log?: Logger): Promise<string[]> {
  const { connectionString } = (knex.client as Knex.Client).config.connection as { connectionString: string };
  const dedicated = createKnex({ url: connectionString, poolMax: 1, unlimited: true, ...(log && { logger: log }) });
  try {
    await waitForLock(dedicated, log);
    await dedicated.raw(`set statement_timeout = 0; set lock_timeout = '${lockTimeout}'`);
    await dedicated.migrate.forceFreeMigrationsLock(migrations);
    if (await isEmpty(dedicated)) return await runAll(dedicated, log);
    await takeOver(dedicated);
    return await runPending(dedicated, log);
  } finally {
    await dedicated.destroy();
  }
}

/** Whether no migration was ever applied. */
async function isEmpty(knex: Knex): Promise<boolean> {
  if (!(await hasMigrations(knex))) return true;
  return (await knex(migrationsTable).first('name')) === undefined;
}

/** Nobody uses an empty database yet: one transaction holds no lock that somebody waits for, and takes a fifth of the processor time. */
async function runAll(knex: Knex, log?: Logger): Promise<string[]> {
  const [, names] = (await knex.migrate.latest(migrations)) as [number, string[]];
  const { length: count } = names;
  log?.info({ event: 'database.migrated', migration: names.at(-1), count }, 'an empty database got the schema of this release');
  return names;
}

async function runPending(knex: Knex, log?: Logger): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    const [, names] = (await knex.migrate.up(migrations)) as [number, string[]];
    const [name] = names;
    if (name === undefined) return done;
    done.push(name);
    log?.info({ event: 'database.migrated', migration: name }, 'a migration was applied');
  }
}

/** Runs exactly these migrations, in a transaction of the caller's: all of them take effect with it, or none. */
export async function migrateInTransaction(trx: Knex.Transaction, names: readonly string[]): Promise<void> {
  await trx.migrate.latest({ ...migrations, migrationSource: { ...source, getMigrations: () => Promise.resolve([...names]) } });
}

/** Takes the lock of migrations until the transaction ends; false while somebody migrates. */
export async function tryMigrationLock(trx: Knex.Transaction): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: { locked: boolean }[] }>('select pg_try_advisory_xact_lock(?) as locked', [lockKey]);
  return rows[0]?.locked === true;
}

/** Polls for the lock instead of waiting in the server, where the open statement's snapshot would block `create index concurrently`. */
async function waitForLock(knex: Knex, log?: Logger): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const { rows } = await knex.raw<{ rows: { locked: boolean }[] }>('select pg_try_advisory_lock(?) as locked', [lockKey]);
    if (rows[0]?.locked) return;
    if (attempt === 0) log?.info({ event: 'database.migration_awaited' }, 'waiting for another process to migrate');
    await delay(100);
  }
}

/** How a database's schema differs from this release's: migrations that it lacks, and those that only a newer release knows. */
export type SchemaDifference = { readonly pending: readonly string[]; readonly newer: readonly string[] };

async function hasMigrations(knex: Knex): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { exists: boolean }[] }>('select to_regclass(?) is not null as exists', [migrationsTable]);
  return rows[0]?.exists === true;
}

/**
 * The applied migrations as this release names them, in their order; null where there is no list of them.
 * @throws {OutdatedSchema}
 */
export const appliedMigrations = async (knex: Knex): Promise<readonly string[] | null> =>
  (await hasMigrations(knex)) ? sinceBaseline(await knex(migrationsTable).orderBy('id').pluck<string[]>('name')) : null;

/** Compares the schema with this release's. One that can't be taken over lacks everything. */
export async function schemaDifference(knex: Knex): Promise<SchemaDifference> {
  const names = await migrationNames();
  if (!(await hasMigrations(knex))) return { pending: names, newer: [] };
  const found = await knex(migrationsTable).pluck<string[]>('name');
  const applied = new Set(isOutdated(found) ? [] : sinceBaseline(found));
  return { pending: names.filter((name) => !applied.has(name)), newer: [...applied].filter((name) => !names.includes(name)).sort() };
}

/** The migrations of this release that the database lacks: none means ready to serve. */
export const pendingMigrations = async (knex: Knex): Promise<readonly string[]> => (await schemaDifference(knex)).pending;
