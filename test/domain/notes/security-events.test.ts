import { expect, test } from 'vitest';
import { createSecurityTrail } from '../../../src/domain/notes/security-events.js';

test('writes of the trail take turns, also after one that failed: whoever asked for the last knows that all is written', async () => {
  const trail = createSecurityTrail();
  const written: string[] = [];
  let fail: (error: Error) => void = () => undefined;
  const first = trail.inTurn(() => new Promise((_resolve, reject) => (fail = reject)));
  const second = trail.inTurn(async () => void written.push('second'));
  await new Promise(setImmediate);
  expect(written).toEqual([]);
  fail(new Error('the database is away'));
  await expect(first).rejects.toThrow('the database is away');
  await second;
  expect(written).toEqual(['second']);
});
