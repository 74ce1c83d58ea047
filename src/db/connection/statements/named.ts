import type { Knex } from 'knex';
import type { Client, QueryConfig, QueryResultRow } from 'pg';

/** A statement with its values, prepared under its name once per connection. */
export type NamedQuery = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Whose rows it may reach; absent for work on all environments. Read by the tests' row-level security. */
  readonly environment_id?: string;
};

/** Runs a named statement and answers its rows. With a callback `pg` makes two promises and a stack trace less than without. */
export const queryOn = <Row extends QueryResultRow>(connection: Client, query: NamedQuery): Promise<Row[]> =>
  new Promise((resolve, reject) => {
    connection.query<Row>(query as QueryConfig, (error: Error | null, result) => {
      if (error) reject(error);
      else resolve(result.rows);
    });
  });

/** Runs a named statement on a connection of the pool, or on that of the transaction. */
export async function runOn<Row extends QueryResultRow>(knex: Knex, query: NamedQuery): Promise<Row[]> {
  const client = knex.client as { acquireConnection(): Promise<Client>; releaseConnection(connection: Client): Promise<void> };
  const connection = await client.acquireConnection();
  try {
    return await queryOn<Row>(connection, query);
  } finally {
    await client.releaseConnection(connection);
  }
}
