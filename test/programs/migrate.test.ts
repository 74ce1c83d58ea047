import { randomBytes } from 'node:crypto';
import { cp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKnex } from '../../src/db/connection/knex.js';
import { migrate, migrationNames } from '../../src/db/migrations/migrate.js';
import { programArguments } from '../support/compiled.js';
import { createEmptyDatabase, type TestDatabase } from '../support/database.js';
import { endOf } from '../support/program.js';
import { countTables } from '../support/table-contents.js';
import { directoryOfTest } from '../support/temporary-directory.js';

/** A release that has two migrations more than this one. */
const next = {
  '9998_notes':
    '-- phase: expand\n-- locks: environments share row exclusive\ncreate table notes (environment_id uuid references environments (id));\n',
  '9999_ranks':
    '-- phase: contract\n-- locks: roles access exclusive, reads its rows; users access exclusive, rewrites its rows\n' +
    'alter table roles alter column name type varchar;\nalter table users alter column login_count type bigint;\n',
};

let database: TestDatabase;
let release: string;

beforeEach(async () => {
  database = await createEmptyDatabase();
  release = directoryOfTest();
  const [, main] = await programArguments('main');
  const dist = dirname(main as string);
  await cp(dist, join(release, 'dist'), { recursive: true });
  await cp('migrations', join(release, 'migrations'), { recursive: true });
  for (const [name, sql] of Object.entries(next)) await writeFile(join(release, 'migrations', `${name}.sql`), sql);
  for (const name of ['data', 'node_modules', 'package.json']) await symlink(join(dist, '..', name), join(release, name));
});
afterEach(async () => database.drop());

const run = (...args: string[]) =>
  endOf([join(release, 'dist', 'programs', 'migrate.js'), ...args], {
    DATABASE_URL: database.url,
    SECRET_KEY: randomBytes(32).toString('base64'),
  });

test('--plan tells what waits, its locks and rows, and changes nothing; without it the migrations run (specification 15.8.3)', async () => {
  const names = await migrationNames();
  const first = await run('--plan');
  expect([first.code, first.stderr]).toEqual([2, '']);
  expect(first.stdout).toContain('0001_baseline\n  locks no table that is there\n');

  const knex = createKnex({ url: database.url, poolMax: 1, unlimited: true });
  const applied = () => knex('knex_migrations').orderBy('id').pluck('name');
  await migrate(knex);
  await knex.raw(
    "insert into environments (id, name, slug, kind, created_at, updated_at) values (gen_random_uuid(), 'One', 'one', 'staging', now(), now())",
  );
  await knex.raw('analyze');
  const tables = await countTables(database.url);
  const planned = await run('--plan');
  expect([planned.code, planned.stderr, planned.stdout]).toEqual([
    2,
    '',
    '9998_notes (expand)\n' +
      '  environments: share row exclusive, nobody writes it meanwhile; about 1 rows\n' +
      '9999_ranks (contract)\n' +
      '  roles: access exclusive, nobody reads or writes it meanwhile; about 0 rows, all are read meanwhile\n' +
      '  users: access exclusive, nobody reads or writes it meanwhile; about 0 rows, all are written anew meanwhile\n' +
      '2 migrations wait. Each is a transaction of its own; none waits longer than 10 s for a lock. Back up first: npm run -s backup -- FILE\n',
  ]);
  expect([await countTables(database.url), await applied()]).toEqual([tables, names]);

  const done = await run();
  expect([done.code, done.stderr, done.stdout]).toEqual([0, '', '9998_notes\n9999_ranks\n']);
  expect(await applied()).toEqual([...names, '9998_notes', '9999_ranks']);
  await knex.destroy();
  const after = await run('--plan');
  expect([after.code, after.stdout]).toEqual([0, 'No migration waits.\n']);
});
