import { expect, test } from 'vitest';
import { backoffMs, retryAfterMs } from '../../src/lib/backoff.js';

const schedule = { baseMs: 5000, factor: 8 };

test('the waits are 5 s, 40 s, 5 min 20 s, 42 min 40 s, 5 h 41 min (specification 7.4.1)', () => {
  const waits = [1, 2, 3, 4, 5].map((failures) => backoffMs(schedule, failures, () => 0.5));
  expect(waits).toEqual([5000, 40_000, 320_000, 2_560_000, 20_480_000]);
});

test('spread by 20 % to both sides, and never more', () => {
  expect(backoffMs(schedule, 1, () => 0)).toBe(4000);
  expect(backoffMs(schedule, 1, () => 1)).toBe(6000);
  const waits = Array.from({ length: 1000 }, () => backoffMs(schedule, 2));
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(32_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(48_000);
  expect(new Set(waits).size).toBeGreaterThan(900);
});

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  ['Wed, 01 Jan 2025 00:01:00 GMT', 60_000],
  ['Tue, 31 Dec 2024 00:00:00 GMT', 0],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['', null],
  [undefined, null],
])('Retry-After %j asks for %j ms (RFC 9110 10.2.3)', (header, expected) => {
  expect(retryAfterMs(header, new Date('2025-01-01T00:00:00Z'))).toBe(expected);
});
