import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, test as always } from 'vitest';
import { createKnex } from '../../../src/db/connection/knex.js';
import { deleteExpiredRateLimits, type RateLimitDemand } from '../../../src/db/tables/rate_limits.js';
import { createRedisStore } from '../../../src/http/limits/rate-limit-redis.js';
import { createMemoryStore, createPostgresStore, type ProofUses, type RateLimitStore } from '../../../src/http/limits/rate-limit-stores.js';
import { createLimiter } from '../../../src/http/limits/rate-limiter.js';
import { createAdjustableClock } from '../../../src/platform/clock.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { locate, needs } from '../../support/programs.js';

const redisServer = locate('redis-server');
const stores = new Map<string, RateLimitStore>();
let database: TestDatabase;
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

beforeAll(async () => {
  database = await createTestDatabase();
  knex = createKnex({ url: database.url, poolMax: 5 });
  stores.set('postgres', createPostgresStore(knex));
  stores.set('memory', createMemoryStore({ clock: createAdjustableClock() }));
  if (!redisServer) return;
  directory = await mkdtemp(join(tmpdir(), 'redis-'));
  const port = await freePort();
  redis = spawn(redisServer, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', directory], { stdio: 'ignore' });
  // The first connection may come before Redis listens: the store connects again by itself.
  stores.set('redis', createRedisStore({ url: `redis://127.0.0.1:${port}`, onError: () => {} }));
});
afterAll(async () => {
  for (const store of stores.values()) await store.close();
  redis?.kill('SIGKILL');
  if (directory) await rm(directory, { recursive: true, force: true });
  await knex.destroy();
  await database.drop();
});

const newKey = () => createHash('sha256').update(randomBytes(16)).digest();
const demand = (changes: Partial<RateLimitDemand> = {}): RateLimitDemand => ({
  limit: 10,
  window_ms: 60_000,
  cost: 1,
  wanted: 1,
  lease_ms: 0,
  refund: 0,
  refund_at: 0,
  ...changes,
});

describe.each(['postgres', 'memory', 'redis'])('the %s store', (name) => {
  const test = name === 'redis' ? needs('redis-server') : always;
  const store = () => stores.get(name)!;

  test('grants the limit exactly, however many ask at once', async () => {
    const key = newKey();
    const grants = await Promise.all(Array.from({ length: 40 }, () => store().take(key, demand())));
    expect(grants.filter(({ granted }) => granted === 1)).toHaveLength(10);
    const refused = grants.filter(({ granted }) => granted === 0);
    for (const { retry_ms, reset_ms, remaining } of refused) {
      expect(remaining).toBe(0);
      expect(retry_ms).toBeGreaterThan(50_000);
      expect(retry_ms).toBeLessThanOrEqual(60_000);
      expect(reset_ms).toBeGreaterThanOrEqual(retry_ms);
    }
  });

  test('counts down, looks without counting, and keeps keys apart', async () => {
    const key = newKey();
    expect(await store().take(key, demand({ cost: 0 }))).toMatchObject({ granted: 0, remaining: 10, retry_ms: 0, reset_ms: 0 });
    expect(await store().take(key, demand())).toMatchObject({ granted: 1, remaining: 9, retry_ms: 0 });
    expect(await store().take(key, demand({ cost: 4, wanted: 4 }))).toMatchObject({ granted: 4, remaining: 5 });
    expect(await store().take(key, demand({ cost: 6, wanted: 6 }))).toMatchObject({ granted: 0, remaining: 5 });
    expect(await store().take(key, demand({ cost: 0 }))).toMatchObject({ granted: 0, remaining: 5, retry_ms: 0 });
    expect(await store().take(newKey(), demand())).toMatchObject({ granted: 1, remaining: 9 });
  });

  test('no sliding window ever holds more than the limit', async () => {
    const key = newKey();
    const granted: { asked: number; answered: number }[] = [];
    const until = performance.now() + 1500;
    while (performance.now() < until) {
      const asked = performance.now();
      const { granted: count } = await store().take(key, demand({ limit: 5, window_ms: 400 }));
      if (count > 0) granted.push({ asked, answered: performance.now() });
    }
    expect(granted.length).toBeGreaterThanOrEqual(15);
    // A grant happens between question and answer; the store's clock is not this one, and may round.
    for (const [i, sixth] of granted.slice(5).entries()) expect(sixth.answered - granted[i]!.asked).toBeGreaterThanOrEqual(395);
  });

  test('what it tells to wait is enough', async () => {
    const key = newKey();
    const small = demand({ limit: 2, window_ms: 300 });
    await store().take(key, small);
    await store().take(key, small);
    const { granted, retry_ms } = await store().take(key, small);
    expect(granted).toBe(0);
    await delay(retry_ms + 2);
    expect((await store().take(key, small)).granted).toBe(1);
  });

  test('leases shrink towards the end of the limit and are given back', async () => {
    const key = newKey();
    const lease = demand({ limit: 100, wanted: 50, lease_ms: 1000 });
    const first = await store().take(key, lease);
    expect(first).toMatchObject({ granted: 25, remaining: 75 });
    const second = await store().take(key, { ...lease, refund: 20, refund_at: first.leased_at });
    expect(second).toMatchObject({ granted: 23, remaining: 72 });
    const back = await store().take(key, { ...lease, cost: 0, wanted: 0, refund: 23, refund_at: second.leased_at });
    expect(back).toMatchObject({ granted: 0, remaining: 95 });
    let total = 5;
    for (let grant = await store().take(key, lease); grant.granted > 0; grant = await store().take(key, lease)) total += grant.granted;
    expect(total).toBe(100);
  });

  test('a long history stays small and exact', async () => {
    const key = newKey();
    let total = 0;
    for (let i = 0; i < 120; i++) total += (await store().take(key, demand({ limit: 100 }))).granted;
    expect(total).toBe(100);
    expect((await store().take(key, demand({ limit: 100 }))).remaining).toBe(0);
  });

  test('two replicas with leases share one limit', async () => {
    const shared = store();
    const borrowed = { ...shared, close: async () => {} };
    const replicas = [createLimiter({ store: borrowed, enabled: true }), createLimiter({ store: borrowed, enabled: true })];
    const key = newKey().toString('hex');
    let allowed = 0;
    for (let i = 0; i < 400; i++) {
      if ((await replicas[i % 2]!.take(key, { limit: 200, windowSeconds: 60 })).allowed) allowed++;
    }
    expect(allowed).toBeLessThanOrEqual(200);
    expect(allowed).toBeGreaterThan(180);
    for (const replica of replicas) await replica.close();
  });
});

always('rows of the past are deleted in batches, live ones are kept', async () => {
  const store = createPostgresStore(knex);
  await knex('rate_limits').delete();
  for (let i = 0; i < 5; i++) await store.take(newKey(), demand());
  await knex('rate_limits').update({ expires_at: knex.raw("now() - interval '1 minute'") });
  await store.take(newKey(), demand());
  expect(await deleteExpiredRateLimits(knex, 3)).toBe(3);
  expect(await deleteExpiredRateLimits(knex, 3)).toBe(2);
  expect(await deleteExpiredRateLimits(knex, 3)).toBe(0);
  expect(await knex('rate_limits').count()).toEqual([{ count: 1 }]);
});

describe('what may happen once, in Redis', () => {
  const test = needs('redis-server');
  const store = () => stores.get('redis') as RateLimitStore & ProofUses;

  test('happens once, however many ask at the same time, and each key for itself (attack 27.461)', async () => {
    const key = newKey();
    const asked = await Promise.all(Array.from({ length: 20 }, () => store().once(key, 60_000)));
    expect(asked.filter((first) => first)).toHaveLength(1);
    expect(await store().once(key, 60_000)).toBe(false);
    expect(await store().once(newKey(), 60_000)).toBe(true);
  });

  test('is forgotten when its time is up', async () => {
    const key = newKey();
    expect(await store().once(key, 20)).toBe(true);
    await expect.poll(() => store().once(key, 20), { timeout: 5000, interval: 30 }).toBe(true);
  });
});

always('a store that is down is an error, not an answer (attack 19.222)', async () => {
  const store = createRedisStore({ url: 'redis://127.0.0.1:1', onError: () => {} });
  const limiter = createLimiter({ store, enabled: true });
  await expect(limiter.take('any', { limit: 10, windowSeconds: 60 })).rejects.toThrow(/./);
  await expect(limiter.peek('any', { limit: 10, windowSeconds: 60 })).rejects.toThrow(/./);
  await limiter.close();
});
