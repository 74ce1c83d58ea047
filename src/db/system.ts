import type { Knex } from 'knex';
import type { QueryResultRow } from 'pg';
import { noDeadline } from '../lib/deadline.js';
import { statementBatchersOf } from './connection/knex.js';
import { runOn } from './connection/statements/named.js';
import { runShort, statements, type Statement } from './scope.js';

/** Runs a named statement without an environment, for work on all environments together, such as the outbox. */
export async function runSystem<Row extends QueryResultRow>(knex: Knex, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
  if (statements.hasSubscribers) statements.publish(statement.text);
  const query = { name: statement.name, text: statement.text, values };
  const batchers = statementBatchersOf(knex);
  return batchers && statement.short ? runShort<Row>(batchers, statement.short, query, noDeadline) : runOn<Row>(knex, query);
}
