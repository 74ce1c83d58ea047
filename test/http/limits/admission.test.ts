// What happens at the door while there is more to do than the process can carry.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Agent, request } from 'undici';
import { createAdmission, type Admission, type AdmissionOptions } from '../../../src/http/limits/admission.js';
import { crossOriginPaths, oauthEndpoints } from '../../../src/oauth/endpoints.js';
import { startTestService } from '../../support/service.js';

const closing: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

type Door = { readonly url: string; readonly admission: Admission; readonly told: number[]; readonly agent: Agent };

async function open(work: () => Promise<void> | void, options: Partial<AdmissionOptions> = {}): Promise<Door> {
  const told: number[] = [];
  const defaults = { open: new Set(['/healthz']), waitMs: () => 0, now: Date.now, onRefused: (count: number) => void told.push(count) };
  const admission = createAdmission({ ...defaults, ...options });
  const server: Server = createServer((req, res) => {
    if (admission.admits(req, res)) void Promise.resolve(req.url === '/healthz' ? null : work()).then(() => res.end('done'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const agent = new Agent({ connections: 128 });
  closing.push(
    () => void server.close(),
    () => agent.destroy(),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, admission, told, agent };
}

async function ask({ url, agent }: Door, path: string, headers: Record<string, string> = {}) {
  const answer = await request(`${url}${path}`, { dispatcher: agent, headers });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

/** Does it again and again, 64 at a time, until the answer is called, or the test has ended in whatever way. */
function floodWith(work: () => Promise<void>): () => Promise<void> {
  let flooding = true;
  const flood = Promise.allSettled(
    Array.from({ length: 64 }, async () => {
      while (flooding) await work();
    }),
  );
  const calm = async () => {
    flooding = false;
    await flood;
  };
  closing.push(calm);
  return calm;
}

/** Keeps the processor for so many milliseconds. */
function burn(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('while more comes than is worked off, some is refused at once, the rest is served, and the open addresses answer', async () => {
  const door = await open(() => burn(4), { fewInFlight: 8, longTurnMs: 8, shareMs: 4 });
  const answers: Awaited<ReturnType<typeof ask>>[] = [];
  const calm = floodWith(async () => void answers.push(await ask(door, '/oauth/token')));
  await expect.poll(() => door.admission.state().refused).toBeGreaterThan(20);
  expect((await ask(door, '/healthz')).status).toBe(200);
  const served = answers.filter(({ status }) => status === 200).length;
  await expect.poll(() => answers.filter(({ status }) => status === 200).length).toBeGreaterThan(served + 10);
  await calm();
  const refused = answers.filter(({ status }) => status !== 200);
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
  expect(refused.every(({ headers }) => Number(headers['retry-after']) > 0)).toBe(true);
  expect(JSON.parse(refused[0]?.text ?? '')).toMatchObject({ error: 'temporarily_unavailable' });

  await expect.poll(async () => (await ask(door, '/oauth/token')).status).toBe(200);
  await expect.poll(() => door.told.reduce((sum, one) => sum + one, 0)).toBe(door.admission.state().refused);
});

test('a burst is worked off, none of it refused', async () => {
  const door = await open(() => burn(1));
  const answers = await Promise.all(Array.from({ length: 100 }, () => ask(door, '/')));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  expect(door.admission.state()).toMatchObject({ length: 0, refused: 0 });
});

test('no more than so many are in flight; what is refused says so in the words of its surface', async () => {
  let finish = () => undefined as void;
  const held = new Promise<void>((resolve) => (finish = resolve));
  const door = await open(() => held, { maxInFlight: 1 });
  const first = ask(door, '/');
  await expect.poll(() => door.admission.state().length).toBe(1);

  const api = await ask(door, '/api/users?x=1');
  expect([api.status, api.headers['content-type']]).toEqual([503, 'application/vnd.api+json']);
  expect(JSON.parse(api.text)).toMatchObject({ errors: [{ status: '503', code: 'temporarily_unavailable' }] });
  const page = await ask(door, '/login', { accept: 'text/html,*/*' });
  expect([page.status, page.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
  expect(page.text).toContain('Wait a moment');
  expect((await ask(door, '/healthz')).status).toBe(200);

  finish();
  expect((await first).status).toBe(200);
  expect((await ask(door, '/')).status).toBe(200);
});

test('one caller has a quarter of what may be in flight: slow bodies leave room for everybody else (attack 18.351)', async () => {
  let finish = () => undefined as void;
  const held = new Promise<void>((resolve) => (finish = resolve));
  const door = await open(() => held, { maxInFlight: 8, callerOf: ({ headers }) => String(headers['x-from']) });
  const slow = [ask(door, '/', { 'x-from': 'one' }), ask(door, '/', { 'x-from': 'one' })];
  await expect.poll(() => door.admission.state().length).toBe(2);
  expect((await ask(door, '/', { 'x-from': 'one' })).status).toBe(503);
  const other = ask(door, '/', { 'x-from': 'another' });
  await expect.poll(() => door.admission.state().length).toBe(3);

  finish();
  for (const { status } of [...(await Promise.all(slow)), await other]) expect(status).toBe(200);
  expect((await ask(door, '/', { 'x-from': 'one' })).status).toBe(200);
});

test('a thousand and more requests of one address that never end leave the service open to others (attack 18.351)', async () => {
  const service = await startTestService();
  closing.push(() => service.stop());
  const { hostname, port } = new URL(service.url);
  const head = `POST /oauth/token HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Length: 9\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\na`;
  const sockets = Array.from({ length: 1030 }, () =>
    connect({ port: Number(port), host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => undefined),
  );
  closing.push(() => sockets.forEach((socket) => socket.destroy()));
  let refused = 0;
  for (const socket of sockets) socket.on('data', (data) => (refused += data.toString().startsWith('HTTP/1.1 503') ? 1 : 0)).write(head);
  await expect.poll(() => refused).toBe(6);
  expect((await request(`http://127.0.0.1:${port}/login`, { headers: { host: `${hostname}:${port}` } })).statusCode).toBe(200);
});

test('what is always let in takes nothing of what every turn takes of the others (attack 18.352)', async () => {
  const door = await open(() => burn(3), { fewInFlight: 8, longTurnMs: 8, shareMs: 4, open: new Set(['/jwks']) });
  // Node takes up one new connection a turn, so that they stand before the flood begins.
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const sockets = [0, 1].map(() => connect(Number(new URL(door.url).port), '127.0.0.1').on('error', () => undefined));
  closing.push(() => sockets.forEach((socket) => socket.destroy()));
  await Promise.all(sockets.map((socket) => (socket.write(get('/jwks')), once(socket, 'data'))));
  let answered = 0;
  floodWith(async () => {
    await ask(door, '/jwks');
    answered += 1;
  });
  await expect.poll(() => answered).toBeGreaterThan(150);
  // All in one turn, the last of them behind more than a turn takes.
  for (const socket of sockets) {
    let text = '';
    socket.on('data', (data) => (text += data.toString()));
    socket.write(get('/jwks').repeat(12) + get('/oauth/token'));
    await expect.poll(() => text.match(/HTTP\/1\.1 \d+/g)?.length).toBe(13);
    expect(new Set(text.match(/HTTP\/1\.1 \d+/g))).toEqual(new Set(['HTTP/1.1 200']));
  }
});

test('a refusal bears the id of its request, and browser applications of other origins can read it where they may call', async () => {
  const door = await open(() => undefined, { waitMs: () => 10_000, crossOrigin: crossOriginPaths });
  const { headers } = await ask(door, '/oauth/token', { 'x-request-id': 'checkout-17', origin: 'https://app.example' });
  expect(headers).toMatchObject({
    'x-request-id': 'checkout-17',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Retry-After, X-Request-Id',
  });
  const elsewhere = (await ask(door, '/login', { 'x-request-id': 'not safe' })).headers;
  expect(elsewhere['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  expect(elsewhere).not.toHaveProperty('access-control-allow-origin');
});

test('the addresses that may be read across origins when they are refused are those that answer a preflight', async () => {
  const service = await startTestService();
  closing.push(() => service.stop());
  const preflights = await Promise.all(
    Object.values(oauthEndpoints).map(async (path) => [path, (await fetch(service.url + path, { method: 'OPTIONS' })).status === 204]),
  );
  expect(preflights).toEqual(Object.values(oauthEndpoints).map((path) => [path, crossOriginPaths.has(path)]));
});

test('what would wait too long for a signature is refused before it begins', async () => {
  let waitMs = 10_000;
  const door = await open(() => undefined, { waitMs: (path) => (path === '/oauth/token' ? waitMs : 0) });
  expect((await ask(door, '/oauth/token?a=b')).status).toBe(503);
  expect((await ask(door, '/oauth/userinfo')).status).toBe(200);
  waitMs = 10;
  expect((await ask(door, '/oauth/token')).status).toBe(200);
});

test('every queue says in the metrics how long it is, how long it takes and what it has refused', async () => {
  const service = await startTestService();
  closing.push(() => service.stop());
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const queues = ['requests', 'signing', 'hashing', 'outbound', 'pool', 'process_locks', 'statements_look_up', 'statements_write'];
  for (const metric of ['queue_length', 'queue_wait_seconds', 'queue_refused_total']) {
    for (const queue of queues) expect(text).toMatch(new RegExp(`^${metric}\\{queue="${queue}"[^}]*\\} \\d`, 'm'));
  }
});
