// Long work goes on in turns.
import { expect, test } from 'vitest';
import { groupedBy } from '../../src/lib/grouped.js';
import { turns } from '../../src/lib/turns.js';

function spend(ms: number): void {
  for (const ends = performance.now() + ms; performance.now() < ends;);
}

test('of long work, however much of it there is at once, one piece goes on in each turn of the event loop (attack 18.1076)', async () => {
  const pieces: number[] = [];
  let loop = 0;
  let ended = false;
  const counting = (async () => {
    for (; !ended; loop += 1) await new Promise((resolve) => setImmediate(resolve));
  })();
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      const turn = turns();
      for (let item = 0; item < 3; item += 1) {
        spend(11);
        await turn();
        pieces.push(loop);
      }
    }),
  );
  ended = true;
  await counting;
  expect(pieces).toHaveLength(60);
  const inEach = groupedBy(pieces, (one) => one);
  expect(Math.max(...[...inEach.values()].map((all) => all.length))).toBeLessThanOrEqual(2);
});

test('short work is not interrupted', () => {
  const turn = turns();
  expect(Array.from({ length: 10 }, () => turn())).toEqual(Array(10).fill(null));
});
