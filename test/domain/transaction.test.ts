// What `transaction` promises: all or nothing, and a second try where PostgreSQL says "try that again".
import { afterAll, beforeAll, expect, test } from 'vitest';
import { transaction, type Context } from '../../src/domain/context.js';
import { createTestDatabase } from '../support/database.js';
import { openContext } from '../support/standalone.js';

let ctx: Context;
const endings: (() => Promise<void>)[] = [];
beforeAll(async () => {
  const database = await createTestDatabase();
  endings.push(() => database.drop());
  const opened = await openContext(database.url, Buffer.alloc(32, 7).toString('base64'));
  endings.push(() => opened.close());
  ctx = opened.ctx;
  await ctx.knex.raw('create table counters (name text primary key, n integer not null)');
});
afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

const add = (tx: Context, name: string) => tx.scope.knex.raw('update counters set n = n + 1 where name = ?', [name]);

async function counters(): Promise<Record<string, number>> {
  const rows = (await ctx.knex('counters').orderBy('name')) as { name: string; n: number }[];
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

/** Lets nobody on before `parties` have come; who comes later goes through. */
function meeting(parties: number): () => Promise<void> {
  let arrived = 0;
  let open = () => {};
  const all = new Promise<void>((resolve) => (open = resolve));
  return () => {
    arrived += 1;
    if (arrived >= parties) open();
    return all;
  };
}

test('a deadlock is tried again inside: both callers succeed, and each change is made once (fault F13)', async () => {
  await ctx.knex.raw(`truncate counters; insert into counters values ('one', 0), ('two', 0)`);
  const met = meeting(2);
  let tries = 0;
  const inOrder = (first: string, second: string) =>
    transaction(ctx, async (tx) => {
      tries += 1;
      await add(tx, first);
      await met();
      await add(tx, second);
      return `${first} ${second}`;
    });
  expect(await Promise.all([inOrder('one', 'two'), inOrder('two', 'one')])).toEqual(['one two', 'two one']);
  expect([tries, await counters()]).toEqual([3, { one: 2, two: 2 }]);
});

test('a serialization failure is tried again inside (fault F13)', async () => {
  await ctx.knex.raw(`truncate counters; insert into counters values ('one', 0)`);
  const met = meeting(2);
  let tries = 0;
  const count = () =>
    transaction(ctx, async (tx) => {
      tries += 1;
      await tx.scope.knex.raw('set transaction isolation level repeatable read');
      await tx.scope.knex.raw('select n from counters');
      await met();
      await add(tx, 'one');
    });
  await Promise.all([count(), count()]);
  expect([tries, await counters()]).toEqual([3, { one: 2 }]);
});

test('one that fails every time is given up after four tries, and any other error after the first', async () => {
  let tries = 0;
  const failing = (state: string) =>
    transaction(ctx, async (tx) => {
      tries += 1;
      await tx.scope.knex.raw(`do $$ begin raise exception 'no' using errcode = '${state}'; end $$`);
    });
  await expect(failing('40001')).rejects.toMatchObject({ sqlstate: '40001' });
  expect(tries).toBe(4);
  await expect(failing('23505')).rejects.toMatchObject({ sqlstate: '23505' });
  expect(tries).toBe(5);
});

test('what throws leaves nothing behind, and a transaction within one belongs to it', async () => {
  await ctx.knex.raw(`truncate counters; insert into counters values ('one', 0)`);
  const broken = transaction(ctx, async (tx) => {
    await add(tx, 'one');
    await transaction(tx, (inner) => add(inner, 'one'));
    throw new Error('no');
  });
  await expect(broken).rejects.toThrow('no');
  expect(await counters()).toEqual({ one: 0 });
});
