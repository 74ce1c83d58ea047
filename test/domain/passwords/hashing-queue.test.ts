// Who is served first when passwords wait to be hashed, and how long anybody waits.
import { expect, test } from 'vitest';
import { deadlineIn } from '../../../src/lib/deadline.js';
import { createHashingQueue, OverloadedError, type Priority } from '../../../src/domain/passwords/hashing-queue.js';

/** A queue, and works that end when the test says so. */
function queueOf(options: Partial<Parameters<typeof createHashingQueue>[0]> = {}) {
  const queue = createHashingQueue({ concurrency: 1, queueMax: 200, maxWaitMs: 5_000, ...options });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    queue,
    started,
    ask: (urgency: Priority, name: string) =>
      queue.run(urgency, async () => {
        started.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        return name;
      }),
    end: (name: string) => ends.get(name)?.(),
  };
}
const settled = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error: unknown) => (error instanceof OverloadedError ? 'overloaded' : error),
  );

test('the known go before every stranger, each in their order', async () => {
  const { ask, end, started } = queueOf();
  const all = [ask('stranger', 's1'), ask('stranger', 's2'), ask('known', 'k1'), ask('stranger', 's3'), ask('known', 'k2')];
  for (const name of ['s1', 'k1', 'k2', 's2', 's3']) {
    await expect.poll(() => started.at(-1)).toBe(name);
    end(name);
  }
  expect(await Promise.all(all)).toEqual(['s1', 's2', 'k1', 's3', 'k2']);
});

test('a line full of strangers has room for the known', async () => {
  const { ask, end, started } = queueOf({ queueMax: 2 });
  const strangers = [ask('stranger', 's1'), ask('stranger', 's2'), ask('stranger', 's3')];
  expect(await settled(ask('stranger', 's4'))).toBe('overloaded');
  const known = ask('known', 'k1');
  for (const name of ['s1', 'k1', 's2', 's3']) {
    await expect.poll(() => started.at(-1)).toBe(name);
    end(name);
  }
  expect([await known, ...(await Promise.all(strangers))]).toEqual(['k1', 's1', 's2', 's3']);
});

test('nobody waits longer than the limit; who has gone takes no turn', async () => {
  const { ask, end, started } = queueOf({ maxWaitMs: 30 });
  const first = ask('stranger', 's1');
  const at = performance.now();
  expect(await Promise.all([settled(ask('stranger', 's2')), settled(ask('known', 'k1'))])).toEqual(['overloaded', 'overloaded']);
  expect(performance.now() - at).toBeGreaterThanOrEqual(29);
  end('s1');
  await first;
  const later = ask('stranger', 's3');
  expect(started).toEqual(['s1', 's3']);
  end('s3');
  expect(await later).toBe('s3');
});

test('who would wait longer than the limit is refused at once', async () => {
  // Works are taken to last 50 ms until some have run: of two turns the second would begin after 100 ms.
  const { ask, end } = queueOf({ maxWaitMs: 60 });
  const first = ask('stranger', 's1');
  const waiting = [settled(ask('stranger', 's2')), settled(ask('stranger', 's3'))];
  const at = performance.now();
  expect(await settled(ask('stranger', 's4'))).toBe('overloaded');
  expect(performance.now() - at).toBeLessThan(30);
  expect(await Promise.all(waiting)).toEqual(['overloaded', 'overloaded']);
  end('s1');
  await first;
});

test('who has waited before has that much less patience', async () => {
  const { ask, end, queue } = queueOf();
  const first = ask('stranger', 's1');
  expect(await settled(queue.run('known', async () => 'never', deadlineIn(0)))).toBe('overloaded');
  end('s1');
  await first;
  expect(await settled(queue.run('known', async () => 'never', deadlineIn(0)))).toBe('overloaded');
  expect(await queue.run('known', async () => 'at once', deadlineIn(1_000))).toBe('at once');
});
