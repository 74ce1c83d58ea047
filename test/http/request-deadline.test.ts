// What becomes of a request whose time is up, whose caller hangs up, or whose sender is slow.
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UnavailableError } from '../../src/errors.js';
import { requestDeadlines } from '../../src/http/request/deadline.js';
import { createServer } from '../../src/http/server.js';
import type { Deadline } from '../../src/lib/deadline.js';

const limitMs = 800;
let server: Server;
let origin: string;
/** Of the request that came in last. */
let deadline: Deadline;
const releases: (() => void)[] = [];
const thrown: unknown[] = [];

beforeAll(async () => {
  const app = express();
  const patient = requestDeadlines(60_000);
  const brief = requestDeadlines(limitMs);
  app.use((req, res, next) => (req.get('x-patient') ? patient : brief)(req, res, next));
  app.use((req, _res, next) => {
    deadline = req.deadline;
    next();
  });
  app.get('/quick', (_req, res) => void res.json({ left: deadline.left() }));
  app.get('/stuck', async (_req, res) => {
    await new Promise<void>((resolve) => releases.push(resolve));
    res.json({ late: true });
  });
  app.get('/begun', (_req, res) => {
    res.write('the first half, ');
    setTimeout(() => res.end('the second half'), 2 * limitMs);
  });
  app.post('/body', (req, res) => req.resume().on('end', () => res.end('all of it')));
  app.use((error: unknown, _req: Request, res: Response, next: NextFunction) => {
    thrown.push(error);
    if (res.headersSent) return next(error);
    const { retry_after } = error as UnavailableError;
    res.status(503).set('Retry-After', String(retry_after)).end();
  });
  server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test('an answer in time is the answer, and its deadline runs on for what is done after it', async () => {
  const { left } = (await (await fetch(`${origin}/quick`, { headers: { 'x-patient': 'yes' } })).json()) as { left: number };
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(60_000);
  expect(deadline.left()).toBeGreaterThan(0);
});

test('a request that waits for something when its time is up is refused with 503, and what its handler does later reaches nobody', async () => {
  const began = performance.now();
  const answers = await Promise.all([1, 2, 3].map(() => fetch(`${origin}/stuck`)));
  expect(performance.now() - began).toBeGreaterThanOrEqual(limitMs);
  for (const answer of answers) {
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('connection')]).toEqual([503, '5', 'close']);
  }
  expect(thrown.splice(0)).toEqual([1, 2, 3].map(() => expect.any(UnavailableError)));
  expect(deadline.left()).toBe(0);
  for (const release of releases.splice(0)) release();
  expect((await fetch(`${origin}/quick`)).status).toBe(200);
});

test('an answer that has begun is not broken off', async () =>
  expect(await (await fetch(`${origin}/begun`)).text()).toBe('the first half, the second half'));

test('when the caller hangs up, nothing is left at once', async () => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET /stuck HTTP/1.1\r\nHost: here\r\nX-Patient: yes\r\n\r\n');
  const before = deadline;
  await expect.poll(() => deadline).not.toBe(before);
  expect(deadline.left()).toBeGreaterThan(0);
  socket.destroy();
  await expect.poll(() => deadline.left(), { interval: 5 }).toBe(0);
});

/** Sends the beginning of a request and waits for what comes back. */
async function answerTo(beginning: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(beginning);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return chunk.toString('latin1').split('\r\n', 1)[0] ?? '';
}

test('the time that a sender takes for the body counts', async () =>
  expect(await answerTo('POST /body HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\nhalf')).toMatch(/ 503 /));

test('a sender that takes too long for the head is told so within ten seconds, 408 (RFC 9110 15.5.9)', async () => {
  const began = performance.now();
  expect(await answerTo('POST /body HTTP/1.1\r\nHost: here\r\nContent-')).toMatch(/ 408 /);
  expect(performance.now() - began).toBeLessThan(30_000);
});
