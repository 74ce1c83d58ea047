import { expect, test } from 'vitest';
import { scheduleOf } from './schedule.js';

const minutes = (count: number) => count * 60_000;

test('a seed repeats the faults, another seed makes others', () => {
  expect(scheduleOf(7, minutes(10))).toEqual(scheduleOf(7, minutes(10)));
  expect(scheduleOf(7, minutes(10))).not.toEqual(scheduleOf(8, minutes(10)));
});

test('ten minutes hold every kind of fault at both replicas and the database, and some suspensions longer than changes are remembered', () => {
  for (const seed of [1, 2, 3]) {
    const faults = scheduleOf(seed, minutes(10));
    const seen = [...new Set(faults.map(({ kind, target }) => `${kind} ${target}`))].sort();
    expect(seen).toEqual(['fast postgres', 'immediate postgres', 'kill A', 'kill B', 'suspend A', 'suspend B']);
    expect(faults.some(({ forMs }) => forMs > 40_000)).toBe(true);
  }
});

test('nobody is hit again before the last fault is undone, and all are undone before the end', () => {
  const faults = scheduleOf(3, minutes(10));
  for (const target of ['A', 'B', 'postgres']) {
    const hits = faults.filter((fault) => fault.target === target);
    for (const [index, { at, forMs }] of hits.entries()) expect(hits[index + 1]?.at ?? Infinity).toBeGreaterThan(at + forMs);
  }
  expect(Math.max(...faults.map(({ at, forMs }) => at + forMs))).toBeLessThan(minutes(10));
});
