// Who is served first when passwords wait to be hashed, and how long anybody waits.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { deadlineIn } from '../../../src/lib/deadline.js';
import { createHashingQueue, OverloadedError } from '../../../src/domain/passwords/hashing-queue.js';
import type { Priority } from '../../../src/domain/passwords/hashing-shares.js';

/** A queue, and works that end when the test says so. */
function queueOf(options: Partial<Parameters<typeof createHashingQueue>[0]> = {}) {
  const queue = createHashingQueue({ concurrency: 1, queueMax: 200, maxWaitMs: 5_000, ...options });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    queue,
    started,
    ask: (priority: Priority, name: string, environment_id = 'own') =>
      queue.run({ environment_id, priority }, async () => {
        started.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        return name;
      }),
    end: (name: string) => ends.get(name)?.(),
  };
}
afterEach(() => vi.restoreAllMocks());

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
  let waited = false;
  void waiting[0]?.then(() => (waited = true));
  expect(await settled(ask('stranger', 's4'))).toBe('overloaded');
  expect(waited).toBe(false);
  expect(await Promise.all(waiting)).toEqual(['overloaded', 'overloaded']);
  end('s1');
  await first;
});

test('who has waited before has that much less patience', async () => {
  const { ask, end, queue } = queueOf();
  const known = (ms: number) => ({ environment_id: 'own', priority: 'known', deadline: deadlineIn(ms) }) as const;
  const first = ask('stranger', 's1');
  expect(await settled(queue.run(known(0), async () => 'never'))).toBe('overloaded');
  end('s1');
  await first;
  expect(await settled(queue.run(known(0), async () => 'never'))).toBe('overloaded');
  expect(await queue.run(known(1_000), async () => 'at once')).toBe('at once');
});

describe('environments', () => {
  /** Ends whatever runs, until nothing does. @returns who ran, in order */
  async function runAll({ started, end }: ReturnType<typeof queueOf>, count: number): Promise<string[]> {
    for (let done = 0; done < count; done++) {
      await expect.poll(() => started.length, { interval: 1 }).toBeGreaterThan(done);
      end(started[done]!);
    }
    return started;
  }

  test('a flood in one leaves every other its share: a neighbour is next, not last (attack 10.990)', async () => {
    const line = queueOf();
    const flood = Array.from({ length: 40 }, (_, i) => line.ask('stranger', `flood ${i}`, 'flooded'));
    const neighbours = [line.ask('stranger', 'neighbour 1', 'calm'), line.ask('stranger', 'neighbour 2', 'calm')];
    const order = await runAll(line, 42);
    await Promise.all([...flood, ...neighbours]);
    expect(order.indexOf('neighbour 1')).toBeLessThanOrEqual(2);
    expect(order.indexOf('neighbour 2')).toBeLessThanOrEqual(5);
  });

  test('a full line of one is nobody else’s: its own are refused, a neighbour waits for its turn (attack 10.990)', async () => {
    const line = queueOf({ queueMax: 3 });
    const flood = Array.from({ length: 4 }, (_, i) => line.ask('stranger', `flood ${i}`, 'flooded'));
    expect(await settled(line.ask('stranger', 'flood 5', 'flooded'))).toBe('overloaded');
    const neighbour = line.ask('stranger', 'neighbour', 'calm');
    await runAll(line, 5);
    expect(await Promise.all([...flood, neighbour])).toHaveLength(5);
  });

  test('the known of one do not go before the strangers of another (attack 10.990)', async () => {
    const line = queueOf();
    const flood = Array.from({ length: 20 }, (_, i) => line.ask('known', `flood ${i}`, 'flooded'));
    const neighbour = line.ask('stranger', 'neighbour', 'calm');
    const order = await runAll(line, 21);
    await Promise.all([...flood, neighbour]);
    expect(order.indexOf('neighbour')).toBeLessThanOrEqual(2);
  });

  test('shares are of time: one whose tasks take ten times as long has a tenth of the turns (attack 10.990)', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const queue = createHashingQueue({ concurrency: 1, queueMax: 200, maxWaitMs: 60_000 });
    const order: string[] = [];
    const ask = (name: string, ms: number) =>
      queue.run({ environment_id: name, priority: 'stranger' }, async () => {
        order.push(name);
        now += ms;
      });
    await Promise.all([...Array.from({ length: 40 }, () => ask('dear', 20)), ...Array.from({ length: 40 }, () => ask('cheap', 2))]);
    const fifth = order.map((name, at) => (name === 'dear' ? at : -1)).filter((at) => at >= 0)[4];
    // While four dear ones had their 80 ms, some forty cheap ones had theirs.
    expect(order.slice(0, fifth).filter((name) => name === 'cheap').length).toBeGreaterThanOrEqual(29);
  });

  test('one that comes back has saved nothing up, and none is remembered that has nothing to do', async () => {
    const line = queueOf();
    const early = line.ask('stranger', 'early', 'idle');
    line.end('early');
    await early;
    const busy = Array.from({ length: 6 }, (_, i) => line.ask('stranger', `busy ${i}`, 'busy'));
    const idle = Array.from({ length: 6 }, (_, i) => line.ask('stranger', `idle ${i}`, 'idle'));
    const order = (await runAll(line, 13)).slice(1);
    await Promise.all([...busy, ...idle]);
    expect(order.slice(0, 8).filter((name) => name.startsWith('busy')).length).toBeGreaterThanOrEqual(2);
    expect(line.queue.state()).toMatchObject({ length: 0, refused: 0 });
  });
});
