import { expect, test } from 'vitest';
import { createElapsed } from '../../src/platform/clock.js';

/** A machine whose two clocks are moved by hand. */
function machine() {
  let [wall, monotonic] = [1_700_000_000_000, 5_000];
  const elapsed = createElapsed(() => wall, () => monotonic); // prettier-ignore
  const began = elapsed();
  return {
    age: () => elapsed() - began,
    runs: (ms: number) => {
      wall += ms;
      monotonic += ms;
    },
    isSetTo: (ms: number) => void (wall += ms),
  };
}

test('an age grows with the time that passes', () => {
  const { age, runs } = machine();
  runs(1234);
  expect(age()).toBe(1234);
});

test('setting the time of day back makes nothing younger, and the age goes on from there', () => {
  const { age, runs, isSetTo } = machine();
  runs(800);
  isSetTo(-3_600_000);
  expect(age()).toBe(800);
  runs(300);
  expect(age()).toBe(1100);
});

test('a sleep that only the time of day has seen counts, also after it was set back before', () => {
  const { age, runs, isSetTo } = machine();
  isSetTo(-3_600_000);
  expect(age()).toBe(0);
  isSetTo(1_800_000);
  expect(age()).toBe(1_800_000);
  runs(10);
  expect(age()).toBe(1_800_010);
});

test('a time of day that is slewed by some milliseconds changes no age', () => {
  const { age, runs, isSetTo } = machine();
  runs(1000);
  isSetTo(40);
  expect(age()).toBe(1000);
  isSetTo(-80);
  expect(age()).toBe(1000);
});
