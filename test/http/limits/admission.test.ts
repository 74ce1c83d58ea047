// What happens at the door while there is more to do than the process can carry.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { Agent, request } from 'undici';
import { createAdmission, type Admission, type AdmissionOptions } from '../../../src/http/limits/admission.js';
import { startTestService } from '../../support/service.js';

const closing: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

type Door = { readonly url: string; readonly admission: Admission; readonly told: number[]; readonly agent: Agent };

async function open(work: () => Promise<void> | void, options: Partial<AdmissionOptions> = {}): Promise<Door> {
  const told: number[] = [];
  const defaults = { open: new Set(['/healthz']), waitMs: () => 0, onRefused: (count: number) => void told.push(count) };
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

/** Keeps the processor for so many milliseconds. */
function burn(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

test('while more comes than is worked off, some is refused at once, the rest is served, and the open addresses answer', async () => {
  const door = await open(() => burn(4), { fewInFlight: 8, longTurnMs: 8, shareMs: 4 });
  const answers: Awaited<ReturnType<typeof ask>>[] = [];
  let flooding = true;
  const flood = Promise.all(
    Array.from({ length: 64 }, async () => {
      while (flooding) answers.push(await ask(door, '/oauth/token'));
    }),
  );
  await expect.poll(() => door.admission.state().refused, { timeout: 20_000 }).toBeGreaterThan(20);
  expect((await ask(door, '/healthz')).status).toBe(200);
  const served = answers.filter(({ status }) => status === 200).length;
  await expect.poll(() => answers.filter(({ status }) => status === 200).length, { timeout: 20_000 }).toBeGreaterThan(served + 10);
  flooding = false;
  await flood;
  const refused = answers.filter(({ status }) => status !== 200);
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
  expect(refused.every(({ headers }) => Number(headers['retry-after']) > 0)).toBe(true);
  expect(JSON.parse(refused[0]?.text ?? '')).toMatchObject({ error: 'temporarily_unavailable' });

  await expect.poll(async () => (await ask(door, '/oauth/token')).status).toBe(200);
  await expect.poll(() => door.told.reduce((sum, one) => sum + one, 0), { timeout: 5000 }).toBe(door.admission.state().refused);
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
  const queues = ['requests', 'signing', 'hashing', 'outbound', 'pool', 'statements_look_up', 'statements_write'];
  for (const metric of ['queue_length', 'queue_wait_seconds', 'queue_refused_total']) {
    for (const queue of queues) expect(text).toMatch(new RegExp(`^${metric}\\{queue="${queue}"[^}]*\\} \\d`, 'm'));
  }
});
