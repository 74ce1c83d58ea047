import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { addressOf, createTestDatabase, onConnection } from '../support/database.js';
import { tableContents } from '../support/table-contents.js';

const isThere = (url: string) =>
  onConnection(inject('postgres').url, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [new URL(url).pathname.slice(1)]);
    return rowCount === 1;
  });

const ask = (url: string, text: string) => onConnection(url, (client) => client.query<Record<string, unknown>>(text));

/** Makes a database, lets somebody use it, gives it back. @returns where it was */
async function used(use: (url: string) => Promise<unknown>): Promise<string> {
  const database = await createTestDatabase({ isNew: true });
  await use(database.url);
  await database.drop();
  return database.url;
}

const environment = `insert into environments (id, name, slug, kind, is_default, created_at, updated_at)
  values ('00000000-0000-7000-8000-000000000001', 'Default', 'default', 'development', true, now(), now())`;

test('a database that was given back holds what the template does, and serves the next file', async () => {
  const { url, template, initial } = inject('postgres');
  expect(initial).not.toBeNull();
  const untouched = await tableContents(addressOf(url, template));
  const address = await used(async (its) => {
    await ask(its, environment);
    await ask(its, `update secret_keys set id = 'another'; delete from knex_migrations; select nextval('knex_migrations_id_seq')`);
    expect(await tableContents(its)).not.toEqual(untouched);
  });
  expect(await isThere(address)).toBe(true);
  expect(await tableContents(address)).toEqual(untouched);
  const sequence = 'select last_value, is_called from knex_migrations_id_seq';
  expect((await ask(address, sequence)).rows).toEqual((await ask(addressOf(url, template), sequence)).rows);
  const next = await createTestDatabase();
  expect(next.url).toBe(address);
  await next.drop();
});

test.each([
  ['a column', 'alter table mails add column one integer'],
  ['a default', `alter table clients alter column name set default 'one'`],
  ['a table', 'create table one (id integer)'],
  ['an index', 'create index one on mails (created_at)'],
  ['a trigger that is off', 'alter table webhooks disable trigger webhooks_changed'],
  ['a function', 'create or replace function note_change() returns trigger language plpgsql as $$ begin return null; end $$'],
  ['a constraint', 'alter table mails add constraint one check (true)'],
  ['a policy', 'drop policy own_rows on mails'],
  ['a setting', `do $$ begin execute format('alter database %I set work_mem = ''1MB''', current_database()); end $$`],
])('one whose schema has changed is dropped: %s', async (_what, change) => {
  expect(await isThere(await used((url) => ask(url, change)))).toBe(false);
});

test('one that somebody is still connected to is dropped, and the connection ends', async () => {
  let ended: Promise<unknown> = Promise.reject(new Error('nobody has connected'));
  ended.catch(() => undefined);
  const address = await used(async (url) => {
    const client = new pg.Client({ connectionString: url });
    // pg says it twice: once with the server's reason.
    client.on('error', () => undefined);
    ended = new Promise((resolve) => client.once('end', resolve));
    await client.connect();
  });
  expect(await isThere(address)).toBe(false);
  await ended;
});
