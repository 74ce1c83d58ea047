// The lists of error codes are closed: every code that the source names is in them, with the status that it is used with.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiErrorCodes } from '../../src/lib/error-codes.js';

const names = (await readdir('src', { recursive: true })).filter((name) => /^(domain|lib|management|http|platform)\b.*\.ts$/.test(name));
const sources = (await Promise.all(names.map((name) => readFile(join('src', name), 'utf8')))).join('\n');

test('every code is one that somebody uses', () =>
  expect(Object.keys(apiErrorCodes).filter((code) => !new RegExp(`['.]${code}\\b`).test(sources))).toEqual([]));

test('where status and code stand side by side, the list has the status', () => {
  const written = [...sources.matchAll(/(?:refuse|problem)\(\s*(\d{3}),\s*'(\w+)'|status: (\d{3}),\s*code: '(\w+)'/g)];
  const unfit = [...sources.matchAll(/unfit(?:Relationship)?\(\s*(?:'\w+'|\w+|\[[^\]]*\]),\s*'(\w+)'/g)].map(
    ([, code]) => [422, code] as const,
  );
  const pairs = [...written.map(([, first, second, third, fourth]) => [Number(first ?? third), second ?? fourth] as const), ...unfit];
  expect([written.length > 50, unfit.length > 50]).toEqual([true, true]);
  const listed = apiErrorCodes as unknown as Readonly<Record<string, readonly [readonly number[], string] | undefined>>;
  expect(pairs.filter(([status, code]) => !listed[code ?? '']?.[0].includes(status))).toEqual([]);
});
