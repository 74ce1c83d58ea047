import type { Knex } from 'knex';
import { afterAll, describe, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { Ambiguous, DatabaseFailure, Unavailable } from '../../../src/db/connection/failures.js';
import { createKnex } from '../../../src/db/connection/knex.js';
import { createScope, run } from '../../../src/db/scope.js';
import { startDatabaseProxy } from '../../support/database-proxy.js';

const pools: Knex[] = [];

const database = sharedDatabase();

afterAll(async () => Promise.all(pools.map((knex) => knex.destroy())));

function pool(options: { url?: string; poolMax?: number; unlimited?: boolean } = {}): Knex {
  const knex = createKnex({ url: database.url, poolMax: 2, ...options });
  pools.push(knex);
  return knex;
}

async function failure(work: Promise<unknown>): Promise<{ error: Error; sqlstate: unknown; seconds: number }> {
  const began = performance.now();
  const error = await work.then(
    () => new Error('it worked'),
    (caught: Error) => caught,
  );
  return { error, sqlstate: error instanceof DatabaseFailure ? error.sqlstate : undefined, seconds: (performance.now() - began) / 1000 };
}

test('values arrive in the types the rows declare', async () => {
  const { rows } = await pool().raw<{ rows: Record<string, unknown>[] }>(
    `select 9007199254740991::int8 as int8, count(*) as count, date '2000-02-29' as date, timestamptz '2000-02-29T12:00Z' as time,
       '{"a": [1]}'::jsonb as json, '00000000-0000-7000-8000-000000000000'::uuid as uuid, array['a', 'b'] as list, null as nothing`,
  );
  expect(rows).toEqual([
    {
      int8: 9007199254740991,
      count: 1,
      date: '2000-02-29',
      time: new Date('2000-02-29T12:00:00Z'),
      json: { a: [1] },
      uuid: '00000000-0000-7000-8000-000000000000',
      list: ['a', 'b'],
      nothing: null,
    },
  ]);
});

test('the server knows who is connected, and for how long a transaction may idle', async () => {
  const { rows } = await pool().raw<{ rows: Record<string, unknown>[] }>(
    `select current_setting('application_name') as name, current_setting('idle_in_transaction_session_timeout') as idle, current_setting('statement_timeout') as statement`,
  );
  expect(rows).toEqual([{ name: 'identity-provider', idle: '30s', statement: '5s' }]);
});

test('a connection that the server ended is replaced (fault F07)', async () => {
  const knex = pool({ poolMax: 1 });
  const pid = async () => (await knex.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0;
  const first = await pid();
  await pool().raw('select pg_terminate_backend(?)', [first]);
  expect(await pid().catch(() => pid())).not.toBe(first);
});

test('a server that can not be reached is an error at once, and found again when it is back', async () => {
  const proxy = await startDatabaseProxy(database.url);
  proxy.close();
  const { error, seconds } = await failure(Promise.resolve(pool({ url: proxy.url }).raw('select 1')));
  expect(error).toBeInstanceOf(Unavailable);
  expect(error.cause).toMatchObject({ code: 'ECONNREFUSED' });
  expect(seconds).toBeLessThan(3);
});

describe.concurrent('nothing waits longer than about five seconds', () => {
  test('not for a slow statement: the server ends it (fault F10)', async () => {
    const { error, sqlstate, seconds } = await failure(Promise.resolve(pool().raw('select pg_sleep(20)')));
    expect(error).toBeInstanceOf(Unavailable);
    expect(sqlstate).toBe('57014');
    expect(seconds).toBeLessThan(7);
  });

  test('not for a connection while the pool is busy', async () => {
    const knex = pool({ poolMax: 1 });
    const busy = await knex.transaction();
    const { error, seconds } = await failure(Promise.resolve(knex.raw('select 1')));
    await busy.rollback();
    expect(error).toBeInstanceOf(Unavailable);
    expect(seconds).toBeLessThan(7);
    expect((await knex.raw<{ rows: unknown[] }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });

  test('not for a silent server: the connection is dropped and a new one opened (fault F08)', async () => {
    const proxy = await startDatabaseProxy(database.url);
    const knex = pool({ url: proxy.url, poolMax: 1 });
    await knex.raw('select 1');
    proxy.swallow();
    // A statement outside of a transaction commits itself: it may have.
    const { error, seconds } = await failure(Promise.resolve(knex.raw('select 2')));
    expect(error).toBeInstanceOf(Ambiguous);
    expect(seconds).toBeLessThan(8);
    proxy.pass();
    expect((await knex.raw<{ rows: unknown[] }>('select 3 as three')).rows).toEqual([{ three: 3 }]);
    proxy.close();
  });

  test('not for a silent server on a line that many share, nor behind those that wait for it', async () => {
    const proxy = await startDatabaseProxy(database.url);
    const scope = createScope(pool({ url: proxy.url }), '00000000-0000-7000-8000-000000000001');
    const one = { name: 'test.one', text: 'select 1 as one where $1::uuid is not null', short: 'look_up' } as const;
    expect(await run(scope, one, [])).toEqual([{ one: 1 }]);
    proxy.swallow();
    const first = failure(run(scope, one, []));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const others = await Promise.all([first, failure(run(scope, one, [])), failure(run(scope, one, []))]);
    for (const { error, seconds } of others) {
      expect(error).toBeInstanceOf(Unavailable);
      expect(seconds).toBeLessThan(8);
    }
    proxy.pass();
    expect(await run(scope, one, [])).toEqual([{ one: 1 }]);
    proxy.close();
    await expect(run(scope, one, []).then(() => run(scope, one, []))).rejects.toThrow();
  });

  test('not for each connection that fell silent with the first: those that were idle are not used again (fault F08)', async () => {
    const proxy = await startDatabaseProxy(database.url);
    const knex = pool({ url: proxy.url, poolMax: 2 });
    const scope = createScope(knex, '00000000-0000-7000-8000-000000000001');
    const lookUp = { name: 'test.one', text: 'select 1 as one where $1::uuid is not null', short: 'look_up' } as const;
    await Promise.all([knex.raw('select 1'), knex.raw('select 1'), run(scope, lookUp, [])]);
    proxy.forget();
    expect((await failure(Promise.resolve(knex.raw('select 2')))).error).toBeInstanceOf(Ambiguous);
    expect((await knex.raw<{ rows: unknown[] }>('select 3 as three')).rows).toEqual([{ three: 3 }]);
    expect(await run(scope, lookUp, [])).toEqual([{ one: 1 }]);
    proxy.forget();
    expect((await failure(run(scope, lookUp, []))).error).toBeInstanceOf(Unavailable);
    expect((await knex.raw<{ rows: unknown[] }>('select 4 as four')).rows).toEqual([{ four: 4 }]);
    proxy.close();
  });

  test('not for a silent server on a connection taken by hand, with a named statement', async () => {
    const proxy = await startDatabaseProxy(database.url);
    const knex = pool({ url: proxy.url, poolMax: 1 });
    const client = knex.client as { acquireConnection(): Promise<NamedQuery>; releaseConnection(connection: NamedQuery): Promise<void> };
    const connection = await client.acquireConnection();
    const statement = { name: 'one', text: 'select $1::int as value', values: [1] };
    expect((await connection.query(statement)).rows).toEqual([{ value: 1 }]);
    proxy.swallow();
    expect((await failure(connection.query(statement))).seconds).toBeLessThan(8);
    await client.releaseConnection(connection);
    proxy.pass();
    const next = await client.acquireConnection();
    expect(next).not.toBe(connection);
    expect((await next.query(statement)).rows).toEqual([{ value: 1 }]);
    await client.releaseConnection(next);
    proxy.close();
  });

  test('except a migration', async () => {
    const { rows } = await pool({ unlimited: true }).raw<{ rows: unknown[] }>('select pg_sleep(6) is null as slept');
    expect(rows).toHaveLength(1);
  });
});

type NamedQuery = { query(statement: object): Promise<{ rows: unknown[] }> };
