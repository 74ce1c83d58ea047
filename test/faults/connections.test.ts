// Callers that take connections and give nothing for them: more than there are file descriptors (fault F36), answers that nobody reads (fault F37),
// requests that don't end (fault F38).
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.js';
import { needs, pathOf } from '../support/programs.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { eventually } from '../support/webhooks.js';

const secretKey = randomBytes(32).toString('base64');
const cleanups: (() => unknown)[] = [];
let databaseUrl: string;
let replica: Replica;

beforeAll(async () => {
  const database = await createTestDatabase();
  cleanups.push(() => database.drop());
  databaseUrl = database.url;
  replica = await startReplica(databaseUrl, secretKey);
}, 120_000);
afterAll(async () => {
  killReplicas();
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const portOf = ({ url }: Replica) => Number(new URL(url).port);
const pidOf = ({ process: { pid } }: Replica) => pid as number;

const memoryOf = (one: Replica) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pidOf(one)}/status`, 'utf8'))?.[1]) / 1024;

const processorSeconds = (one: Replica) => {
  const fields =
    readFileSync(`/proc/${pidOf(one)}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

const descriptorsOf = (one: Replica) => readdirSync(`/proc/${pidOf(one)}/fd`).length;

/** A connection; `ended` resolves with what was said on it. */
function open(one: Replica): { socket: Socket; ended: Promise<{ said: string }> } {
  const socket = connect(portOf(one), '127.0.0.1').on('error', () => undefined);
  cleanups.push(() => socket.destroy());
  let said = '';
  socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
  const ended = new Promise<{ said: string }>((resolve) => socket.once('close', () => resolve({ said })));
  return { socket, ended };
}

/** A connection whose answers are left where they are. @returns the port that it comes from */
async function openDeaf(one: Replica, sent: string): Promise<string> {
  const socket = connect(portOf(one), '127.0.0.1').on('error', () => undefined);
  cleanups.push(() => socket.destroy());
  await once(socket, 'connect');
  socket.write(sent);
  return `:${(socket.localPort ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * Waits until the service holds none of the connections any more. Whoever doesn't read isn't told of the end, so the system is asked: a
 * connection that its process has let go of has no inode.
 */
async function letGo(ports: readonly string[], withinMs: number): Promise<void> {
  const isHeld = (line: string) => {
    const [, , remote = '', , , , , , , inode] = line.trim().split(/\s+/);
    return inode !== '0' && ports.some((port) => remote.endsWith(port));
  };
  for (const began = performance.now(); ; await delay(250)) {
    const lines = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/net/${name}`, 'utf8').split('\n'));
    if (!lines.some(isHeld)) return;
    if (performance.now() - began > withinMs)
      throw new Error(`still held after ${withinMs} ms: ${lines.filter(isHeld).slice(0, 3).join(' | ')}`);
  }
}

const healthy = (one: Replica) =>
  fetch(`${one.url}/healthz`, { headers: { connection: 'close' }, signal: AbortSignal.timeout(2000) }).then(
    ({ ok }) => ok,
    () => false,
  );

needs('prlimit')(
  'all file descriptors are taken: callers wait or are sent away, those inside are served, nothing spins, and it recovers (fault F36)',
  async () => {
    const tight = await startReplica(databaseUrl, secretKey);
    // Node opens hundreds of files at once while it loads: the limit comes afterwards.
    execFileSync(pathOf('prlimit'), ['--pid', String(pidOf(tight)), '--nofile=100:100']);
    // One that is inside already.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    cleanups.push(() => agent.destroy());
    const inside = (path: string) =>
      new Promise<number>((resolve) => {
        request(tight.url + path, { agent }, (res) => res.resume().on('end', () => resolve(res.statusCode ?? 0)))
          .on('error', () => resolve(0))
          .end();
      });
    expect(await inside('/.well-known/jwks.json')).toBe(200);
    const callers = Array.from({ length: 300 }, () => open(tight));
    await eventually(async () => descriptorsOf(tight) >= 99);
    const [used, began] = [processorSeconds(tight), performance.now()];
    await delay(3000);
    expect((processorSeconds(tight) - used) / ((performance.now() - began) / 1000)).toBeLessThan(0.5);
    for (const path of ['/healthz', '/.well-known/jwks.json', '/.well-known/openid-configuration'])
      expect([path, await inside(path)]).toEqual([path, 200]);
    for (const { socket } of callers) socket.destroy();
    await eventually(() => healthy(tight));
    expect(await fetch(`${tight.url}/readyz`).then(({ status }) => status)).toBe(200);
    expect(tight.log.filter((line) => /"level":60|uncaught/i.test(line))).toEqual([]);
    expect(await tight.end('SIGTERM')).toBe(0);
  },
  60_000,
);

test('who sends a thousand requests at once and reads no answer is hung up on: memory stays as it was (fault F37)', async () => {
  // What it makes once is made.
  expect((await fetch(`${replica.url}/api/openapi.json`)).status).toBe(200);
  const before = memoryOf(replica);
  const many = `GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(1500);
  const ports = await Promise.all(Array.from({ length: 40 }, () => openDeaf(replica, many)));
  // Who comes later is answered: all of them have been taken up.
  await eventually(() => healthy(replica), 60_000);
  await letGo(ports, 180_000);
  // 40 times a thousand requests, at 14 KB each, were half a gigabyte.
  expect(memoryOf(replica) - before).toBeLessThan(150);
}, 300_000);

describe.concurrent('a caller that', () => {
  test('reads nothing of a large answer is hung up on when nothing has moved for a while (fault F37)', async () => {
    // Answers of 700 kB, more of them than the system keeps for either side, and fewer than would be refused.
    const began = performance.now();
    const port = await openDeaf(replica, `GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(20));
    await eventually(() => healthy(replica), 20_000);
    await letGo([port], 180_000);
    expect((performance.now() - began) / 1000).toBeGreaterThan(15);
  }, 240_000);

  test('sends its headers a byte a second is told 408 (fault F38)', async () => {
    const { socket, ended } = open(replica);
    socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    const timer = setInterval(() => socket.write('x'), 1000);
    const { said } = await ended.finally(() => clearInterval(timer));
    expect(said).toMatch(/^HTTP\/1\.1 408 /);
  }, 180_000);

  test('sends nothing at all is sent away (fault F38)', async () => open(replica).ended, 180_000);

  test.each([
    ['a form', '/oauth/token', 'application/x-www-form-urlencoded'],
    ['JSON', '/login', 'application/json'],
    ['a document', '/api/roles', 'application/vnd.api+json'],
  ])(
    'sends %s a byte a second is told 408 (fault F38)',
    async (_what, path, type) => {
      const { socket, ended } = open(replica);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\n\r\n`);
      const timer = setInterval(() => socket.write('x'), 1000);
      const { said } = await ended.finally(() => clearInterval(timer));
      // The Management API asks who it is before it reads.
      expect(said).toMatch(path === '/api/roles' ? /^HTTP\/1\.1 (401|408) / : /^HTTP\/1\.1 408 /);
    },
    180_000,
  );

  test('holds two hundred such connections keeps nobody else waiting (fault F38)', async () => {
    const slow = Array.from({ length: 200 }, () => open(replica));
    for (const { socket } of slow) socket.write('POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx');
    for (let i = 0; i < 20; i++) expect(await healthy(replica)).toBe(true);
    for (const { socket } of slow) socket.destroy();
  }, 60_000);
});
