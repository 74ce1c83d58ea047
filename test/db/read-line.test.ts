import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKnex, readLineOf } from '../../src/db/knex.js';
import { createScope, run } from '../../src/db/scope.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let knex: Knex;

beforeAll(async () => {
  database = await createTestDatabase();
  knex = createKnex({ url: database.url, poolMax: 2 });
});

afterAll(async () => {
  await knex?.destroy();
  await database?.drop();
});

const environment_id = '00000000-0000-7000-8000-000000000001';
const echo = {
  name: 'test.echo',
  text: 'select $1::uuid as environment_id, $2::int as value, pg_backend_pid() as pid',
  look_up: true,
} as const;
const divide = { name: 'test.divide', text: 'select $1::uuid as environment_id, 10 / $2::int as value', look_up: true } as const;
const ask = (value: number) => run<{ value: number; pid: number }>(createScope(knex, environment_id), echo, [value]);

test('look-ups at the same time share one connection and each gets its own answer', async () => {
  const values = Array.from({ length: 50 }, (_, i) => i);
  const rows = (await Promise.all(values.map(ask))).map(([row]) => row);
  expect(rows.map((row) => row?.value)).toEqual(values);
  expect(new Set(rows.map((row) => row?.pid)).size).toBe(1);
});

test('one that fails leaves those beside it alone', async () => {
  const scope = createScope(knex, environment_id);
  const answers = await Promise.allSettled([5, 0, 2].map((value) => run<{ value: number }>(scope, divide, [value])));
  expect(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value[0]?.value : (answer.reason as { code: string }).code)),
  ).toEqual([2, '22012', 5]);
});

test('a connection that the server ended is replaced', async () => {
  const [first] = await ask(1);
  await knex.raw('select pg_terminate_backend(?)', [first?.pid ?? 0]);
  await expect.poll(() => ask(2).then(([row]) => row?.pid ?? 0, () => first?.pid)).not.toBe(first?.pid); // prettier-ignore
  expect((await ask(3))[0]?.value).toBe(3);
});

test('inside a transaction a look-up belongs to it', async () => {
  await knex.transaction(async (trx) => {
    await trx.raw('create temporary table mine on commit drop as select 7 as value');
    const mine = { name: 'test.mine', text: 'select value from mine where $1::uuid is not null', look_up: true } as const;
    expect(await run(createScope(trx, environment_id), mine, [])).toEqual([{ value: 7 }]);
  });
});

test('behind a transaction pooler there is none', async () => {
  const pooled = createKnex({ url: database.url, poolMax: 1, prepared: false });
  expect(readLineOf(pooled)).toBeUndefined();
  expect(await run(createScope(pooled, environment_id), echo, [4])).toMatchObject([{ value: 4 }]);
  await pooled.destroy();
});

test('it ends with its pool, and then refuses', async () => {
  const other = createKnex({ url: database.url, poolMax: 1 });
  const scope = createScope(other, environment_id);
  const [row] = await run<{ pid: number }>(scope, echo, [1]);
  await other.destroy();
  const alive = async () =>
    (await knex.raw<{ rows: unknown[] }>('select 1 from pg_stat_activity where pid = ?', [row?.pid ?? 0])).rows.length;
  await expect.poll(alive).toBe(0);
  await expect(run(scope, echo, [2])).rejects.toThrow('closed');
});
