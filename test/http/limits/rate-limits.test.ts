import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import express, { type ErrorRequestHandler } from 'express';
import request from 'supertest';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { RateLimitedError } from '../../../src/errors.js';
import { createMemoryStore, type RateLimitStore } from '../../../src/http/limits/rate-limit-stores.js';
import { createLimiter, type Limiter } from '../../../src/http/limits/rate-limiter.js';
import { addressKey, addressWindows, limitBy, limitByAddress, networkKey } from '../../../src/http/limits/rate-limits.js';
import { createAdjustableClock } from '../../../src/platform/clock.js';
import { createTokenLimit, type TokenCaller } from '../../../src/http/auth/token-limit.js';

/** The store of one process, and how often it was asked. */
function countedStore() {
  const memory = createMemoryStore();
  const counted = { asked: 0 };
  const increment: RateLimitStore['increment'] = (key, limit) => {
    counted.asked++;
    return memory.increment(key, limit);
  };
  return { counted, store: { ...memory, increment } };
}

const open: Limiter[] = [];
function limiterOf(store: RateLimitStore, enabled = true): Limiter {
  const limiter = createLimiter({ store, enabled, clock: createAdjustableClock() });
  open.push(limiter);
  return limiter;
}
// Time stands still unless a test moves it.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
afterEach(async () => {
  vi.useRealTimers();
  for (const limiter of open.splice(0)) await limiter.close();
});

describe('the limiter', () => {
  const ten = { limit: 10, windowSeconds: 60 };

  test('allows the limit, then refuses with the time to wait, then allows again', async () => {
    const limiter = limiterOf(countedStore().store);
    for (let i = 9; i >= 0; i--) {
      const verdict = { allowed: true, limit: 10, remaining: i, window_seconds: 60, reset_seconds: 51 + i };
      expect(await limiter.take('a', ten)).toEqual(verdict);
      vi.advanceTimersByTime(1000);
    }
    expect(await limiter.take('a', ten)).toMatchObject({ allowed: false, remaining: 0, reset_seconds: 50 });
    expect((await limiter.take('b', ten)).allowed).toBe(true);
    vi.advanceTimersByTime(49_000);
    expect(await limiter.take('a', ten)).toMatchObject({ allowed: false, reset_seconds: 1 });
    vi.advanceTimersByTime(1000);
    expect((await limiter.take('a', ten)).remaining).toBe(9);
  });

  test('a refused caller costs the store nothing more until its window ends', async () => {
    const { store, counted } = countedStore();
    const limiter = limiterOf(store);
    for (let i = 0; i < 1000; i++) await limiter.take('a', ten);
    expect(counted.asked).toBe(11);
  });

  test('a burst at once gets exactly the limit', async () => {
    const limiter = limiterOf(countedStore().store);
    const verdicts = await Promise.all(Array.from({ length: 100 }, () => limiter.take('a', ten)));
    expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(10);
  });

  test('windows of one key and two lengths are two', async () => {
    const limiter = limiterOf(countedStore().store);
    await limiter.take('a', ten);
    expect(await limiter.take('a', { limit: 10, windowSeconds: 3600 })).toMatchObject({ remaining: 9, reset_seconds: 3600 });
  });

  test('what is used up is known without counting or asking, for as long as the window lasts', async () => {
    const { store, counted } = countedStore();
    const limiter = limiterOf(store);
    for (let i = 0; i < 10; i++) {
      expect(limiter.refusal('a', ten)).toBeNull();
      await limiter.take('a', ten);
    }
    expect(limiter.refusal('a', ten)).toMatchObject({ allowed: false, remaining: 0, reset_seconds: 60 });
    expect(limiter.refusal('b', ten)).toBeNull();
    expect(counted.asked).toBe(10);
  });

  test('switched off it allows everything and asks nobody', async () => {
    const { store, counted } = countedStore();
    const limiter = limiterOf(store, false);
    for (let i = 0; i < 50; i++) expect((await limiter.take('a', ten)).allowed).toBe(true);
    expect(counted.asked).toBe(0);
  });
});

