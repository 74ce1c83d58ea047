// What the release before uses stays: what migrations after the baseline may say, by their words. What they lock is measured in migration-locks.test.ts.
import { expect, test } from 'vitest';
import { migrationNames, readMigration } from '../../../src/db/migrations/migrate.js';
import { readHeader, type Phase } from '../../../src/db/migrations/migration-plan.js';

const drops = [/\bdrop table (?!if exists pg_temp)/, /\bdrop column\b/];
const alters = [
  /\brename (?:to|column)\b/,
  /\balter column \w+ (?:set data )?type\b/,
  /\badd column (?!(?:[^,;]|\([^)]*\))*\b(?:default|generated)\b)[^,;]*\bnot null\b/,
];

/** What takes away, or alters under its feet, what the release before uses. A `contract` may take away what only earlier releases used. */
const forbidden: Record<Phase, readonly RegExp[]> = { expand: [...drops, ...alters], contract: alters };

/** A table that a partitioned one of its name takes the place of, in the same transaction. */
const replaced = /\brename to %i.*create table %i \(like %i .*\) partition by range/;

const found = (sql: string, phase: Phase): string[] => {
  const words = sql.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').toLowerCase();
  const statements = replaced.test(words) ? words.replaceAll(/\brename to %i/g, '') : words;
  return forbidden[phase].filter((pattern) => pattern.test(statements)).map(String);
};

test('a new migration takes away nothing that the release before uses (specification 15.8.1)', async () => {
  const names = (await migrationNames()).filter((name) => name !== '0001_baseline');
  const read = await Promise.all(
    names.map(async (name) => {
      const sql = await readMigration(name);
      return { name, sql, phase: readHeader(sql).phase };
    }),
  );
  expect(
    read.filter(({ phase }) => phase === null).map(({ name }) => name),
    'Say -- phase: expand or -- phase: contract among its first lines; -- locks: is what test/db/migrations/migration-locks.test.ts says.',
  ).toEqual([]);
  expect(
    read.flatMap(({ name, sql, phase }) => found(sql, phase as Phase).map((pattern) => `${name}: ${pattern}`)),
    'Leave it to a migration of the next release, with -- phase: contract, and stop using it in this one.',
  ).toEqual([]);
});

test.each([
  'alter table users drop column email;',
  'drop table users;',
  'alter table users rename column first_name to name;',
  'alter table users alter column email type citext;',
  'alter table users add column x text not null;',
])('%s is seen', (sql) => expect(found(sql, 'expand')).toHaveLength(1));

test.each(['alter table users add column x text not null default 1;', 'alter table users add column x text, alter column y set not null;'])(
  '%s is let pass',
  (sql) => expect(found(sql, 'expand')).toEqual([]),
);
