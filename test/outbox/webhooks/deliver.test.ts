import { expect, test } from 'vitest';
import { retryDelay } from '../../../src/outbox/webhooks/deliver.js';

const config = { retryBaseMs: 5000, retryFactor: 8, timeoutMs: 10_000 };
const now = new Date('2026-01-01T00:00:00Z');
const answer = (status: number, retryAfter?: string) => ({ status, retryAfter });

test('five retries, none after the sixth attempt', () => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempt) => retryDelay(config, attempt, answer(500), now));
  [5, 40, 320, 2560, 20_480].forEach((seconds, i) => {
    expect(waits[i]).toBeGreaterThanOrEqual(seconds * 800);
    expect(waits[i]).toBeLessThanOrEqual(seconds * 1200);
  });
  expect(waits[5]).toBeNull();
});

test('no answer is retried like a bad one; a 410 is not', () => {
  expect(retryDelay(config, 1, null, now)).not.toBeNull();
  expect(retryDelay(config, 1, answer(410), now)).toBeNull();
});

test('Retry-After on 429 and 503: no sooner than asked, an hour at most, and never sooner than the schedule', () => {
  for (const status of [429, 503]) {
    expect(retryDelay(config, 1, answer(status, '60'), now)).toBe(60_000);
    expect(retryDelay(config, 1, answer(status, '86400'), now)).toBe(3_600_000);
    expect(retryDelay(config, 1, answer(status, 'Thu, 01 Jan 2026 00:02:00 GMT'), now)).toBe(120_000);
    expect(retryDelay(config, 1, answer(status, '1'), now)).toBeGreaterThanOrEqual(4000);
    expect(retryDelay(config, 1, answer(status, 'later'), now)).toBeLessThanOrEqual(6000);
  }
  expect(retryDelay(config, 1, answer(500, '60'), now)).toBeLessThanOrEqual(6000);
});
