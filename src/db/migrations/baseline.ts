import type { Knex } from 'knex';

/** Knex's own list of the migrations that were applied. */
export const migrationsTable = 'knex_migrations';

/** The first migration: the schema as those before it had made it, whose place it takes. */
const baseline = '0001_baseline';

/** Of those the last, and how many there were. */
export const earlierReleases = { last: '0399_earlier_releases', count: 103 };

/** A database, or a backup, of a time before the baseline that lacks some of the migrations which that takes the place of. */
export class OutdatedSchema extends Error {
  constructor() {
    super(
      `the schema is older than migrations/${baseline}, which takes over only what ended with ${earlierReleases.last}. Check out the last commit that has ` +
        `migrations/${earlierReleases.last}.sql (the parent of what "git log -1 --diff-filter=D -- migrations/${earlierReleases.last}.sql" names) and run "npm run -s migrate" there, ` +
        'for a backup after restoring it there; then come back to this release.',
    );
    this.name = 'OutdatedSchema';
  }
}

/** A server that doesn't give the database what searches need. */
export class MissingExtension extends Error {
  constructor(reason: string) {
    super(
      `searches need the extension pg_trgm, which PostgreSQL refuses (${reason}). As the owner of the database or a superuser run "create extension pg_trgm" in it; ` +
        "where the server has none, install PostgreSQL's contrib package or allow the extension in the provider's settings; where it is in another schema, " +
        'run "alter extension pg_trgm set schema public". Then start again.',
    );
    this.name = 'MissingExtension';
  }
}

const isEarlierHead = (applied: readonly string[]) => applied.length === earlierReleases.count && applied.includes(earlierReleases.last);

/** Whether these applied migrations are of before the baseline, and not all of them: nothing of this release can work with that. */
export const isOutdated = (applied: readonly string[]): boolean =>
  applied.length > 0 && !applied.includes(baseline) && !isEarlierHead(applied);

/**
 * Applied migrations as this release names them: all that the baseline takes the place of are the baseline.
 * @throws {OutdatedSchema}
 */
export function sinceBaseline(applied: readonly string[]): readonly string[] {
  if (isOutdated(applied)) throw new OutdatedSchema();
  return isEarlierHead(applied) ? [baseline] : applied;
}

/**
 * Makes the baseline an applied migration of a database that has all that it takes the place of. Nothing else is changed.
 * @throws {OutdatedSchema}
 */
export async function takeOver(knex: Knex): Promise<void> {
  await knex.transaction(async (trx) => {
    const names = await trx(migrationsTable).pluck<string[]>('name');
    if (sinceBaseline(names) === names) return;
    await trx(migrationsTable).delete();
    await trx(migrationsTable).insert({ name: baseline, batch: 1, migration_time: trx.fn.now() });
  });
}
