import type { Knex } from 'knex';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedDatabase } from '../../../support/shared-service.js';
import { createKnex, poolState, statementBatchersOf } from '../../../../src/db/connection/knex.js';
import { createScope, run, type Short } from '../../../../src/db/scope.js';

let knex: Knex;

const database = sharedDatabase();
beforeAll(async () => {
  knex = createKnex({ url: database.url, poolMax: 2 });
});

afterAll(async () => knex?.destroy());

/** Of a failure of the database layer, or of what the server said. */
const sqlstateOf = (error: unknown) => {
  const { sqlstate, code } = error as { sqlstate?: string; code?: string };
  return sqlstate ?? code;
};
const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const environment_id = '00000000-0000-7000-8000-000000000001';
const echo = {
  name: 'test.echo',
  text: 'select $1::uuid as environment_id, $2::int as value, pg_backend_pid() as pid',
  short: 'look_up',
} as const;
const divide = { name: 'test.divide', text: 'select $1::uuid as environment_id, 10 / $2::int as value', short: 'look_up' } as const;
const ask = (value: number) => run<{ value: number; pid: number }>(createScope(knex, environment_id), echo, [value]);

test('look-ups at the same time share two connections and each gets its own answer', async () => {
  const values = Array.from({ length: 50 }, (_, i) => i);
  const rows = (await Promise.all(values.map(ask))).map(([row]) => row);
  expect(rows.map((row) => row?.value)).toEqual(values);
  expect(new Set(rows.map((row) => row?.pid)).size).toBeLessThanOrEqual(2);
});

test('what the server is asked is counted: together, and on the pool with its BEGIN and COMMIT', async () => {
  await knex.raw('select 1');
  const before = poolState(knex).statements;
  await Promise.all([1, 2, 3].map(ask));
  await knex.transaction((trx) => trx.raw('select 1'));
  const { pool, look_up, write } = poolState(knex).statements;
  expect([look_up, write, pool].map((now, n) => Number(now) - Number([before['look_up'], before['write'], before['pool']][n]))).toEqual([
    3, 0, 3,
  ]);
});

test('one that fails leaves those beside it alone', async () => {
  const scope = createScope(knex, environment_id);
  const answers = await Promise.allSettled([5, 0, 2].map((value) => run<{ value: number }>(scope, divide, [value])));
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value[0]?.value : sqlstateOf(answer.reason)))).toEqual([
    2,
    '22012',
    5,
  ]);
});

const store = {
  name: 'test.store',
  text: 'insert into stored (environment_id, value) values ($1, $2) returning value, xmin::text as transaction',
  short: { kind: 'write', key: 2 },
} as const;

test('writes at the same time share transactions; one that fails takes nothing of the others with it', async () => {
  await knex.raw('create table stored (environment_id uuid not null, value integer primary key check (value <> 13))');
  const scope = createScope(knex, environment_id);
  const write = (value: number) => run<{ value: number; transaction: string }>(scope, store, [value]);
  const together = await Promise.all([101, 102, 103, 104].map(write));
  expect(together.map(([row]) => row?.value)).toEqual([101, 102, 103, 104]);
  expect(new Set(together.map(([row]) => row?.transaction)).size).toBeLessThan(4);

  const values = [1, 2, 13, 3, 1, 4];
  const answers = await Promise.allSettled(values.map(write));
  const refused = answers.map((answer) => (answer.status === 'rejected' ? sqlstateOf(answer.reason) : null));
  expect(refused).toEqual([null, null, '23514', null, '23505', null]);
  const { rows } = await knex.raw<{ rows: { value: number }[] }>('select value from stored where value < 100 order by value');
  expect(rows.map(({ value }) => value)).toEqual([1, 2, 3, 4]);
  expect((await write(5))[0]?.value).toBe(5);
});

test('batches of two processes that lock the same rows wait for each other, never both at once', async () => {
  await knex.raw('create table locked (environment_id uuid not null, key bytea primary key, value integer not null default 0)');
  await knex.raw('create sequence runs');
  const keys = Array.from({ length: 24 }, (_, i) => Buffer.from([i, 255 - i]));
  await knex.raw('insert into locked (environment_id, key) select ?::uuid, unnest(?::bytea[])', [environment_id, keys]);
  // A sequence keeps what an aborted transaction took: it tells whether a statement ran more than once.
  const change = {
    name: 'test.change',
    text: `update locked set value = value + 1 where environment_id = $1 and key = $2 returning nextval('runs')`,
    short: { kind: 'write', key: 2 },
  } as const;
  const processes = [createKnex({ url: database.url, poolMax: 1 }), createKnex({ url: database.url, poolMax: 1 })];
  const rounds = 40;
  await Promise.all(
    processes.map(async (pool, index) => {
      const scope = createScope(pool, environment_id);
      const order = index === 0 ? keys : keys.toReversed();
      for (let round = 0; round < rounds; round++) await Promise.all(order.map((key) => run(scope, change, [key])));
    }),
  );
  const { rows } = await knex.raw<{ rows: object[] }>(
    'select sum(value)::int as sum, (select last_value::int from runs) as runs from locked',
  );
  const expected = processes.length * rounds * keys.length;
  expect(rows).toEqual([{ sum: expected, runs: expected }]);
  await Promise.all(processes.map((pool) => pool.destroy()));
});

test('every statement of a batch sees what those before it did', async () => {
  const take = {
    name: 'test.take',
    text: 'delete from stored where environment_id = $1 and value = 101 returning value',
    short: { kind: 'write', key: 1 },
  } as const;
  const taken = await Promise.all(Array.from({ length: 10 }, () => run(createScope(knex, environment_id), take, [])));
  expect(taken.filter((rows) => rows.length > 0)).toHaveLength(1);
});

