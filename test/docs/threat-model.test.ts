// The threat model says of every Management permission what its holder can do at worst.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { managementPermissions } from '../../src/domain/reach/management-permissions.js';

test(`each of the ${managementPermissions.length} permissions has its line, one plain sentence, and no other has`, async () => {
  const page = await readFile('docs/threat-model.md', 'utf8');
  const section = /^## What each permission is worth$([\s\S]*?)^## /m.exec(page)?.[1] ?? '';
  const lines = [...section.matchAll(/^\| `([a-z_]+:[a-z]+)` *\| (.+?) *\|$/gm)];
  expect(
    lines.map(([, name]) => name).sort(),
    'Give each permission its row under "What each permission is worth" in docs/threat-model.md.',
  ).toEqual([...managementPermissions].sort());
  for (const [, name, sentence = ''] of lines)
    expect([name, /^[A-Z].{15,}[.]$/.test(sentence)], 'One sentence, with a full stop: what its holder can do at worst.').toEqual([
      name,
      true,
    ]);
});
