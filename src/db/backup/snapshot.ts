import type { Readable } from 'node:stream';
import type { Knex } from 'knex';
import type { Client } from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { createKnex } from '../connection/knex.js';
import { appliedMigrations, migrationNames } from '../migrations/migrate.js';
import { BackupRefusal } from './refusal.js';
import { listSequences, listTables, quotedName, type SequenceState, type TableShape } from './tables.js';

/** The database as it was at one moment. */
export type Snapshot = {
  /** For further questions to the same moment. */
  readonly knex: Knex;
  /** The migrations that made its schema, in their order. */
  readonly migrations: readonly string[];
  readonly tables: readonly TableShape[];
  /** The rows of a table in PostgreSQL's text form of COPY. To be read to its end before anything else is asked. */
  copy(table: TableShape): Promise<Readable & { readonly rowCount: number }>;
  /** Never behind the rows of the snapshot, since sequences only go on. */
  sequences(): Promise<SequenceState[]>;
};

export const databaseConnectionOf = (trx: Knex.Transaction): Promise<Client> =>
  (trx.client as { acquireConnection(): Promise<Client> }).acquireConnection();

const namesOf = ({ columns }: TableShape) => columns.map(quotedName).join(', ');

export const copyTarget = (table: TableShape): string => `${quotedName(table.name)} (${namesOf(table)})`;

async function requireMigrations(knex: Knex): Promise<readonly string[]> {
  const applied = await appliedMigrations(knex);
  if (applied) return applied;
  throw new BackupRefusal('the database holds nothing of this service: look whether DATABASE_URL or DATA_DIR is the right one.');
}

async function refuseNewer(knex: Knex): Promise<void> {
  const known = new Set(await migrationNames());
  const newer = (await requireMigrations(knex)).filter((name) => !known.has(name));
  if (newer.length === 0) return;
  throw new BackupRefusal(`the database was migrated by a newer release (${newer.join(', ')}): back it up with that release.`);
}

/**
 * Runs `work` on one snapshot of the database (repeatable read), beside whatever goes on there. Its tables are locked against migrations alone
 * (ACCESS SHARE) until `work` ends.
 * @throws {BackupRefusal | OutdatedSchema}
 */
export async function withSnapshot<T>(url: string, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const knex = createKnex({ url, poolMax: 1, unlimited: true });
  try {
    await refuseNewer(knex);
    const tables = await listTables(knex);
    return await knex.transaction(
      async (trx) => {
        // Locks come before the first look, which is the snapshot's moment: nothing is altered between the two.
        const names = tables.map(({ name }) => quotedName(name)).join(', ');
        await trx.raw(`set local lock_timeout = '10s'; lock table ${names} in access share mode`);
        const migrations = await requireMigrations(trx);
        if (JSON.stringify(await listTables(trx)) !== JSON.stringify(tables))
          throw new BackupRefusal('the database was being migrated: do it again when that is over.');
        return work({
          knex: trx,
          migrations,
          tables,
          async copy(table) {
            // A large table takes its time, whatever was asked before.
            await trx.raw('set local statement_timeout = 0');
            // By a query: a partitioned table has no rows of its own to copy.
            return (await databaseConnectionOf(trx)).query(
              copyTo(`copy (select ${namesOf(table)} from ${quotedName(table.name)}) to stdout`),
            );
          },
          sequences: () => listSequences(trx, tables.map(({ name }) => name)), // prettier-ignore
        });
      },
      { isolationLevel: 'repeatable read', readOnly: true },
    );
  } finally {
    await knex.destroy();
  }
}
