// docs/how-to/sso.md against what it describes.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { connectionStrategies, mappableAttributes, strategyNames, strategyOf } from '../../src/domain/connections/strategies.js';
import { ssoCodes } from '../../src/sso/refusal.js';

const guide = await readFile('docs/how-to/sso.md', 'utf8');

test('every strategy, its options, every attribute and every code is in the guide', () => {
  const options = strategyNames.flatMap((name) => strategyOf(name).options.map((option) => option.name));
  const words = [...strategyNames, ...options, ...mappableAttributes, ...Object.keys(ssoCodes)];
  expect(words.filter((word) => !guide.includes(`\`${word}\``))).toEqual([]);
});

test('the codes have the statuses that the guide gives them', () => {
  const rows = [...guide.matchAll(/^\| `(\w+)` +\| ([\d, ]+?) +\|/gm)].map(([, code, status]) => [code, Number(status?.slice(0, 3))]);
  expect(Object.fromEntries(rows)).toEqual(ssoCodes);
});

test('the scopes that the guide names are asked for', () => {
  for (const scope of connectionStrategies.github.scopes) expect(guide).toContain(`\`${scope}\``);
});
