import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/config.js';
import { createBreachedPasswords, type BreachedPasswords } from '../../../src/domain/passwords/breached-passwords.js';
import { deadlineIn } from '../../../src/lib/deadline.js';
import { createMetrics } from '../../../src/platform/metrics/metrics.js';
import { sha1Of, startBreachMirror, type BreachMirror } from '../../support/breach-mirror.js';
import { createTestClock, freePort, type TestClock } from '../../support/service.js';
import { directoryOfFile } from '../../support/temporary-directory.js';

const leaked = 'a leaked password of many';
const unknown = 'a password that nobody has leaked';

let mirror: BreachMirror;
const folder = directoryOfFile();
let clock: TestClock;
let log: string[];
let metrics: ReturnType<typeof createMetrics>;
const opened: BreachedPasswords[] = [];

beforeEach(async () => {
  mirror = await startBreachMirror();
  mirror.known.set(leaked, 42);
  clock = createTestClock();
  log = [];
  metrics = createMetrics();
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await mirror.close();
});

function open(environment: Record<string, string>): BreachedPasswords {
  const logger = pino({ level: 'trace', base: null }, { write: (line: string) => void log.push(line) });
  const breachedPasswords = createBreachedPasswords(readConfig(environment), { clock, logger, metrics });
  opened.push(breachedPasswords);
  return breachedPasswords;
}

const ofMirror = (more: Record<string, string> = {}) => open({ BREACHED_PASSWORDS_URL: mirror.url, ...more });

async function listOf(name: string, passwords: readonly string[], end = '\n'): Promise<string> {
  const path = join(folder, name);
  const lines = passwords.map((password) => `${sha1Of(password)}:3`).sort();
  await writeFile(path, lines.map((line) => line + end).join(''));
  return path;
}

async function counted(): Promise<Record<string, number>> {
  const { values } = await metrics.breachedPasswordChecks.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels['result'], value]));
}

const events = () => log.map((line) => (JSON.parse(line) as { event: string; level: number }).event);

