// Where a built place was written: what Node's own reader of source maps says of every place of a bundle.
import { SourceMap, type SourceMapPayload } from 'node:module';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { originIn } from '../../src/lib/source-map.js';

const { outputFiles } = await build({
  entryPoints: ['src/lib/source-map.ts', 'src/process/run.ts'],
  outdir: 'dist',
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  splitting: true,
  sourcemap: 'external',
  write: false,
});

const files = outputFiles
  .filter(({ path }) => path.endsWith('.js'))
  .map(({ path, text }) => ({
    text,
    map: JSON.parse(outputFiles.find((file) => file.path === `${path}.map`)?.text ?? '') as SourceMapPayload,
  }));

test('the origin of every fifth place is what Node says it is', () => {
  expect(files.length).toBeGreaterThan(2);
  for (const { text, map } of files) {
    const known = new SourceMap(map);
    const [told, wanted]: [unknown[], unknown[]] = [[], []];
    const lines = text.split('\n');
    for (let line = 1; line <= lines.length; line += Math.ceil(lines.length / 25)) {
      for (let column = 1; column <= (lines[line - 1] ?? '').length; column += 5) {
        const entry = known.findEntry(line - 1, column - 1);
        // Node goes on from the end of the line before where a line begins without a mapping.
        if (!('originalSource' in entry) || entry.generatedLine !== line - 1) continue;
        wanted.push({ file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 });
        told.push(originIn(map, line, column));
      }
    }
    expect(told).toEqual(wanted);
  }
});

test('a place without a mapping has no origin: before the first of its line, on a line without any, after the last line', () => {
  // Two lines: the second begins with a mapping at its fifth column; after it a piece that comes from nowhere.
  const map = { sources: ['a.ts'], mappings: ';IAEC,I' };
  expect(originIn(map, 1, 1)).toBeNull();
  expect(originIn(map, 2, 4)).toBeNull();
  expect(originIn(map, 2, 5)).toEqual({ file: 'a.ts', line: 3, column: 2 });
  expect(originIn(map, 2, 8)).toEqual({ file: 'a.ts', line: 3, column: 2 });
  expect(originIn(map, 2, 9)).toBeNull();
  expect(originIn(map, 3, 1)).toBeNull();
  expect(originIn({ sources: [], mappings: '' }, 1, 1)).toBeNull();
});

test('numbers of several digits, and those that go back', () => {
  const map = { sources: ['a.ts', 'b.ts'], mappings: 'AAgEgC;AChEhB' };
  expect(originIn(map, 1, 1)).toEqual({ file: 'a.ts', line: 65, column: 33 });
  expect(originIn(map, 2, 7)).toEqual({ file: 'b.ts', line: 1, column: 17 });
});
