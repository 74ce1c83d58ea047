import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Knex } from 'knex';
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, onTestFinished, test as always } from 'vitest';
import { sharedDatabase } from '../../support/shared-service.js';
import { createKnex } from '../../../src/db/connection/knex.js';
import { deleteExpiredRateLimits } from '../../../src/db/tables/rate_limits.js';
import { createRedisStore } from '../../../src/http/limits/rate-limit-redis.js';
import {
  createMemoryStore,
  createPostgresStore,
  keyDigest,
  type ProofUses,
  type RateLimitStore,
} from '../../../src/http/limits/rate-limit-stores.js';
import { createLimiter } from '../../../src/http/limits/rate-limiter.js';
import { createAdjustableClock } from '../../../src/platform/clock.js';
import { locate, needs } from '../../support/programs.js';

const redisServer = locate('redis-server');
const stores = new Map<string, RateLimitStore>();
const clock = createAdjustableClock();
let knex: Knex;
let redis: ChildProcess | null = null;
let directory: string | null = null;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

const spawnRedis = (port: number) =>
  spawn(redisServer as string, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory as string], {
    stdio: 'ignore',
  });

const database = sharedDatabase();
beforeAll(async () => {
  knex = createKnex({ url: database.url, poolMax: 5 });
  stores.set('postgres', createPostgresStore(knex, clock));
  stores.set('memory', createMemoryStore());
  if (!redisServer) return;
  directory = await mkdtemp(join(tmpdir(), 'redis-'));
  const port = await freePort();
  redis = spawnRedis(port);
  // The first connection may come before Redis listens: the store connects again by itself.
  stores.set('redis', createRedisStore({ url: `redis://127.0.0.1:${port}`, onError: () => {} }));
});
afterAll(async () => {
  for (const store of stores.values()) await store.close();
  redis?.kill('SIGKILL');
  if (directory) await rm(directory, { recursive: true, force: true });
  await knex.destroy();
});

const newKey = () => randomBytes(32).toString('hex');
const ten = { limit: 10, windowSeconds: 60 };

