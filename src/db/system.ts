import type { Knex } from 'knex';
import type { QueryResultRow } from 'pg';
import { noDeadline } from '../lib/deadline.js';
import { statementLinesOf } from './connection/knex.js';
import { runOn, runShort, statementObserver, type Statement } from './scope.js';

/** Runs a named statement without an environment, for work on all environments together, such as the outbox. */
export async function runSystem<Row extends QueryResultRow>(knex: Knex, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
  statementObserver.observe?.(statement.text);
  const query = { name: statement.name, text: statement.text, values };
  const lines = statementLinesOf(knex);
  return lines && statement.short ? runShort<Row>(lines, statement.short, query, noDeadline) : runOn<Row>(knex, query);
}
