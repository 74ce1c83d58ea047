// What the release before uses stays: migrations from 0208 on are judged by a linter that isn't ours.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { migrationDirectory } from '../../src/db/migrate.js';
import { readHeader, type Phase } from '../../src/db/migration-plan.js';

const first = '0208';

/** What takes away, or alters under its feet, what the release before uses. */
const takesAway = [
  'adding-required-field',
  'ban-drop-column',
  'ban-drop-table',
  'changing-column-type',
  'renaming-column',
  'renaming-table',
] as const;

/** What stays forbidden in a `contract`: it may take away what only earlier releases used, and nothing else. */
const forbidden: Record<Phase, readonly string[]> = {
  expand: takesAway,
  contract: takesAway.filter((rule) => !rule.startsWith('ban-')),
};

function lint(files: readonly string[], rules: readonly string[]): string[] {
  if (files.length === 0) return [];
  const words = ['--assume-in-transaction', '--pg-version=15.0', '--reporter=json', `--include=${rules.join()}`];
  type Finding = { readonly file: string; readonly line: number; readonly rule_name: string };
  const said = (() => {
    try {
      return execFileSync('node_modules/.bin/squawk', [...words, ...files], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  })();
  const findings = JSON.parse(said) as Finding[];
  return findings
    .filter(({ rule_name }) => rules.includes(rule_name))
    .map(({ file, line, rule_name }) => `${file}:${line + 1} ${rule_name}`);
}

test('a new migration takes away nothing that the release before uses (specification 15.8.1)', () => {
  const paths = readdirSync(migrationDirectory).filter((name) => name >= first).map((name) => join('migrations', name)); // prettier-ignore
  const phaseOf = (path: string) => readHeader(readFileSync(path, 'utf8')).phase;
  const unsaid = paths.filter((path) => phaseOf(path) === null);
  expect(
    unsaid,
    'Say -- phase: expand or -- phase: contract among its first lines; -- locks: is what test/db/migration-locks.test.ts says.',
  ).toEqual([]);
  for (const phase of ['expand', 'contract'] as const) {
    const found = lint(paths.filter((path) => phaseOf(path) === phase), forbidden[phase]); // prettier-ignore
    expect(found, 'Leave it to a migration of the next release, with -- phase: contract, and stop using it in this one.').toEqual([]);
  }
});

test('the linter sees what it is there for', () => {
  const directory = mkdtempSync(join(tmpdir(), 'identity-provider-lint-'));
  const path = join(directory, '0999_bad.sql');
  writeFileSync(
    path,
    'alter table users drop column email;\nalter table users rename column first_name to name;\nalter table users add column x text not null;\n',
  );
  const rules = lint([path], takesAway).map((found) => found.split(' ')[1]);
  rmSync(directory, { recursive: true });
  expect(rules).toEqual(['ban-drop-column', 'renaming-column', 'adding-required-field']);
});
