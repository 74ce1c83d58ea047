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

type Pattern = { readonly pattern: string; readonly flags: string };

/** The patterns of a source. */
function patternsOf(source: string): Pattern[] {
  const found: Pattern[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== 'object' || value === null) return;
    const { regex } = value as Node & { regex?: Pattern };
    if (regex) found.push(regex);
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

test.each(['/\\s+$/', '/^(a+)+$/', '/\\s*\\}\\}/', '/^(\\S+?)\\s*=\\s*(.+?)(?:\\s+in\\s+([a-z_]+))?$/'])('%s is seen', (source) => {
  expect(patternsOf(`export const one: RegExp = ${source};`).filter(isQuadratic)).toHaveLength(1);
});
