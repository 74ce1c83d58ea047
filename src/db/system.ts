import type { Knex } from 'knex';
import type { Client as Connection, QueryResultRow } from 'pg';
import { statementObserver, type Statement } from './scope.js';

/** Runs a named statement without an environment, for work on all environments together, such as the outbox. */
export async function runSystem<Row extends QueryResultRow>(knex: Knex, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
  statementObserver.observe?.(statement.text);
  const client = knex.client as { acquireConnection(): Promise<Connection>; releaseConnection(connection: Connection): Promise<void> };
  const connection = await client.acquireConnection();
  try {
    const result = await connection.query<Row>({ name: statement.name, text: statement.text, values: [...values] });
    return result.rows;
  } finally {
    await client.releaseConnection(connection);
  }
}
