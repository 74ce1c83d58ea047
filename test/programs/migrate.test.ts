import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKnex } from '../../src/db/knex.js';
import { migrationNames, migrateWithin, pendingMigrations } from '../../src/db/migrate.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { runProgram } from '../support/program.js';
import { countTables } from '../support/table-contents.js';

let database: TestDatabase;
beforeEach(async () => {
  database = await createEmptyDatabase();
});
afterEach(() => database.drop());

const run = (...args: string[]) =>
  runProgram('programs/migrate', args, { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('base64') });

test('--plan tells what waits, its locks and rows, and changes nothing; without it the migrations run (specification 15.8.3)', async () => {
  const names = await migrationNames();
  const knex = createKnex({ url: database.url, poolMax: 1, unlimited: true });
  const before = names.filter((name) => name < '0208');
  await knex.transaction((trx) => migrateWithin(trx, before));
  await knex.raw(
    "insert into environments (id, name, slug, kind, created_at, updated_at) values (gen_random_uuid(), 'One', 'one', 'staging', now(), now())",
  );
  await knex.raw('analyze');
  const tables = await countTables(database.url);
  const planned = await run('--plan');
  expect([planned.code, planned.stderr]).toEqual([2, '']);
  expect(planned.stdout).toContain(
    '0208_token_exchange (expand)\n' +
      '  access_tokens: access exclusive, nobody reads or writes it meanwhile; about 0 rows\n' +
      '  client_grants: access exclusive, nobody reads or writes it meanwhile; about 0 rows, all are read meanwhile\n' +
      '0209_workload_identity (expand)\n',
  );
  expect(planned.stdout).toContain('  environments: share row exclusive, nobody writes it meanwhile; about 1 rows\n');
  expect(planned.stdout).toContain(`${names.length - before.length} migrations wait. Each is a transaction of its own`);
  expect([await countTables(database.url), await pendingMigrations(knex)]).toEqual([tables, names.slice(before.length)]);

  const done = await run();
  expect([done.code, done.stderr, done.stdout.trim().split('\n')]).toEqual([0, '', names.slice(before.length)]);
  expect(await pendingMigrations(knex)).toEqual([]);
  await knex.destroy();
  const after = await run('--plan');
  expect([after.code, after.stdout]).toEqual([0, 'No migration waits.\n']);
});