describe('callers', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:c000:207', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::1', '::/64'],
    [undefined, 'unknown'],
    ['not an address', 'unknown'],
  ])('%s counts as %s (attack 19.219)', (ip, key) => expect(addressKey(ip)).toBe(key));

  test.each([
    ['192.0.2.7', null],
    ['::ffff:192.0.2.7', null],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:db8:1:ffff::9', '2001:db8:1::/48'],
    ['2001:db8:2:2::9', '2001:db8:2::/48'],
    [undefined, null],
    ['not an address', null],
  ])('%s counts, wider, as %s (attack 19.997)', (ip, key) => expect(networkKey(ip)).toBe(key));

  test('an IPv6 address has a window of its network beside its own, ten times as wide; an IPv4 address has none (attack 19.997)', () => {
    const limit = { limit: 3, windowSeconds: 60 };
    expect(addressWindows('2001:db8:1:2::9', limit)).toEqual([
      { key: '2001:db8:1:2::/64', limit },
      { key: '2001:db8:1::/48', limit: { limit: 30, windowSeconds: 60 } },
    ]);
    expect(addressWindows('192.0.2.7', limit)).toEqual([{ key: '192.0.2.7', limit }]);
  });

  test('nothing in the source counts by an address without its network (attack 19.997)', async () => {
    const names = (await readdir('src', { recursive: true })).filter((name) => name.endsWith('.ts'));
    const found = await Promise.all(
      names.map(async (name) => ((await readFile(join('src', name), 'utf8')).includes('addressKey(') ? [name] : [])),
    );
    expect(names.length).toBeGreaterThan(500);
    expect(found.flat().sort()).toEqual(['app.ts', 'http/limits/rate-limits.ts', 'oauth/device/page.ts']);
    for (const name of ['app.ts', 'oauth/device/page.ts']) expect(await readFile(join('src', name), 'utf8')).toContain('networkKey(');
  });
});

const render: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
  if (error instanceof RateLimitedError) res.status(429).set('Retry-After', String(error.retry_after)).end();
  else res.status(503).end();
};

describe('the middleware', () => {
  function appOf(limiter: Limiter) {
    const app = express();
    const web = { limiter };
    app.use(limitBy(web, { name: 'address', limit: { limit: 5, windowSeconds: 60 }, key: (req) => addressKey(req.ip) }));
    app.use(limitBy(web, { name: 'email', limit: { limit: 2, windowSeconds: 30 }, key: (req) => (req.query['email'] as string) ?? null }));
    app.get('/', (_req, res) => void res.send('in'));
    app.use(render);
    return app;
  }

  test('counts each caller apart, shows the tightest limit and refuses with Retry-After', async () => {
    const app = appOf(limiterOf(countedStore().store));
    const first = await request(app).get('/');
    expect(first.status).toBe(200);
    expect(first.headers).toMatchObject({
      'ratelimit-limit': '5',
      'ratelimit-remaining': '4',
      'ratelimit-reset': '60',
      'ratelimit-policy': '5;w=60',
    });
    const second = await request(app).get('/?email=a');
    expect(second.headers).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '1', 'ratelimit-policy': '2;w=30' });
    await request(app).get('/?email=a');
    const refused = await request(app).get('/?email=a');
    expect(refused.status).toBe(429);
    expect(refused.headers).toMatchObject({ 'retry-after': '30', 'ratelimit-remaining': '0', 'ratelimit-limit': '2' });
    expect((await request(app).get('/?email=b')).status).toBe(200);
    const blocked = await request(app).get('/');
    expect(blocked.status).toBe(429);
    expect(blocked.headers).toMatchObject({ 'retry-after': '60', 'ratelimit-remaining': '0', 'ratelimit-limit': '5' });
  });

  test('who has a /48 has ten times what a /64 has, from however many of them; others are counted apart (attack 19.997)', async () => {
    const app = express();
    app.set('trust proxy', true);
    const web = { limiter: limiterOf(countedStore().store) };
    app.use(limitByAddress(web, { name: 'address', limit: { limit: 5, windowSeconds: 60 }, key: (_req, address) => address }));
    app.get('/', (_req, res) => void res.send('in'));
    app.use(render);
    const from = async (ip: string) => (await request(app).get('/').set('x-forwarded-for', ip)).status;
    const statuses: number[] = [];
    for (let i = 0; i < 52; i++) statuses.push(await from(`2001:db8:1:${i.toString(16)}::1`));
    expect(statuses).toEqual([...Array.from({ length: 50 }, () => 200), 429, 429]);
    expect(await from('2001:db8:2::1')).toBe(200);
    // Of one /64 five as before, and IPv4 has no wider window.
    for (let i = 0; i < 4; i++) await from('2001:db8:2::1');
    expect(await from('2001:db8:2::2')).toBe(429);
    for (let i = 0; i < 60; i++) expect(await from(`192.0.2.${i}`)).toBe(200);
  });

  test('a store that is down lets nobody through (attack 19.222)', async () => {
    const { store } = countedStore();
    const app = appOf(limiterOf({ ...store, increment: () => Promise.reject(new Error('store down')) }));
    expect((await request(app).get('/')).status).toBe(503);
  });

  test('switched off it shows no limit', async () => {
    const app = appOf(limiterOf(countedStore().store, false));
    for (let i = 0; i < 8; i++) expect((await request(app).get('/')).status).toBe(200);
    expect((await request(app).get('/')).headers['ratelimit-limit']).toBeUndefined();
  });
});

