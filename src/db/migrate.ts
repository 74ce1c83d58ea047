import type { Knex } from 'knex';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../platform/log/logger.js';
import { createKnex } from './knex.js';
import { packageRoot } from '../lib/package-root.js';

/** Where the SQL files are. */
export const migrationDirectory = join(packageRoot, 'migrations');

/** The advisory lock's key: "migr" in ASCII. */
const lockKey = 0x6d696772;

/** `lock_timeout` of migrations: a statement may run long, but one that waits for a lock blocks everything queued behind it. */
const lockTimeout = '10s';

const source: Knex.MigrationSource<string> = {
  getMigrations: () => migrationNames(),
  getMigrationName: (name) => name,
  async getMigration(name) {
    const sql = await readFile(join(migrationDirectory, `${name}.sql`), 'utf8');
    return {
      // Knex takes a bare question mark for a binding.
      up: (transaction) => transaction.raw(sql.replaceAll('?', '\\?')),
      down: () => Promise.reject(new Error(`migration ${name} can't be undone; restore a backup instead`)),
    };
  },
};

const migrations: Knex.MigratorConfig = { migrationSource: source, tableName: 'knex_migrations', disableMigrationsListValidation: true };

/** The migrations of this release, in their order. */
export async function migrationNames(): Promise<string[]> {
  const files = await readdir(migrationDirectory);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.slice(0, -'.sql'.length))
    .sort();
}

/**
 * Brings the database to the newest schema and returns the names of the migrations that ran.
 *
 * Each migration is one transaction, on an empty database all of them are, so a killed process leaves whole migrations behind. Replicas may start together: an
 * advisory lock lets one migrate while the others wait. The server drops it with the connection, hence a killed
 * process blocks nobody; Knex's own lock row is freed first, as only the holder of the advisory lock can own it.
 * Migrations that only a newer release knows are left alone, so that an older replica can still start beside it.
 */
export async function migrate(knex: Knex, log?: Logger): Promise<string[]> {
  const { connectionString } = (knex.client as Knex.Client).config.connection as { connectionString: string };
  const dedicated = createKnex({ url: connectionString, poolMax: 1, unlimited: true, ...(log && { logger: log }) });
  try {
    await waitForLock(dedicated, log);
    await dedicated.raw(`set statement_timeout = 0; set lock_timeout = '${lockTimeout}'`);
    await dedicated.migrate.forceFreeMigrationsLock(migrations);
    return (await isEmpty(dedicated)) ? await runAll(dedicated, log) : await runPending(dedicated, log);
  } finally {
    await dedicated.destroy();
  }
}

/** Whether no migration was ever applied. */
async function isEmpty(knex: Knex): Promise<boolean> {
  if (!(await hasMigrations(knex))) return true;
  return (await knex('knex_migrations').first('name')) === undefined;
}

/** Nobody uses an empty database yet: one transaction holds no lock that somebody waits for, and takes a fifth of the processor time. */
async function runAll(knex: Knex, log?: Logger): Promise<string[]> {
  const [, names] = (await knex.migrate.latest(migrations)) as [number, string[]];
  for (const migration of names) log?.info({ event: 'database.migrated', migration }, 'a migration was applied');
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
export async function migrateWithin(trx: Knex.Transaction, names: readonly string[]): Promise<void> {
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

/** Whether the table of applied migrations is there. */
async function hasMigrations(knex: Knex): Promise<boolean> {
  const { rows } = await knex.raw<{ rows: { exists: boolean }[] }>("select to_regclass('knex_migrations') is not null as exists");
  return rows[0]?.exists === true;
}

/** Compares the schema with this release's. */
export async function schemaDifference(knex: Knex): Promise<SchemaDifference> {
  const names = await migrationNames();
  if (!(await hasMigrations(knex))) return { pending: names, newer: [] };
  const applied = new Set(await knex('knex_migrations').pluck<string[]>('name'));
  return { pending: names.filter((name) => !applied.has(name)), newer: [...applied].filter((name) => !names.includes(name)).sort() };
}

/** The migrations of this release that the database lacks: none means ready to serve. */
export async function pendingMigrations(knex: Knex): Promise<readonly string[]> {
  return (await schemaDifference(knex)).pending;
}
