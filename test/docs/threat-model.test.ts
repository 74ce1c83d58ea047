// The threat model says of Management permissions what their holder can do at worst.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { managementCollections, managementPermissions } from '../../src/domain/reach/management-permissions.js';

test('each permission to write, and each that is of no single collection, has its line, one plain sentence', async () => {
  const page = await readFile('docs/threat-model.md', 'utf8');
  const section = /^## What each permission is worth$([\s\S]*?)^## /m.exec(page)?.[1] ?? '';
  const lines = [...section.matchAll(/^\| `([a-z_]+:[a-z]+)` *\| (.+?) *\|$/gm)];
  const named = new Set(lines.map(([, name]) => name));
  const reads = new Set(managementCollections.map((collection) => `${collection}:read`));
  const where = 'under "What each permission is worth" in docs/threat-model.md.';
  expect(managementPermissions.filter((name) => !reads.has(name) && !named.has(name)), `Give each its row ${where}`).toEqual([]); // prettier-ignore
  const gone = [...named].filter((name) => name === undefined || !managementPermissions.includes(name));
  expect(gone, `There are no such permissions: take the rows out ${where}`).toEqual([]);
  expect(lines.length, 'One row each.').toBe(named.size);
  for (const [, name, sentence = ''] of lines)
    expect([name, /^[A-Z].{15,}[.]$/.test(sentence)], 'One sentence, with a full stop: what its holder can do at worst.').toEqual([
      name,
      true,
    ]);
});