test('a statement whose table has changed since is prepared anew', async () => {
  const all = { name: 'test.all', text: 'select * from stored where environment_id = $1 and value = 1', short: 'look_up' } as const;
  const scope = createScope(knex, environment_id);
  expect(await run(scope, all, [])).toEqual([{ environment_id, value: 1 }]);
  await knex.raw(`alter table stored add column note text default 'new'`);
  expect(await Promise.all([run(scope, all, []), run(scope, all, []), ask(7)])).toMatchObject([
    [{ note: 'new' }],
    [{ note: 'new' }],
    [{ value: 7 }],
  ]);
});

test('values of every kind arrive as they were, also more of them than one batch takes', async () => {
  const same = {
    name: 'test.same',
    text: `select $1::uuid as environment_id, $2::timestamptz as time, $3::bytea as bytes, $4::text[] as list, $5::jsonb as json, $6::bool as yes,
             $7::float8 as number, $8::text as nothing, $9::bytea[] as digests, $10::text as text`,
    short: 'look_up',
  } as const;
  const list = ['a', 'b,c', '"', '\\', '{}', '', 'NULL', 'ü', null];
  const time = new Date('2026-02-28T23:59:59.999Z');
  const values = [
    time,
    Buffer.from([0, 255, 7]),
    list,
    { a: [1, 'x'] },
    true,
    0.5,
    null,
    [Buffer.from([0, 34, 92, 255]), Buffer.alloc(0)],
    `it's "so" \\ {}`,
  ];
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      run(createScope(knex, environment_id), same, [...values.slice(0, -1), `${values.at(-1) as string}${i}`]),
    ),
  );
  answers.forEach(
    ([row], i) =>
    expect(row).toEqual({
      environment_id, time, bytes: values[1], list, json: { a: [1, 'x'] }, yes: true, number: 0.5, nothing: null, digests: values[7], text: `${values.at(-1) as string}${i}`,
    }), // prettier-ignore
  );
});

test('how long the oldest statement waits is known while a lock holds up those behind it', async () => {
  const change = {
    name: 'test.reset',
    text: 'update locked set value = 1 where environment_id = $1',
    short: { kind: 'write', key: 1 },
  } as const;
  const scope = createScope(knex, environment_id);
  const holder = await knex.transaction();
  await holder.raw('update locked set value = 0');
  const held = [run(scope, change, [])];
  await expect.poll(async () => (await holder.raw<{ rows: unknown[] }>(blocked)).rows.length).toBe(1);
  held.push(run(scope, change, []));
  await expect.poll(() => poolState(knex).oldestWait).toBeGreaterThan(0.01);
  await holder.rollback();
  await Promise.all(held);
  expect(poolState(knex).oldestWait).toBe(0);
});

test('a value that can not be read fails its request, and nothing else', async () => {
  const parser = pg.types.getTypeParser(114, 'text');
  pg.types.setTypeParser(114, () => {
    throw new Error('not readable');
  });
  const json = { name: 'test.json', text: `select '{}'::json as value where $1::uuid is not null`, short: 'look_up' } as const;
  await expect(run(createScope(knex, environment_id), json, [])).rejects.toThrow('not readable');
  pg.types.setTypeParser(114, parser);
  expect((await ask(9))[0]?.value).toBe(9);
});

test('a connection that the server ended is replaced', async () => {
  const [first] = await ask(1);
  await knex.raw('select pg_terminate_backend(?)', [first?.pid ?? 0]);
  await expect.poll(() => ask(2).then(([row]) => row?.pid ?? 0, () => first?.pid)).not.toBe(first?.pid); // prettier-ignore
  expect((await ask(3))[0]?.value).toBe(3);
});

test('statements on a connection that the server says it ends are run again: nothing of them has happened', async () => {
  const scope = createScope(knex, environment_id);
  const slow = (short: Short, name: string) =>
    run<{ done: number }>(
      scope,
      { name, short, text: `select 1 as done, '${name}' as "of", pg_sleep(0.5) where $1::uuid is not null` },
      [],
    );
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and state = 'active' and query like ?`;
  const ended = async (name: string) => (await knex.raw<{ rows: unknown[] }>(end, [`%'${name}'%`])).rows.length;

  const read = slow('look_up', 'test.slow_read');
  await expect.poll(() => ended('test.slow_read')).toBe(1);
  expect(await read).toMatchObject([{ done: 1 }]);

  const beside = slow('look_up', 'test.slow_neighbour');
  const failing = run(scope, divide, [0]).catch(sqlstateOf);
  await expect.poll(() => ended('test.slow_neighbour')).toBe(1);
  expect(await beside).toMatchObject([{ done: 1 }]);
  expect(await failing).toBe('22012');

  const written = slow({ kind: 'write', key: 1 }, 'test.slow_write');
  await expect.poll(() => ended('test.slow_write')).toBe(1);
  expect(await written).toMatchObject([{ done: 1 }]);
  expect((await ask(8))[0]?.value).toBe(8);
});

test('inside a transaction a look-up belongs to it', async () =>
  knex.transaction(async (trx) => {
    await trx.raw('create temporary table mine on commit drop as select 7 as value');
    const mine = { name: 'test.mine', text: 'select value from mine where $1::uuid is not null', short: 'look_up' } as const;
    expect(await run(createScope(trx, environment_id), mine, [])).toEqual([{ value: 7 }]);
  }));

test('behind a transaction pooler there is none', async () => {
  const pooled = createKnex({ url: database.url, poolMax: 1, prepared: false });
  expect(statementBatchersOf(pooled)).toBeUndefined();
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
