import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { tryAdvisoryLock } from '../../../src/db/connection/advisory-lock.js';
import { createKnex } from '../../../src/db/connection/knex.js';

let knex: Knex;
let other: Knex;

const database = sharedDatabase();
beforeAll(async () => {
  [knex, other] = [createKnex({ url: database.url, poolMax: 2 }), createKnex({ url: database.url, poolMax: 2 })];
});

afterAll(async () => Promise.all([knex?.destroy(), other?.destroy()]));

test('works under locks of several names leave a small pool a connection to do them with', async () => {
  const done: string[] = [];
  const names = ['one', 'two', 'three', 'four'];
  const ran = await Promise.all(
    names.map((name) =>
      tryAdvisoryLock(knex, name, async () => {
        await knex.raw('select 1');
        done.push(name);
      }),
    ),
  );
  expect([ran, done]).toEqual([[true, true, true, true], names]);
});

test('a lock that another process holds is not waited for', async () =>
  tryAdvisoryLock(knex, 'held', async () => {
    expect(await tryAdvisoryLock(other, 'held', () => Promise.reject(new Error('must not run')))).toBe(false);
  }));

test('work that fails gives the lock and the turn back', async () => {
  await expect(tryAdvisoryLock(knex, 'failing', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await tryAdvisoryLock(knex, 'failing', async () => undefined)).toBe(true);
});
