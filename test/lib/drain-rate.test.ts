import { expect, test } from 'vitest';
import { createDrainRate } from '../../src/lib/drain-rate.js';

test('how long the next one will wait follows from how many have left while others waited', () => {
  let now = 0;
  const rate = createDrainRate(() => now);
  expect([rate.length, rate.waitMs()]).toEqual([0, 0]);
  for (let i = 0; i < 100; i++) rate.entered();
  for (let i = 0; i < 20; i++) {
    now += 10;
    rate.left();
  }
  expect(rate.length).toBe(80);
  expect(rate.waitMs()).toBe(800);
});

test('the time in which nothing waited does not count', () => {
  let now = 0;
  const rate = createDrainRate(() => now);
  rate.entered();
  now += 1;
  rate.left();
  now += 60_000;
  for (let i = 0; i < 50; i++) rate.entered();
  for (let i = 0; i < 25; i++) {
    now += 4;
    rate.left();
  }
  expect(rate.waitMs()).toBe(100);
});
