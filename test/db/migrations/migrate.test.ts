import { readdir } from 'node:fs/promises';
import type { Knex } from 'knex';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createKnex } from '../../../src/db/connection/knex.js';
import { migrate, pendingMigrations } from '../../../src/db/migrations/migrate.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../support/database.js';

const names = (await readdir('migrations')).map((file) => file.replace('.sql', '')).sort();

let database: TestDatabase;
const pools: Knex[] = [];

function connect(): Knex {
  const knex = createKnex({ url: database.url, poolMax: 3 });
  pools.push(knex);
  return knex;
}

beforeEach(async () => {
  database = await createEmptyDatabase();
});

afterEach(async () => {
  await Promise.all(pools.splice(0).map((knex) => knex.destroy()));
  await database.drop();
});

test('an empty database gets every migration in order, a current one none', async () => {
  const knex = connect();
  expect(await pendingMigrations(knex)).toEqual(names);
  expect(await migrate(knex)).toEqual(names);
  expect(await pendingMigrations(knex)).toEqual([]);
  expect(await migrate(knex)).toEqual([]);
});

test('replicas that start together on an empty database: each migration runs once, all end ready (fault F16)', async () => {
  const replicas = Array.from({ length: 5 }, connect);
  const ran = await Promise.all(replicas.map((knex) => migrate(knex)));
  expect(ran.flat().sort()).toEqual(names);
  for (const knex of replicas) expect(await pendingMigrations(knex)).toEqual([]);
});

test('a lock row that a killed process left behind blocks nobody', async () => {
  const knex = connect();
  await migrate(knex);
  await knex('knex_migrations_lock').update({ is_locked: 1 });
  expect(await migrate(knex)).toEqual([]);
});

test('a killed migrator frees the lock with its connection (fault F17)', async () => {
  const knex = connect();
  const holder = connect();
  const { rows } = await holder.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid, pg_advisory_lock(?)', [0x6d696772]);
  const waiting = migrate(knex);
  await holder.raw('select 1');
  await knex.raw('select pg_terminate_backend(?)', [rows[0]?.pid ?? 0]);
  expect(await waiting).toEqual(names);
});

test('a database that a newer release migrated further still serves an older one', async () => {
  const knex = connect();
  await migrate(knex);
  await knex('knex_migrations').insert({ name: '9999_of_a_newer_release', batch: 99, migration_time: knex.fn.now() });
  expect(await migrate(knex)).toEqual([]);
  expect(await pendingMigrations(knex)).toEqual([]);
});

test('a database whose role may not make the extension of searches says what to run, and goes on once it is there', async () => {
  const knex = connect();
  await knex.raw(`do $$ begin execute format('revoke create on database %I from public, current_user', current_database()); end $$`);
  await expect(migrate(knex)).rejects.toThrow(
    /^searches need the extension pg_trgm.*permission denied.*run "create extension pg_trgm" in it/s,
  );
  await knex.raw(`do $$ begin execute format('grant create on database %I to current_user', current_database()); end $$`);
  expect(await migrate(knex)).toEqual(names);
});

test('the template that other tests clone is current', async () => {
  const clone = await createTestDatabase();
  const knex = createKnex({ url: clone.url, poolMax: 1 });
  expect(await pendingMigrations(knex)).toEqual([]);
  await knex.destroy();
  await clone.drop();
});
