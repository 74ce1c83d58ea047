// What the first lines of a migration say of it is what it does: each is run on a database, and the server is asked what it holds.
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { migrationNames, readMigration } from '../../../src/db/migrations/migrate.js';
import { readHeader, type TableLock } from '../../../src/db/migrations/migration-plan.js';
import { createEmptyDatabase } from '../../support/database.js';

/** The line after `-- locks:` for these locks. */
const lockText = (locks: readonly TableLock[]): string =>
  locks.map(({ table, lock, work }) => `${table} ${lock}${work === null ? '' : `, ${work} its rows`}`).join('; ') || 'none';

/** Modes that stop writes, or reads too, from the weakest on; the others stop nothing but maintenance and each other. */
const modes = ['share', 'share row exclusive', 'exclusive', 'access exclusive'];

/** `AccessExclusiveLock` is `access exclusive` in SQL. */
const modeOf = (name: string) =>
  name
    .replace(/Lock$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase();

type Found = { oid: number; name: string; file: number; scans: number; locks: string[] | null };

/** The tables as the transaction sees them: their files, how often it has read them whole, what it holds on them. */
async function look(client: pg.Client): Promise<Map<number, Found>> {
  const { rows } = await client.query<Found>(`
    select c.oid::integer as oid, c.relname as name, c.relfilenode as file, coalesce(pg_stat_get_xact_numscans(c.oid), 0)::integer as scans,
      (select array_agg(l.mode) from pg_locks l where l.pid = pg_backend_pid() and l.relation = c.oid and l.granted) as locks
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by c.relname`);
  return new Map(rows.map((row) => [row.oid, row]));
}

/** Runs a migration and tells what it did to the tables that were there before. */
async function measure(client: pg.Client, sql: string): Promise<TableLock[]> {
  await client.query('begin');
  const before = await look(client);
  await client.query(sql);
  const after = await look(client);
  await client.query('commit');
  return [...before.values()].flatMap(({ oid, name, file, scans }): TableLock[] => {
    const now = after.get(oid);
    // A dropped table is no longer listed, and nothing is locked harder.
    if (!now) return [{ table: name, lock: 'access exclusive', work: null }];
    const lock = modes[Math.max(...(now.locks ?? []).map((mode) => modes.indexOf(modeOf(mode))))];
    if (lock === undefined) return [];
    return [{ table: name, lock, work: now.file !== file ? 'rewrites' : now.scans > scans ? 'reads' : null }];
  });
}

let client: pg.Client;

const database = sharedDatabase(createEmptyDatabase);
beforeAll(async () => {
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => client.end());

test('what each migration says of its phase and its locks is so (specification 15.8.2)', async () => {
  const [baseline, ...names] = await migrationNames();
  expect(await measure(client, await readMigration(baseline as string))).toEqual([]);
  const wrong: string[] = [];
  for (const name of names) {
    const sql = await readMigration(name);
    const done = await measure(client, sql);
    const { phase, locks } = readHeader(sql);
    if (phase === null) wrong.push(`${name}: say -- phase: expand, or -- phase: contract`);
    if (locks === null || lockText(locks) !== lockText(done)) wrong.push(`${name}: say -- locks: ${lockText(done)}`);
  }
  expect(wrong, 'Put the line among the first of the file, below what it is for.').toEqual([]);
});

test.each([
  ['create table notes (environment_id uuid references environments (id))', 'environments share row exclusive'],
  ['create index users_nickname on users (nickname)', 'users share, reads its rows'],
  ['alter table users add column motto text, add column rank integer not null default 1', 'users access exclusive'],
  ['alter table roles add constraint roles_name_check check (length(name) > 0)', 'roles access exclusive, reads its rows'],
  ['alter table roles alter column name type varchar', 'roles access exclusive, reads its rows'],
  ['alter table users alter column login_count type bigint', 'users access exclusive, rewrites its rows'],
  ['drop table daily_stats', 'daily_stats access exclusive; environments access exclusive'],
  ["update roles set description = ''", 'none'],
])('%s: %s', async (sql, locks) => expect(lockText(await measure(client, sql))).toBe(locks));

test('the header of a migration is read, and nothing else for it', () => {
  const text =
    '-- Users.\n-- phase: expand\n-- locks: users access exclusive, rewrites its rows; clients share\n\nselect 1;\n-- phase: contract\n';
  expect(readHeader(text)).toEqual({
    phase: 'expand',
    locks: [
      { table: 'users', lock: 'access exclusive', work: 'rewrites' },
      { table: 'clients', lock: 'share', work: null },
    ],
  });
  expect(readHeader('-- phase: expand\n-- locks: none\nselect 1')).toEqual({ phase: 'expand', locks: [] });
  expect(readHeader('-- phase: both\n-- locks: users, all\nselect 1')).toEqual({ phase: null, locks: null });
  expect(readHeader('create table x ();\n-- phase: expand\n-- locks: none\n')).toEqual({ phase: null, locks: null });
});