describe.each(['postgres', 'memory', 'redis'])('the %s store', (name) => {
  const test = name === 'redis' ? needs('redis-server') : always;
  const store = () => stores.get(name)!;

  test('counts each request once, however many come at once', async () => {
    const key = newKey();
    const counted = await Promise.all(Array.from({ length: 40 }, () => store().increment(key, ten)));
    expect(counted.map(({ hits }) => hits).sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    for (const { reset_ms } of counted) {
      expect(reset_ms).toBeGreaterThan(50_000);
      expect(reset_ms).toBeLessThanOrEqual(60_000);
    }
    expect((await store().increment(newKey(), ten)).hits).toBe(1);
  });

  test('a window begins anew when the last one is over, and no earlier than was told', async () => {
    const key = newKey();
    const short = { limit: 3, windowSeconds: 1 };
    const started = performance.now();
    const { reset_ms } = await store().increment(key, short);
    expect(reset_ms).toBeLessThanOrEqual(1000);
    let most = 1;
    for (let next = 0; next !== 1; most = Math.max(most, next)) next = (await store().increment(key, short)).hits;
    expect(most).toBeGreaterThan(1);
    // The store's clock is not this one, and may round.
    expect(performance.now() - started).toBeGreaterThanOrEqual(995);
  });

  test('two replicas share one limit, a high one too', async () => {
    const shared = name === 'postgres' ? [0, 1].map(() => createPostgresStore(knex, clock)) : [store(), store()];
    const replicas = shared.map((one) => createLimiter({ store: one, enabled: true, clock }));
    const key = newKey();
    let allowed = 0;
    for (let i = 0; i < 400; i++) if ((await replicas[i % 2]!.take(key, { limit: 200, windowSeconds: 60 })).allowed) allowed++;
    expect(allowed).toBe(200);
  });
});

describe('leases of the PostgreSQL store', () => {
  /** Takes `count` at each of so many processes in turn. @returns how many are within the limit, and the statements that it took */
  async function taken(processes: number, count: number, limit: number, key = newKey()) {
    const opened = createKnex({ url: database.url, poolMax: 2 });
    onTestFinished(() => opened.destroy());
    let statements = 0;
    opened.on('query', () => void statements++);
    const replicas = Array.from({ length: processes }, () => createPostgresStore(opened, clock));
    let within = 0;
    for (let i = 0; i < count; i++) {
      const { hits } = await replicas[i % processes]!.increment(key, { limit, windowSeconds: 60 });
      if (hits <= limit) within++;
    }
    return { within, statements };
  }

  always('a high limit costs few statements, and is never exceeded', async () => {
    const { within, statements } = await taken(1, 1100, 1000);
    expect(within).toBe(1000);
    expect(statements).toBeLessThan(150);
  });

  always('a low limit, and one that is hardly used, are counted one by one', async () => {
    expect(await taken(1, 10, 10)).toEqual({ within: 10, statements: 10 });
    expect(await taken(1, 1, 1_000_000)).toEqual({ within: 1, statements: 1 });
  });

  always('what a process that comes no more has leased is at most a twentieth of the limit', async () => {
    const key = newKey();
    await taken(1, 12, 100, key);
    const { within } = await taken(1, 110, 100, key);
    expect(within).toBeLessThanOrEqual(88);
    expect(within).toBeGreaterThanOrEqual(88 - 5);
  });

  always('a limit as high as can be set is counted by as many processes as there may be (attack 19.1154)', async () => {
    expect(await taken(50, 100, 9_999_999_990)).toEqual({ within: 100, statements: 100 });
  });

  always('a window of before the database’s clock was set back is over', async () => {
    const key = newKey();
    await taken(1, 11, 10, key);
    await knex('rate_limits')
      .where('key', keyDigest(key))
      .update({ expires_at: knex.raw("now() + interval '1 hour'") });
    expect(await createPostgresStore(knex, clock).increment(key, ten)).toMatchObject({ hits: 1 });
  });
});

always('rows of the past are deleted in batches, live ones are kept', async () => {
  const store = createPostgresStore(knex, clock);
  await knex('rate_limits').delete();
  for (let i = 0; i < 5; i++) await store.increment(newKey(), ten);
  await knex('rate_limits').update({ expires_at: knex.raw("now() - interval '1 minute'") });
  await store.increment(newKey(), ten);
  expect(await deleteExpiredRateLimits(knex, 3)).toBe(3);
  expect(await deleteExpiredRateLimits(knex, 3)).toBe(2);
  expect(await deleteExpiredRateLimits(knex, 3)).toBe(0);
  expect(await knex('rate_limits').count()).toEqual([{ count: 1 }]);
});

always('the memory store holds a hundred thousand callers, and forgets the one that has been away longest (attack 19.1150)', async () => {
  const store = createMemoryStore();
  onTestFinished(() => store.close());
  const [away, back] = [newKey(), newKey()];
  for (const key of [away, back]) await store.increment(key, ten);
  for (let i = 2; i < 100_000; i++) await store.increment(String(i), ten);
  expect((await store.increment(back, ten)).hits).toBe(2);
  await store.increment(newKey(), ten);
  expect((await store.increment(back, ten)).hits).toBe(3);
  expect((await store.increment(away, ten)).hits).toBe(1);
});

describe('what may happen once, in Redis', () => {
  const test = needs('redis-server');
  const store = () => stores.get('redis') as RateLimitStore & ProofUses;

  test('happens once, however many ask at the same time, and each key for itself (attack 27.461)', async () => {
    const key = randomBytes(32);
    const asked = await Promise.all(Array.from({ length: 20 }, () => store().once(key, 60_000)));
    expect(asked.filter((first) => first)).toHaveLength(1);
    expect(await store().once(key, 60_000)).toBe(false);
    expect(await store().once(randomBytes(32), 60_000)).toBe(true);
  });

  test('is forgotten when its time is up', async () => {
    const key = randomBytes(32);
    expect(await store().once(key, 20)).toBe(true);
    await expect.poll(() => store().once(key, 20), { interval: 30 }).toBe(true);
  });
});

describe('a store that is down (attack 19.222)', () => {
  const down: Record<string, () => RateLimitStore> = {
    redis: () => createRedisStore({ url: 'redis://127.0.0.1:1', onError: () => {} }),
    postgres: () => createPostgresStore(createKnex({ url: 'postgres://127.0.0.1:1/none', poolMax: 1 }), clock),
  };
  always.each(Object.keys(down))('is an error, not an answer: %s', async (name) => {
    const limiter = createLimiter({ store: down[name]!(), enabled: true, clock });
    onTestFinished(() => limiter.close());
    const asked = await Promise.allSettled(Array.from({ length: 5 }, () => limiter.take('any', ten)));
    expect(asked.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  });

  /** A Redis of its own, with a store at it that has counted, and a client of the test. */
  async function ownRedis() {
    const port = await freePort();
    const server = spawnRedis(port);
    onTestFinished(() => void server.kill('SIGKILL'));
    const url = `redis://127.0.0.1:${port}`;
    const client = createClient({ url }).on('error', () => {});
    await client.connect();
    onTestFinished(() => client.destroy());
    const store = createRedisStore({ url, onError: () => {} });
    onTestFinished(() => store.close());
    await store.increment(newKey(), ten);
    return { server, client, store };
  }

  needs('redis-server')('counts again after Redis has lost its scripts and not taken them at once (attack 19.1151)', async () => {
    const { client, store } = await ownRedis();
    await client.sendCommand(['ACL', 'SETUSER', 'default', '-script|load']);
    await client.sendCommand(['SCRIPT', 'FLUSH']);
    await expect(store.increment(newKey(), ten)).rejects.toThrow(/./);
    await client.sendCommand(['ACL', 'SETUSER', 'default', '+script|load']);
    expect(await store.increment(newKey(), ten)).toMatchObject({ hits: 1 });
  });

  needs('redis-server')('keeps ten thousand questions for a Redis that hangs, and no more (attack 19.1152)', async () => {
    const { server, store } = await ownRedis();
    server.kill('SIGSTOP');
    // What a slow machine has not asked or answered in time is an error of its own: only who found no room counts.
    const outcome = () => store.increment(newKey(), ten).then(String, ({ cause }: Error) => String(cause));
    const asked = Array.from({ length: 10_000 }, outcome);
    expect(await outcome()).toContain('queue is full');
    server.kill('SIGCONT');
    expect((await Promise.all(asked)).filter((one) => one.includes('queue is full'))).toEqual([]);
  });

  needs('redis-server')(
    'counts again once Redis is there, and after it has lost all that it knew',
    async () => {
      const port = await freePort();
      const started = () => spawnRedis(port);
      const late = createRedisStore({ url: `redis://127.0.0.1:${port}`, onError: () => {} });
      onTestFinished(() => late.close());
      await expect(late.increment(newKey(), ten)).rejects.toThrow(/./);
      for (const key of [newKey(), newKey()]) {
        const server = started();
        onTestFinished(() => void server.kill('SIGKILL'));
        await expect
          .poll(() =>
            late.increment(key, ten).then(
              ({ hits }) => hits > 0,
              () => false,
            ),
          )
          .toBe(true);
        server.kill('SIGSTOP');
        await expect(late.increment(key, ten)).rejects.toThrow(/./);
        server.kill('SIGKILL');
        await once(server, 'exit');
        await expect(late.increment(key, ten)).rejects.toThrow(/./);
      }
    },
    60_000,
  );
});