describe('the token endpoint', () => {
  const base = { limit: 3, windowSeconds: 60 };
  const plain: TokenCaller = { environment_id: 'e', client_id: 'plain', ip: '192.0.2.1', token_rate_limit: null, is_poll: false };
  const busy: TokenCaller = { environment_id: 'e', client_id: 'busy', ip: '192.0.2.1', token_rate_limit: 200, is_poll: false };

  function appOf(limiter: Limiter, caller: TokenCaller) {
    const limits = createTokenLimit(limiter, base);
    const app = express();
    app.get('/', async (req, res) => {
      await limits.admit(res, caller);
      const right = req.query['secret'] === 'right';
      await (right ? limits.succeeded(res, caller) : limits.failed(res, caller));
      res.status(right ? 200 : 401).end();
    });
    app.use(render);
    return async (secret: string) => {
      const answer = await request(app).get('/').query({ secret });
      return answer.status === 429 ? `429 ${answer.headers['retry-after']}` : String(answer.status);
    };
  }

  test('a client is limited whatever it presents', async () => {
    const ask = appOf(limiterOf(countedStore().store), plain);
    expect([await ask('right'), await ask('wrong'), await ask('right'), await ask('right'), await ask('wrong')]).toEqual([
      '200',
      '401',
      '200',
      '429 60',
      '429 60',
    ]);
  });

  test('clients and addresses are counted apart', async () => {
    const limiter = limiterOf(countedStore().store);
    const ask = appOf(limiter, plain);
    for (let i = 0; i < 4; i++) await ask('right');
    expect(await ask('right')).toBe('429 60');
    expect(await appOf(limiter, { ...plain, client_id: 'other' })('right')).toBe('200');
    expect(await appOf(limiter, { ...plain, ip: '192.0.2.2' })('right')).toBe('200');
    expect(await appOf(limiter, { ...plain, environment_id: 'f' })('right')).toBe('200');
    expect(await appOf(limiter, { ...plain, ip: '::ffff:192.0.2.1' })('right')).toBe('429 60');
  });

  test('who has a /48 has ten times what a /64 has, whatever it presents (attack 19.997)', async () => {
    const limiter = limiterOf(countedStore().store);
    const statuses: string[] = [];
    for (let i = 0; i < 31; i++) statuses.push(await appOf(limiter, { ...plain, ip: `2001:db8:1:${i}::1` })('right'));
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => '200'), '429 60']);
    expect(await appOf(limiter, { ...plain, ip: '2001:db8:2::1' })('right')).toBe('200');
  });

  test('a raised limit counts what has authenticated', async () => {
    const ask = appOf(limiterOf(countedStore().store), busy);
    for (let i = 0; i < 200; i++) expect(await ask('right')).toBe('200');
    expect(await ask('right')).toBe('429 60');
  });

  test('claiming to be a client with a raised limit buys no guesses', async () => {
    const ask = appOf(limiterOf(countedStore().store), busy);
    expect([await ask('wrong'), await ask('wrong'), await ask('wrong')]).toEqual(['401', '401', '401']);
    expect(await ask('wrong')).toBe('429 60');
    expect(await ask('right')).toBe('429 60');
  });
});
