// Who is served first when passwords wait to be hashed, and how long anybody waits.
import { setImmediate } from 'node:timers/promises';
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
  /** A queue of one turn at a time, whose tasks take as long as they say, by a clock that nothing else moves. @returns who ran, in order */
  function lineOf(options: { queueMax?: number; maxWaitMs?: number } = {}) {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const queue = createHashingQueue({ concurrency: 1, queueMax: 200, maxWaitMs: 60_000, ...options });
    const order: string[] = [];
    const ask = (environment_id: string, ms = 10, priority: Priority = 'stranger') =>
      queue.run({ environment_id, priority }, async () => {
        order.push(environment_id);
        now += ms;
      });
    const many = (count: number, ...given: Parameters<typeof ask>) => Array.from({ length: count }, () => ask(...given));
    return { queue, order, ask, many };
  }

  test('a flood in one leaves every other its share: neighbours are next, not last (attack 10.990)', async () => {
    const { order, many } = lineOf();
    await Promise.all([...many(40, 'flooded'), ...many(3, 'calm'), ...many(2, 'quiet')]);
    expect(order.slice(0, 8)).toEqual(['flooded', 'calm', 'quiet', 'flooded', 'calm', 'quiet', 'flooded', 'calm']);
    expect(order).toHaveLength(45);
  });

  test('a full line of one is nobody else’s: its own are refused, a neighbour waits for its turn (attack 10.990)', async () => {
    const { queue, ask, many } = lineOf({ queueMax: 3 });
    const flood = many(4, 'flooded');
    expect(await settled(ask('flooded'))).toBe('overloaded');
    const neighbour = ask('calm');
    await Promise.all([...flood, neighbour]);
    expect(queue.state()).toMatchObject({ length: 0, refused: 1 });
  });

  test('the known of one do not go before the strangers of another (attack 10.990)', async () => {
    const { order, ask, many } = lineOf();
    await Promise.all([...many(20, 'flooded', 10, 'known'), ask('calm')]);
    expect(order.indexOf('calm')).toBe(1);
  });

  test('shares are of time: one whose tasks take ten times as long has a tenth of the turns (attack 10.990)', async () => {
    const { order, many } = lineOf();
    await Promise.all([...many(40, 'dear', 20), ...many(40, 'cheap', 2)]);
    const fifth = order.map((name, at) => (name === 'dear' ? at : -1)).filter((at) => at >= 0)[4];
    // While four dear ones had their 80 ms, some forty cheap ones had theirs.
    expect(order.slice(0, fifth).filter((name) => name === 'cheap').length).toBeGreaterThanOrEqual(29);
  });

  test('one whose tasks are slow makes no neighbour be refused: what a neighbour would wait for is its own time (attack 10.990)', async () => {
    const { queue, ask, many } = lineOf();
    const slow = many(100, 'slow', 5_000);
    const refused = slow.map(settled);
    const neighbours = many(3, 'calm');
    expect(await Promise.all(neighbours.map(settled))).toEqual(['done', 'done', 'done']);
    await Promise.all(refused);
    expect(await settled(ask('calm'))).toBe('done');
    expect(queue.state().length).toBe(0);
  });

  test('who comes waits for its own time, and as much of every other’s, however much they have to do (attack 10.990)', async () => {
    // Works are taken to last 50 ms: of two floods one has a line of 1,050 ms, the other one of 550, where nobody waits longer than 1,000.
    const { queue, ask, end, started } = queueOf({ maxWaitMs: 1_000 });
    const waiting: Promise<unknown>[] = [];
    const line = async (environment_id: string) => {
      const before = queue.state().length;
      for (let i = 0; i < 40; i++) waiting.push(settled(ask('stranger', `${environment_id} ${i}`, environment_id)));
      return queue.state().length - before;
    };
    const first = ask('stranger', 'running', 'first');
    expect([await line('first'), await line('second')]).toEqual([21, 11]);
    // Each of its own counts three times: for itself, and for as much of the two others.
    expect(await line('calm')).toBe(7);
    expect(started).toEqual(['running']);
    const over = Promise.all([first, ...waiting]).then(() => true);
    while (!(await Promise.race([over, setImmediate(false)]))) started.forEach(end);
    expect(started).toHaveLength(1 + 21 + 11 + 7);
  });

  test('one that has gone owes what it has had: it is not next when it comes back (attack 10.990)', async () => {
    const { order, ask, many } = lineOf();
    const dear = ask('dear', 1_000);
    const cheap = many(40, 'cheap', 10);
    await dear;
    await Promise.all([ask('dear', 1_000), ...cheap]);
    expect(order).toEqual(['dear', ...Array.from({ length: 40 }, () => 'cheap'), 'dear']);
  });

  test('one that was idle while others were served has saved nothing up, and takes no more than its share (attack 10.990)', async () => {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const { ask, end, started } = queueOf({ concurrency: 2, maxWaitMs: 60_000 });
    const all = [ask('stranger', 'a1', 'busy'), ask('stranger', 'a2', 'busy')];
    const ended = async (name: string, ms: number) => {
      now += ms;
      end(name);
      await all[names.indexOf(name)];
    };
    const names = ['a1', 'a2'];
    const come = (name: string, environment_id: string) => {
      names.push(name);
      all.push(ask('stranger', name, environment_id));
    };
    await ended('a1', 1_000);
    come('c1', 'idle');
    await ended('c1', 1);
    come('a3', 'busy');
    for (const at of [4, 5, 6, 7]) come(`a${at}`, 'busy');
    for (const at of [2, 3, 4, 5]) come(`c${at}`, 'idle');
    await ended('a3', 10);
    for (let i = 0; i < 6; i++) await ended(started.at(-1) as string, 10);
    const next = started.slice(4, 10).map((name) => name[0]);
    expect([next.filter((name) => name === 'a').length, next.filter((name) => name === 'c').length]).toEqual([3, 3]);
    await expect.poll(() => (started.forEach(end), started.length)).toBe(names.length);
    started.forEach(end);
    await Promise.all(all);
  });

  test('one that comes back has saved nothing up', async () => {
    const { order, ask, many } = lineOf();
    await ask('idle');
    await Promise.all([...many(20, 'busy'), ...many(20, 'idle')]);
    expect(order.slice(1, 9).filter((name) => name === 'busy')).toHaveLength(4);
  });
});
