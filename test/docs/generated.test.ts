import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { generatedPages } from '../../src/programs/docs/pages.js';

test.each(Object.entries(generatedPages()))('%s is what the code says (npm run docs writes it)', async (path, text) => {
  expect(await readFile(path, 'utf8'), 'Run npm run docs, and commit what it writes.').toBe(text);
});
