import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createNameLookup } from '../../../src/platform/fetch/look-up.js';

describe('name lookup', () => {
  test.each(['localhost', 'LOCALHOST.', 'app.localhost', 'a.b.localhost'])('%s is this machine', async (name) => {
    expect(await createNameLookup()(name)).toContain('127.0.0.1');
  });

  test('every name of the hosts file leads where it says', async () => {
    const lookup = createNameLookup();
    const lines = (await readFile('/etc/hosts', 'utf8')).split('\n').map((line) => line.replace(/#.*/, '').trim().split(/\s+/));
    const listed = lines.flatMap(([address = '', ...names]) => (isIP(address) === 0 ? [] : names.map((name) => ({ name, address }))));
    const found = await Promise.all(listed.map(async ({ name, address }) => (await lookup(name)).includes(address)));
    expect(found).toEqual(listed.map(() => true));
  });

  test('a name that does not exist is an error, in time, and asked for once', async () => {
    const lookup = createNameLookup();
    const started = performance.now();
    const asked = [lookup('nowhere.invalid'), lookup('NOWHERE.invalid.')];
    expect(asked[0]).toBe(asked[1]);
    await expect(asked[0]).rejects.toThrow(/nowhere/i);
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});
