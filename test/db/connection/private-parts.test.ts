// What is used of Knex and `pg` beyond what they promise (docs/how-to/upgrading.md): fails when another release does it in another way.
import type { Socket } from 'node:net';
import type { Knex } from 'knex';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { Ambiguous } from '../../../src/db/connection/failures.js';
import { createKnex, poolState, spending, statementBatchersOf } from '../../../src/db/connection/knex.js';
import { inTransaction } from '../../../src/db/connection/transaction.js';
import { noDeadline } from '../../../src/lib/deadline.js';

type Connection = pg.Client & {
  __knex__disposed?: unknown;
  readonly processID: number;
  readonly _queryable: boolean;
  readonly _ending: boolean;
  connection: { stream: Socket } & Record<string, unknown>;
};
type Pending = { readonly promise: Promise<Connection>; abort(): void };
type Pool = { acquire(): Pending; release(connection: Connection): boolean; numPendingAcquires(): number };
type Dialect = {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  readonly pool: Pool;
  readonly driver: { readonly Client: typeof pg.Client };
  readonly config: { readonly connection: { readonly connectionString: string } };
};

let knex: Knex;
const dialect = () => knex.client as Dialect;

const database = sharedDatabase();
beforeAll(async () => {
  knex = createKnex({ url: database.url, poolMax: 1 });
});
afterAll(async () => knex?.destroy());

test('Knex opens connections with the class that its dialect names as the driver, and keeps the address', async () => {
  const connection = await dialect().acquireConnection();
  expect(connection).toBeInstanceOf(dialect().driver.Client);
  expect(dialect().driver.Client).not.toBe(pg.Client);
  expect(dialect().config.connection.connectionString).toBe(database.url);
  await dialect().releaseConnection(connection);
});

test('Knex counts what its pool has given out and who waits', async () => {
  const connection = await dialect().acquireConnection();
  expect(poolState(knex)).toMatchObject({ used: 1, waiting: 0, max: 1 });
  const next = dialect().acquireConnection();
  await expect.poll(() => poolState(knex).waiting).toBe(1);
  await dialect().releaseConnection(connection);
  await dialect().releaseConnection(await next);
  expect(poolState(knex)).toMatchObject({ used: 0, waiting: 0 });
});

test("Knex's pool takes one back that nobody waits for any more, and says so to who waited", async () => {
  const { pool } = dialect();
  const connection = await pool.acquire().promise;
  const pending = pool.acquire();
  expect(pool.numPendingAcquires()).toBe(1);
  pending.abort();
  await expect(pending.promise).rejects.toThrow();
  expect(pool.numPendingAcquires()).toBe(0);
  expect(pool.release(connection)).toBe(true);
});

test('a transaction of Knex gives out its own connection, as often as it is asked', async () =>
  knex.transaction(async (trx) => {
    const client = trx.client as Dialect;
    const connection = await client.acquireConnection();
    expect(connection.getTransactionStatus()).toBe('T');
    await client.releaseConnection(connection);
    expect(await client.acquireConnection()).toBe(connection);
    expect(client.pool).toBeUndefined();
  }));

test('Knex makes a savepoint where the dialect says that it is in a transaction', async () =>
  inTransaction(knex, async (trx) => {
    expect([statementBatchersOf(knex), statementBatchersOf(trx)]).toEqual([expect.anything(), undefined]);
    await trx.raw('create temporary table kept on commit drop as select 1 as n');
    const undone = trx.transaction(async (inner) => {
      await inner.raw('insert into kept values (2)');
      throw new Error('for the test');
    });
    await expect(undone).rejects.toThrow('for the test');
    expect((await trx.raw<{ rows: unknown[] }>('select n from kept')).rows).toEqual([{ n: 1 }]);
  }));

test('a context made of that of Knex takes its connections through the client that it names, whatever asks', async () => {
  const { context } = knex as unknown as { context: { client: unknown; queryBuilder(): unknown } };
  expect(context.client).toBe(knex.client);
  const bound = spending(knex, { ...noDeadline, left: () => 0 }, 'none');
  const asked = [bound('users').select(), bound.raw('select 1'), bound.transaction(async () => 'done'), bound.select(bound.raw('1'))];
  for (const one of await Promise.allSettled(asked))
    expect(one).toMatchObject({ status: 'rejected', reason: { message: 'the time of the request is up' } });
  expect((await spending(knex, noDeadline, 'none').raw<{ rows: unknown[] }>('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

test('Knex hands out no connection that is marked as disposed', async () => {
  const connection = await dialect().acquireConnection();
  connection.__knex__disposed = 'for the test';
  await dialect().releaseConnection(connection);
  const next = await dialect().acquireConnection();
  expect(next).not.toBe(connection);
  await dialect().releaseConnection(next);
});

test('a client of pg says of itself whether it can be used, and which process of the server it has', async () => {
  const connection = await dialect().acquireConnection();
  expect([connection._queryable, connection._ending]).toEqual([true, false]);
  const { rows } = await connection.query<{ pid: number }>('select pg_backend_pid() as pid');
  expect(connection.processID).toBe(rows[0]?.pid);
  await dialect().releaseConnection(connection);

  const lost = new pg.Client(database.url) as Connection;
  lost.on('error', () => undefined);
  await lost.connect();
  lost.connection.stream.destroy(new Error('for the test'));
  await expect.poll(() => lost._queryable).toBe(false);

  const ended = new pg.Client(database.url) as Connection;
  await ended.connect();
  const ending = ended.end();
  expect(ended._ending).toBe(true);
  await ending;
});

test('pg has the messages of the extended protocol, and ends a query at once when its stream is destroyed', async () => {
  const connection = await dialect().acquireConnection();
  const { stream } = connection.connection;
  for (const name of ['parse', 'bind', 'describe', 'execute', 'sync'])
    expect([name, typeof connection.connection[name]]).toEqual([name, 'function']);
  for (const name of ['cork', 'uncork', 'destroy'] as const) expect(typeof stream[name]).toBe('function');
  expect(typeof connection.getTypeParser(20, 'text')).toBe('function');
  const slept = connection.query('select pg_sleep(20)').catch((error: unknown) => error);
  stream.destroy();
  const failure = await slept;
  await dialect().releaseConnection(connection);
  expect(failure).toBeInstanceOf(Ambiguous);
  expect(failure).toMatchObject({ cause: { message: 'Connection terminated unexpectedly' } });
});
