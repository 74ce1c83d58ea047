import type { Knex } from 'knex';
import type pg from 'pg';

/** Knex's PostgreSQL dialect, as far as it is used here. */
type Dialect = {
  acquireConnection(): Promise<pg.Client>;
  releaseConnection(connection: pg.Client): Promise<void>;
  emit(event: 'query', statement: { readonly sql: string }): unknown;
  transaction(work: unknown, options: unknown, outer: object): unknown;
};

/** A Knex of the same pool whose dialect has members of its own beside, or in the place of, the pool's. Costs next to nothing, where Knex's own copy costs a statement. */
export function withDialect(knex: Knex, own: PropertyDescriptorMap): Knex {
  const context = Object.create((knex as unknown as { context: object }).context) as { client: unknown; queryBuilder(): Knex.QueryBuilder };
  context.client = Object.create(knex.client as object, own);
  const bound = (name: string, options?: object) => context.queryBuilder().table(name, options as never);
  Object.setPrototypeOf(bound, knex);
  return Object.assign(bound, { context }) as unknown as Knex;
}

/**
 * Runs `work` in a transaction on a connection of the pool, at half of what Knex's own costs. A savepoint is `trx.transaction`, which is Knex's: its dialect
 * says that it is in a transaction.
 * @throws what `work` throws, once that is rolled back; {DatabaseFailure}; an error when `work` went on after a statement that failed, since nothing is committed then
 */
export async function inTransaction<T>(knex: Knex, work: (trx: Knex) => Promise<T>): Promise<T> {
  const dialect = knex.client as Dialect;
  const connection = await dialect.acquireConnection();
  let isOver = false;
  // What somebody goes on with afterwards must not get into another one's, nor commit itself.
  const lent = {
    query(...args: [never]) {
      if (isOver) throw new Error('the transaction is over');
      return connection.query(...args);
    },
  };
  // As Knex sees it from a savepoint: those side by side wait for each other.
  const outer = { _lastChild: Promise.resolve(), isCompleted: () => isOver };
  const trx = withDialect(knex, {
    transacting: { value: true },
    // Theirs is another connection.
    batchers: { value: undefined },
    acquireConnection: { value: () => Promise.resolve(lent) },
    releaseConnection: { value: () => Promise.resolve() },
    transaction: {
      value(this: Dialect, inner: unknown, options: unknown) {
        return dialect.transaction.call(this, inner, options, outer);
      },
    },
  });
  const ask = (sql: string) =>
    new Promise<string>((resolve, reject) => {
      dialect.emit('query', { sql });
      connection.query(sql, (error: Error | null, result) => (error ? reject(error) : resolve(result.command)));
    });
  try {
    await ask('BEGIN;');
    const done = await work(Object.assign(trx, { isTransaction: true }));
    isOver = true;
    if ((await ask('COMMIT;')) !== 'COMMIT') throw new Error('a statement of the transaction had failed, and it was rolled back');
    return done;
  } catch (error) {
    isOver = true;
    // A connection that doesn't answer is given up, and with it what it did.
    await ask('ROLLBACK;').catch(() => undefined);
    throw error;
  } finally {
    await dialect.releaseConnection(connection);
  }
}
