import type { Knex } from 'knex';
import type { QueryResultRow } from 'pg';
import { statementLinesOf } from './knex.js';
import { runOn, statementObserver, type Statement } from './scope.js';

/** The unscoped door, for what the service does for all environments together, such as the outbox: runs a named statement. */
export async function runSystem<Row extends QueryResultRow>(knex: Knex, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
  statementObserver.observe?.(statement.text);
  const query = { name: statement.name, text: statement.text, values };
  const line = statement.short && statementLinesOf(knex)?.[statement.short];
  return line ? line.query<Row>(query) : runOn<Row>(knex, query);
}
