// A database that has all migrations whose place the baseline takes goes on with the baseline; one that lacks some of them is refused.
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { earlierReleases as formerly, OutdatedSchema, takeOver } from '../../../src/db/migrations/baseline.js';
import { createKnex } from '../../../src/db/connection/knex.js';
import { migrate, migrateInTransaction, migrationNames, schemaDifference } from '../../../src/db/migrations/migrate.js';
import { planMigrations } from '../../../src/db/migrations/migration-plan.js';
import { schemaText } from '../../../src/db/postgres/schema-text.js';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.js';
import { earlierMigrations } from '../../support/earlier-release.js';

const earlier = earlierMigrations();
let database: TestDatabase;
let knex: Knex;

beforeEach(async () => {
  database = await createEmptyDatabase();
  knex = createKnex({ url: database.url, poolMax: 2 });
  await knex.transaction((trx) => migrateInTransaction(trx, ['0001_baseline']));
  await knex.raw(
    "insert into environments (id, name, slug, kind, created_at, updated_at) values (gen_random_uuid(), 'One', 'one', 'staging', now(), now())",
  );
});

afterEach(async () => {
  await knex.destroy();
  await database.drop();
});

async function pretend(names: readonly string[]): Promise<void> {
  await knex('knex_migrations').delete();
  await knex('knex_migrations').insert(names.map((name) => ({ name, batch: 1, migration_time: knex.fn.now() })));
}

const applied = () => knex('knex_migrations').orderBy('id').pluck<string[]>('name');
const content = () => knex('environments').select();

test('the last schema before the baseline is taken over as it is, and goes on with what came after', async () => {
  await pretend(earlier);
  const before = [await schemaText(knex), await content()];
  const rest = (await migrationNames()).slice(1);
  expect(await schemaDifference(knex)).toEqual({ pending: rest, newer: [] });
  await takeOver(knex);
  expect([await schemaText(knex), await content()]).toEqual(before);
  expect(await applied()).toEqual(['0001_baseline']);
  expect(await migrate(knex)).toEqual(rest);
  expect(await applied()).toEqual(await migrationNames());
  expect(await content()).toMatchObject(before[1] as object);
});

test('replicas that start together take it over once', async () => {
  await pretend(earlier);
  const others = Array.from({ length: 3 }, () => createKnex({ url: database.url, poolMax: 1 }));
  await Promise.all(others.map((other) => migrate(other)));
  await Promise.all(others.map((other) => other.destroy()));
  expect(await applied()).toEqual(await migrationNames());
});

test.each([
  ['lacks the last one', earlier.slice(0, -1)],
  ['lacks another one', earlier.slice(1)],
  ['has one that came in its place', [...earlier.slice(0, -1), '0398_of_a_branch']],
  ['has one more', [...earlier, '0405_of_a_branch']],
])('an earlier schema that %s is refused with what to do, and stays as it is', async (_what, names) => {
  await pretend(names);
  const rows = await content();
  await expect(migrate(knex)).rejects.toThrow(OutdatedSchema);
  await expect(migrate(knex)).rejects.toThrow(`Check out the last commit that has migrations/${formerly.last}.sql`);
  await expect(planMigrations(knex)).rejects.toThrow(OutdatedSchema);
  expect(await schemaDifference(knex)).toEqual({ pending: await migrationNames(), newer: [] });
  expect([await applied(), await content()]).toEqual([names, rows]);
});
