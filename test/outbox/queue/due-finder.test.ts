import { afterEach, expect, test, vi } from 'vitest';
import { createDestinations } from '../../../src/outbox/queue/destinations.js';
import { createDueFinder } from '../../../src/outbox/queue/due-finder.js';
import type { Job } from '../../../src/outbox/queue/queue.js';
import { queueOf } from '../../support/outbox-queue.js';

afterEach(() => void vi.useRealTimers());

/** When thorough looks began, of a queue whose quick look never sees to the end; it is looked at every 50 ms, for three seconds. */
async function thoroughLooks(tookMs: number): Promise<number[]> {
  vi.useFakeTimers({ toFake: ['performance'] });
  const began: number[] = [];
  const start = performance.now();
  const queue = queueOf({
    name: 'never seen to the end',
    recent: async () => ({ due: [], full: true }),
    async thorough() {
      began.push(performance.now() - start);
      vi.advanceTimersByTime(tookMs);
      return [];
    },
  });
  const finder = createDueFinder(queue, createDestinations<Job>(5));
  while (performance.now() - start < 3000) {
    finder.notify();
    await finder.look();
    vi.advanceTimersByTime(50);
  }
  return began;
}

const pauses = (moments: readonly number[]) => moments.slice(1).map((moment, index) => moment - (moments[index] as number));

test('thorough looks that cost nothing come ten times a second at most', async () => {
  const between = pauses(await thoroughLooks(0));
  expect(between.length).toBeGreaterThan(15);
  expect(Math.min(...between)).toBeGreaterThan(100);
});

test('thorough looks take a fiftieth of the time at most', async () => {
  const between = pauses(await thoroughLooks(20));
  expect(between.length).toBeGreaterThan(1);
  expect(Math.min(...between)).toBeGreaterThan(1000);
});
