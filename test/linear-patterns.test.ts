// No pattern of the sources takes the square of what it is fed (specification 10.3.4).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, type Node } from 'acorn';
import { transformSync } from 'esbuild';
import { analyse } from 'scslre';
import { expect, test } from 'vitest';

/** Patterns that could, and what they are fed, which is bounded before. */
const bounded: Readonly<Record<string, string>> = {
  '[\\r\\n]+$': 'a file of a variable, which the operator writes',
  '^(?:"?(?<name>[^"<>@,;:]*?)"?\\s*<(?<bracketed>[^<>]+)>|(?<bare>[^<>]+))$':
    'MAIL_FROM, which the operator writes, and the sender of a mail of ours',
  '^[^\\p{L}\\p{N}]+|[^\\p{L}\\p{N}]+$': 'a password, of at most 1,024 characters',
  '([?&#](?:[^=&#]*=)?)[^&#]+': 'finds something wherever it begins: what it looked at it takes along',
};

/** Patterns that are put together while the program runs, by their file: what they are made of, and why they look at each character once. */
const made: Readonly<Record<string, readonly string[]>> = {
  'db/lists/conditions.ts': ['three characters', 'one character'],
  'db/migrations/migration-plan.ts': ['a name of ours at the beginning of a line, fed migrations of ours'],
  'domain/passwords/hash-formats.ts': ['from its beginning on, parts with a sign between that is in none of them', 'the same', 'the same'],
  'http/pages/brand-stylesheet.ts': ['parts of fixed length, each behind a word of its own'],
  'lib/email-address.ts': ['parts of at least one character, with a dot between that is in none of them'],
  'lib/plain-words.ts': ['one class, repeated', 'dots from the first of their run on, with a look at what follows'],
  'lib/user-code.ts': ['a class, as often as a code has letters'],
  'programs/cli/import/products.ts': ['a name of ours and one class, fed the file of an operator by the command line'],
  'management/reference/search.ts': ['a word of a search, escaped, behind one character', 'the words of a search, escaped'],
};

type Pattern = { readonly pattern: string; readonly flags: string };

/** The patterns of a source, and how many are put together while it runs. */
function patternsOf(source: string): Pattern[] & { made?: number } {
  const found: Pattern[] & { made?: number } = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const { regex, type, callee } = value as Node & { regex?: Pattern; callee?: { name?: string; property?: { name?: string } } };
    if (regex) found.push(regex);
    const isCall = type === 'NewExpression' || type === 'CallExpression';
    if (isCall && (callee?.name ?? callee?.property?.name) === 'RegExp') found.made = (found.made ?? 0) + 1;
    Object.values(value).forEach(visit);
  };
  visit(parse(transformSync(source, { loader: 'ts', target: 'es2022' }).code, { ecmaVersion: 'latest', sourceType: 'module' }));
  return found;
}

const isQuadratic = ({ pattern, flags }: Pattern) => analyse({ source: pattern, flags }, { maxReports: 1 }).reports.length > 0;

test('no pattern of the sources takes the square of what it is fed, but those that are fed little (attack 18.976)', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const all = new Map<string, Pattern & { file: string }>();
  for (const file of files)
    for (const one of patternsOf(readFileSync(join('src', file), 'utf8'))) all.set(`${one.pattern}/${one.flags}`, { ...one, file });
  const quadratic = [...all.values()].filter(isQuadratic);
  expect(
    quadratic.filter(({ pattern }) => bounded[pattern] === undefined).map(({ pattern, file }) => `${file}: /${pattern}/`),
    'Write it so that each character is looked at once, or feed it a bounded text and say so above.',
  ).toEqual([]);
  expect(quadratic.map(({ pattern }) => pattern).sort()).toEqual(Object.keys(bounded).sort());
  expect(all.size).toBeGreaterThan(250);
}, 180_000);

test('patterns that are put together while the program runs are known, each with the reason why it is linear (attack 18.1042)', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const counts = files.map((file) => [file, patternsOf(readFileSync(join('src', file), 'utf8')).made ?? 0] as const);
  expect(Object.fromEntries(counts.filter(([, count]) => count > 0))).toEqual(
    Object.fromEntries(Object.entries(made).map(([file, reasons]) => [file, reasons.length])),
  );
  expect(patternsOf('export const one = [new RegExp(name), RegExp(name), new globalThis.RegExp(name)];').made).toBe(3);
});

test('dots that begin no word are looked at once', async () => {
  const { plainWords } = await import('../src/lib/plain-words.js');
  const before = performance.now();
  expect(plainWords(`a${'.'.repeat(100_000)} b . c ..d`)).toBe(`a${'.'.repeat(100_000)} b . c dot d`);
  expect(performance.now() - before).toBeLessThan(1_000);
});

test.each(['/\\s+$/', '/^(a+)+$/', '/\\s*\\}\\}/', '/^(\\S+?)\\s*=\\s*(.+?)(?:\\s+in\\s+([a-z_]+))?$/'])('%s is seen', (source) => {
  expect(patternsOf(`export const one: RegExp = ${source};`).filter(isQuadratic)).toHaveLength(1);
});
