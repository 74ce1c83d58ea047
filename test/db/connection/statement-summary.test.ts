import { expect, test } from 'vitest';
import { statementSummaryOf } from '../../../src/db/connection/statements/summary.js';

test.each([
  [{ name: 'clients.find', text: 'select * from clients where id = $1' }, 'clients.find'],
  [{ summary: 'clients.find', text: 'select 1' }, 'clients.find'],
  [{ text: 'select * from "users" where "email" = \'canary@example.com\'' }, 'SELECT users'],
  [{ text: 'insert into "audit_logs" ("id") values ($1)' }, 'INSERT audit_logs'],
  [{ text: 'update "clients" set "name" = $1' }, 'UPDATE clients'],
  [{ text: 'delete from "sessions"' }, 'DELETE sessions'],
  ['BEGIN;', 'BEGIN'],
  ['COMMIT;', 'COMMIT'],
  [{ text: "select pg_advisory_lock(hashtext('canary'))" }, 'SELECT'],
  [{ text: "notify canary, 'canary'" }, 'statement'],
])('%j is called %s (specification 15.5.4)', (statement, summary) => {
  expect(statementSummaryOf(statement, typeof statement === 'string' ? statement : statement.text)).toBe(summary);
});