describe('the service', () => {
  test('is asked with five digits and for padding; what pads doesn’t count (attack 12.441)', async () => {
    const breached = ofMirror();
    mirror.known.set(unknown, 0);
    expect([await breached.check(leaked), await breached.check(unknown)]).toEqual(['breached', 'clean']);
    expect(mirror.asked.map(({ path }) => path)).toEqual([leaked, unknown].map((password) => `/range/${sha1Of(password).slice(0, 5)}`));
    for (const { headers } of mirror.asked) {
      expect(headers['add-padding']).toBe('true');
      expect(JSON.stringify(headers)).not.toContain(sha1Of(leaked).slice(5, 15));
    }
    expect(await counted()).toEqual({ breached: 1, clean: 1 });
    expect(log).toEqual([]);
  });

  test('finds a password however its letters are composed', async () => {
    mirror.known.set('crème brûlée à volonté'.normalize('NFC'), 1);
    expect(await ofMirror().check('crème brûlée à volonté'.normalize('NFD'))).toBe('breached');
  });

  test('that has no hash of a prefix answers with nothing, which is an answer', async () => {
    mirror.misbehave = (res) => void res.end('');
    expect(await ofMirror().check(unknown)).toBe('clean');
  });

  test.each<[string, NonNullable<BreachMirror['misbehave']>, string]>([
    ['is not HTTP', (res) => void res.socket?.end('nonsense\r\n\r\n'), 'protocol'],
    [
      'is a page',
      (res) => void res.setHeader('content-type', 'text/html').end('<!doctype html><title>Sign in to the network</title>'),
      'protocol',
    ],
    ['has half a line', (res) => void res.end(`${sha1Of(leaked).slice(5)}:1\r\n${'A'.repeat(20)}`), 'protocol'],
    ['is compressed', (res) => void res.setHeader('content-encoding', 'gzip').end(Buffer.from('1f8b0800', 'hex')), 'protocol'],
    ['is longer than 256 KiB', (res) => void res.end(`${'A'.repeat(35)}:1\r\n`.repeat(7000)), 'too_large'],
    ['has another status', (res) => void res.writeHead(503).end(), 'protocol'],
    ['leads elsewhere', (res) => void res.writeHead(302, { location: mirror.url }).end(), 'protocol'],
    ['is cut off', (res) => void res.socket?.destroy(), 'connect'],
  ])(
    'of which the answer %s has failed: the password is taken, and the log says so once (attack 12.442)',
    async (_title, misbehave, reason) => {
      const breached = ofMirror();
      mirror.misbehave = misbehave;
      expect(await breached.check(leaked)).toBe('failed');
      expect(await breached.check(leaked)).toBe('skipped');
      expect(mirror.asked).toHaveLength(1);
      expect(await counted()).toEqual({ failed: 1, skipped: 1 });
      expect(log.map((line) => JSON.parse(line) as object)).toEqual([
        expect.objectContaining({ event: 'breached_passwords.unchecked', source: 'service', reason, level: 40 }),
      ]);
    },
  );

  test('that is away fails at once; it is asked again after 30 s, and one outage is one warning', async () => {
    const port = await freePort();
    const breached = open({ BREACHED_PASSWORDS_URL: `http://127.0.0.1:${port}/range/` });
    expect(await breached.check(leaked)).toBe('failed');
    clock.advance(29_000);
    expect(await breached.check(leaked)).toBe('skipped');
    clock.advance(1_001);
    expect(await breached.check(leaked)).toBe('failed');
    expect(events()).toEqual(['breached_passwords.unchecked']);
    expect(log.join()).not.toContain('range');
  });

  test('that comes back is told, and a later outage is a warning of its own', async () => {
    const breached = ofMirror();
    mirror.misbehave = (res) => void res.writeHead(500).end();
    await breached.check(leaked);
    mirror.misbehave = null;
    clock.advance(30_001);
    expect(await breached.check(leaked)).toBe('breached');
    mirror.misbehave = (res) => void res.writeHead(500).end();
    await breached.check(leaked);
    expect(events()).toEqual(['breached_passwords.unchecked', 'breached_passwords.checked_again', 'breached_passwords.unchecked']);
  });

  test('that is slow is waited for 1.5 s, by everybody who asks meanwhile together, and then not asked for a while (attack 12.443)', async () => {
    const breached = ofMirror();
    mirror.misbehave = () => undefined;
    const started = performance.now();
    expect(await Promise.all(Array.from({ length: 200 }, () => breached.check(leaked)))).toEqual(Array<string>(200).fill('failed'));
    expect(performance.now() - started).toBeGreaterThan(1400);
    expect(mirror.asked).toHaveLength(1);
    expect(await breached.check(leaked)).toBe('skipped');
    expect(mirror.asked).toHaveLength(1);
    expect(events()).toEqual(['breached_passwords.unchecked']);
  });

  test('is asked over 16 connections at most; of more than 64 different passwords at once the others are not looked for', async () => {
    const breached = ofMirror();
    const held: (() => void)[] = [];
    let most = 0;
    mirror.misbehave = (res) => {
      held.push(() => res.end(''));
      most = Math.max(most, held.length);
    };
    const checks = Array.from({ length: 100 }, (_, i) => breached.check(`${unknown} ${i}`));
    let settled = false;
    const all = Promise.all(checks).finally(() => (settled = true));
    while (!settled) {
      if (held.length === 16 || mirror.asked.length > 48) for (const release of held.splice(0)) release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const results = await all;
    expect(most).toBe(16);
    expect(results.filter((result) => result === 'clean')).toHaveLength(64);
    expect(results.filter((result) => result === 'skipped')).toHaveLength(36);
    expect(events()).toEqual([]);
    mirror.misbehave = null;
    expect(await breached.check(leaked)).toBe('breached');
  });

  test('isn’t waited for beyond the time of a request, and that is no failure of the service', async () => {
    const breached = ofMirror();
    mirror.misbehave = () => undefined;
    // After 1.5 s it would be `failed`.
    expect(await breached.check(leaked, deadlineIn(100))).toBe('skipped');
    expect(await breached.check(unknown, deadlineIn(0))).toBe('skipped');
    expect(mirror.asked.filter(({ path }) => path.endsWith(sha1Of(unknown).slice(0, 5)))).toEqual([]);
    expect(events()).toEqual([]);
  });
});

describe('the file', () => {
  test('is asked first, and the service only for what it doesn’t have', async () => {
    const breached = ofMirror({ BREACHED_PASSWORDS_FILE: await listOf('first.txt', ['only in the file', 'another']) });
    expect(await breached.check('only in the file')).toBe('breached');
    expect(mirror.asked).toEqual([]);
    expect([await breached.check(leaked), await breached.check(unknown)]).toEqual(['breached', 'clean']);
    expect(mirror.asked).toHaveLength(2);
  });

  test('is asked alone where the service is off', async () => {
    const breached = open({ BREACHED_PASSWORDS_URL: 'off', BREACHED_PASSWORDS_FILE: await listOf('alone.txt', [leaked], '\r\n') });
    expect([await breached.check(leaked), await breached.check(unknown)]).toEqual(['breached', 'clean']);
    expect(await counted()).toEqual({ breached: 1, clean: 1 });
  });

  test('that has gone since the start is one warning; the service still finds what it knows', async () => {
    const path = await listOf('gone.txt', [unknown]);
    const breached = ofMirror({ BREACHED_PASSWORDS_FILE: path });
    await rm(path);
    expect([await breached.check(leaked), await breached.check(unknown), await breached.check(unknown)]).toEqual([
      'breached',
      'failed',
      'failed',
    ]);
    expect(log.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ event: 'breached_passwords.unchecked', source: 'file', reason: 'ENOENT' }),
    ]);
    await listOf('gone.txt', [unknown]);
    expect(await breached.check(unknown)).toBe('breached');
    expect(events().at(-1)).toBe('breached_passwords.checked_again');
  });

  test('that can’t be used ends the start, with a sentence that names it and none of its content', async () => {
    const path = join(folder, 'plain.txt');
    await writeFile(path, 'hunter2hunter2\n');
    const refused = () => open({ BREACHED_PASSWORDS_FILE: path });
    expect(refused).toThrow(ConfigError);
    expect(refused).toThrow(`BREACHED_PASSWORDS_FILE must have one SHA-1:COUNT a line: the one at byte 0 is something else (${path})`);
    expect(() => open({ BREACHED_PASSWORDS_FILE: join(folder, 'missing.txt') })).toThrow('BREACHED_PASSWORDS_FILE can not be read: ENOENT');
  });
});

describe('addresses', () => {
  test('while the service is off and there is no file nobody is asked and nothing counted', async () => {
    expect(await open({}).check(leaked)).toBe('clean');
    expect(await open({ BREACHED_PASSWORDS_URL: 'off', BASE_URL: 'https://id.example.com' }).check(leaked)).toBe('clean');
    expect(await counted()).toEqual({});
  });

  test('the mirror may be in the private network where webhooks may not go', async () => {
    const breached = ofMirror({ BASE_URL: 'https://id.example.com', ALLOW_PRIVATE_NETWORK: 'off' });
    expect(await breached.check(leaked)).toBe('breached');
  });

  test('an address that is never asked is told at the start (attack 12.444)', () => {
    for (const url of ['http://169.254.169.254/range/', 'http://metadata.google.internal/range/', 'http://127.0.0.1:5432/range/'])
      expect(() => open({ BREACHED_PASSWORDS_URL: url })).toThrow('BREACHED_PASSWORDS_URL can not be asked');
  });
});
