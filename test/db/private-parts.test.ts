// What is used of Knex and `pg` beyond what they promise (docs/upgrading.md): fails when another release does it in another way.
import type { Socket } from 'node:net';
import type { Knex } from 'knex';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Ambiguous } from '../../src/db/failures.js';
import { createKnex, poolState } from '../../src/db/knex.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

type Connection = pg.Client & { __knex__disposed?: unknown; connection: { stream: Socket } & Record<string, unknown> };
type Dialect = {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  readonly driver: { readonly Client: typeof pg.Client };
  readonly config: { readonly connection: { readonly connectionString: string } };
};

let database: TestDatabase;
let knex: Knex;
const dialect = () => knex.client as Dialect;

beforeAll(async () => {
  database = await createTestDatabase();
  knex = createKnex({ url: database.url, poolMax: 1 });
});
afterAll(async () => {
  await knex?.destroy();
  await database?.drop();
});

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

test('Knex hands out no connection that is marked as disposed', async () => {
  const connection = await dialect().acquireConnection();
  connection.__knex__disposed = 'for the test';
  await dialect().releaseConnection(connection);
  const next = await dialect().acquireConnection();
  expect(next).not.toBe(connection);
  await dialect().releaseConnection(next);
});

test('pg has the messages of the extended protocol, and ends a query at once when its stream is destroyed', async () => {
  const connection = await dialect().acquireConnection();
  const { stream } = connection.connection;
  for (const name of ['parse', 'bind', 'describe', 'execute', 'sync'])
    expect([name, typeof connection.connection[name]]).toEqual([name, 'function']);
  for (const name of ['cork', 'uncork', 'destroy'] as const) expect(typeof stream[name]).toBe('function');
  expect(typeof connection.getTypeParser(20, 'text')).toBe('function');
  const slept = connection.query('select pg_sleep(20)').then(
    () => 'it worked',
    (error: unknown) => error,
  );
  stream.destroy();
  const failure = await slept;
  await dialect().releaseConnection(connection);
  expect(failure).toBeInstanceOf(Ambiguous);
});
