import { afterEach, expect, test, vi } from 'vitest';
import { createDestinations } from '../../../src/outbox/queue/destinations.js';
import { createDueFinder } from '../../../src/outbox/queue/due-finder.js';
import type { Job } from '../../../src/outbox/queue/queue.js';
import { queueOf } from '../../support/outbox-queue.js';

afterEach(() => void vi.useRealTimers());

/** When full scans began, of a queue whose quick query never sees to the end; it is searched every 50 ms, for three seconds. */
async function fullScans(tookMs: number): Promise<number[]> {
  vi.useFakeTimers({ toFake: ['performance'] });
  const began: number[] = [];
  const start = performance.now();
  const queue = queueOf({
    name: 'never seen to the end',
    recent: async () => ({ due: [], full: true }),
    async fullScan() {
      began.push(performance.now() - start);
      vi.advanceTimersByTime(tookMs);
      return [];
    },
  });
  const finder = createDueFinder(queue, createDestinations<Job>(5));
  while (performance.now() - start < 3000) {
    finder.notify();
    await finder.search();
    vi.advanceTimersByTime(50);
  }
  return began;
}

const pauses = (moments: readonly number[]) => moments.slice(1).map((moment, index) => moment - (moments[index] as number));

test('full scans that cost nothing come ten times a second at most', async () => {
  const between = pauses(await fullScans(0));
  expect(between.length).toBeGreaterThan(15);
  expect(Math.min(...between)).toBeGreaterThan(100);
});

test('full scans take a fiftieth of the time at most', async () => {
  const between = pauses(await fullScans(20));
  expect(between.length).toBeGreaterThan(1);
  expect(Math.min(...between)).toBeGreaterThan(1000);
});
