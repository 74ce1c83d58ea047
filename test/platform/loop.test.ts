import { pino } from 'pino';
import { expect, test } from 'vitest';
import { startLoop, type PassEnd } from '../../src/platform/loop.js';

const logger = pino({ level: 'silent' });
const hour = 3_600_000;

/** A loop whose passes end as the list says, and then with `done`. */
function loopOf(...ends: (PassEnd | Error)[]) {
  let passes = 0;
  const pass = async (): Promise<PassEnd> => {
    const end = ends[passes++] ?? 'done';
    if (end instanceof Error) throw end;
    return end;
  };
  const loop = startLoop({ name: 'loop', pauseMs: hour, logger, pass });
  return { loop, passes: () => passes };
}

const isResting = { interval: 5 };

test('the next pass begins at once after `more`, and after `done` with the pause', async () => {
  const { loop, passes } = loopOf('more', 'more', 'done');
  await expect.poll(() => loop.state().idleMs ?? 0, isResting).toBeGreaterThan(20);
  expect(passes()).toBe(3);
  await loop.stop();
});

test('a loop that is woken makes one pass more', async () => {
  const { loop, passes } = loopOf();
  await expect.poll(() => loop.state().idleMs ?? 0, isResting).toBeGreaterThan(20);
  loop.wake();
  await expect.poll(passes, isResting).toBe(2);
  await expect.poll(() => loop.state().idleMs ?? 0, isResting).toBeGreaterThan(20);
  expect(passes()).toBe(2);
  await loop.stop();
});

test('a pass that throws is tried again after the pause, not at once', async () => {
  const { loop, passes } = loopOf(new Error('away'));
  await expect.poll(() => loop.state().idleMs ?? 0, isResting).toBeGreaterThan(20);
  expect([passes(), loop.state().failures]).toEqual([1, 1]);
  loop.wake();
  await expect.poll(() => loop.state().failures, isResting).toBe(0);
  await loop.stop();
});
