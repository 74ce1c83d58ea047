import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { Knex } from 'knex';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { createKnex } from '../connection/knex.js';
import { migrateInTransaction, tryMigrationLock } from '../migrations/migrate.js';
import { BackupRefusal } from './refusal.js';
import { databaseConnectionOf, copyTarget } from './snapshot.js';
import { listAllTables, listTables, quotedName, type SequenceState, type TableShape } from './tables.js';

/** Some rows of a table in PostgreSQL's text form of COPY. Those of one table follow each other. */
export type Rows = { readonly table: string; readonly data: Buffer };

/** What is loaded: the migrations that make the schema, then the content. */
export type Load = {
  readonly migrations: readonly string[];
  readonly tables: readonly TableShape[];
  readonly sequences: readonly SequenceState[];
  /** What this throws undoes everything. */
  readonly rows: AsyncIterable<Rows>;
  readonly without: ReadonlySet<string>;
  /** Called before the commit; what it throws undoes everything. */
  finish(trx: Knex.Transaction): Promise<void>;
};

/** Locks that others may keep us waiting for: nobody else has business in an empty database. */
const limits = `set local lock_timeout = '10s'; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`;

async function refuseUnlessEmpty(trx: Knex.Transaction): Promise<void> {
  const found = await listAllTables(trx);
  if (found.length === 0) return;
  const others = found.length > 1 ? ` and ${found.length - 1} more` : '';
  throw new BackupRefusal(
    `the database isn't empty: it has the table ${found[0]}${others}. Restore into a new one (createdb and its DATABASE_URL, or a DATA_DIR that doesn't exist yet), ` +
      'and start the service on that afterwards.',
  );
}

/** The schema is what the migrations make of an empty database, and the rows must fit into it. */
async function refuseOtherColumns(trx: Knex.Transaction, tables: readonly TableShape[]): Promise<void> {
  const made = new Map((await listTables(trx)).map(({ name, columns }) => [name, columns]));
  const sorted = (columns: readonly string[] = []) => [...columns].sort().join();
  const odd = tables.find(({ name, columns }) => sorted(columns) !== sorted(made.get(name)));
  if (odd)
    throw new BackupRefusal(
      `the table ${odd.name} of the backup was altered by hand, not by a migration: restore it with the tools of PostgreSQL.`,
    );
}

type ForeignKey = { readonly name: string; readonly table: string; readonly definition: string };

/** Rows come in any order: keys between tables are dropped before and made again afterwards, which proves all rows. Triggers are for changes, not for a copy. */
async function unbind(trx: Knex.Transaction, tables: readonly TableShape[]): Promise<ForeignKey[]> {
  const { rows } = await trx.raw<{ rows: ForeignKey[] }>(`
    select conname as name, t.relname as table, pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class t on t.oid = k.conrelid
    where k.contype = 'f' and k.conparentid = 0 and k.connamespace = current_schema()::regnamespace order by 2, 1`);
  for (const { name, table } of rows) await trx.raw(`alter table ${quotedName(table)} drop constraint ${quotedName(name)}`);
  for (const { name } of tables) await trx.raw(`alter table ${quotedName(name)} disable trigger user`);
  // Migrations leave rows behind too.
  await trx.raw(`truncate ${tables.map(({ name }) => quotedName(name)).join(', ')}`);
  return rows;
}

async function bind(trx: Knex.Transaction, tables: readonly TableShape[], keys: readonly ForeignKey[]): Promise<void> {
  for (const { name, table, definition } of keys)
    await trx.raw(`alter table ${quotedName(table)} add constraint ${quotedName(name)} ${definition.replaceAll('?', '\\?')}`);
  for (const { name } of tables) await trx.raw(`alter table ${quotedName(name)} enable trigger user`);
}

function openCopy(connection: Client, table: TableShape) {
  const stream = connection.query(copyFrom(`copy ${copyTarget(table)} from stdin`));
  const done = finished(stream);
  done.catch(() => undefined);
  return {
    table: table.name,
    async write(data: Buffer): Promise<void> {
      if (!stream.write(data)) await Promise.race([once(stream, 'drain'), done]);
    },
    async end(): Promise<void> {
      stream.end();
      await done;
    },
    /** Ends it without its rows; the transaction can only be rolled back then. */
    async fail(error: Error): Promise<void> {
      stream.destroy(error);
      await done.catch(() => undefined);
    },
  };
}

async function copyRows(trx: Knex.Transaction, { tables, rows, without }: Load): Promise<void> {
  const connection = await databaseConnectionOf(trx);
  const shapes = new Map(tables.map((table) => [table.name, table]));
  let copy: ReturnType<typeof openCopy> | null = null;
  try {
    for await (const { table, data } of rows) {
      if (copy && copy.table !== table) {
        const whole = copy;
        copy = null;
        await whole.end();
      }
      const shape = shapes.get(table);
      if (without.has(table) || !shape) continue;
      copy ??= openCopy(connection, shape);
      await copy.write(data);
    }
  } catch (error) {
    await copy?.fail(error as Error);
    throw error;
  }
  await copy?.end();
}

/**
 * Makes the schema in an empty database and fills it, in one transaction: afterwards everything is there or nothing. A service that starts on
 * the database meanwhile waits, as for another's migration.
 * @throws {BackupRefusal} when the database isn't empty or the rows don't fit
 */
export async function loadInto(url: string, load: Load): Promise<void> {
  const knex = createKnex({ url, poolMax: 1, unlimited: true });
  try {
    await knex.transaction(async (trx) => {
      await trx.raw(limits);
      if (!(await tryMigrationLock(trx)))
        throw new BackupRefusal('a service is being started on this database: stop it, and restore into an empty database.');
      await refuseUnlessEmpty(trx);
      await migrateInTransaction(trx, load.migrations);
      await refuseOtherColumns(trx, load.tables);
      const keys = await unbind(trx, load.tables);
      await copyRows(trx, load);
      for (const { name, last_value, is_called } of load.sequences)
        await trx.raw('select setval(quote_ident(?)::regclass, ?::bigint, ?)', [name, last_value, is_called]);
      await bind(trx, load.tables, keys);
      await load.finish(trx);
    });
    // Plans are made of this, and the database would gather it only after a while.
    await knex.raw('analyze');
  } finally {
    await knex.destroy();
  }
}
