import { expect, test } from 'vitest';
import { createChoice, spread } from '../../../src/db/postgres/replica.js';

test('processes spread over all replicas of the list, each with another one in reserve', () => {
  const all = ['a', 'b', 'c'];
  const pairs = Array.from({ length: 60 }, (_, pid) => spread(all, `host:${pid}`));
  expect(new Set(pairs.map(([first]) => first))).toEqual(new Set(all));
  for (const [first, second] of pairs) expect(all.indexOf(second as string)).toBe((all.indexOf(first as string) + 1) % 3);
  expect(spread(['alone'])).toEqual(['alone']);
});

test('the reserve takes over after a second without trust, and gives back after thirty with it', () => {
  const choose = createChoice();
  expect(choose([true, true], 0)).toBe(0);
  expect(choose([false, true], 250)).toBe(0);
  expect(choose([false, true], 1_000)).toBe(0);
  expect(choose([false, true], 1_250)).toBe(1);
  expect(choose([true, true], 1_500)).toBe(1);
  expect(choose([false, true], 20_000)).toBe(1);
  expect(choose([true, true], 20_250)).toBe(1);
  expect(choose([true, true], 50_000)).toBe(1);
  expect(choose([true, true], 50_250)).toBe(0);
});

test('the reserve is left at once for the first when only that is trusted; without a reserve nothing changes', () => {
  const choose = createChoice();
  choose([false, true], 0);
  expect(choose([false, true], 1_000)).toBe(1);
  expect(choose([true, false], 1_250)).toBe(0);
  expect(createChoice()([false], 5_000)).toBe(0);
  expect(createChoice()([false, false], 5_000)).toBe(0);
});
