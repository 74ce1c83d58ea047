// What a sign-in costs the database: for somebody without factors nothing more than a password does, whatever else the environment offers.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createApp, type Service } from '../../src/app.js';
import { statementObserver } from '../../src/db/scope.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { addTwoStepUser } from '../support/factors.js';
import { startTestService, type TestService } from '../support/service.js';

/** The statements of the request that runs in this asynchronous context; background loops run in none. */
const request = new AsyncLocalStorage<string[]>();
const observe = (text: string) => void request.getStore()?.push(text);

let service: TestService;
let app: Service;
let server: Server;
let origin: string;
let statements: string[];

beforeAll(async () => {
  service = await startTestService();
  statementObserver.observe = observe;
  service.deps.knex.on('query', ({ sql }: { sql: string }) => observe(sql));
  app = createApp(service.deps);
  server = createServer((req, res) => request.run(statements, () => app.app(req, res)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // The address that forms are posted from must be that of the host.
  origin = `http://localhost:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  statementObserver.observe = null;
  server?.close();
  await app?.close();
  await service?.stop();
});
beforeEach(() => {
  statements = [];
});

/** Tables that only factors have. */
const ofFactors = /\b(authenticators|recovery_codes|second_step_tries|sign_ins|devices|spent_challenges)\b/;
const written = () => statements.filter((text) => !/^(begin|commit)/i.test(text));

/** Runs it until the process remembers what it needs. */
async function statementsOf(run: () => Promise<Response>, status: number): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    service.deps.cache.synced(service.clock.elapsed());
    statements = [];
    expect((await run()).status).toBe(status);
    if (attempt === 3) return written();
  }
}

test('GET /login asks the database for nothing that isn’t remembered, passkeys or not', async () => {
  expect(await statementsOf(() => new Browser(origin).get('/login'), 200)).toEqual([]);
});

test('options for a passkey cost nothing: a challenge needs no row', async () => {
  expect(await statementsOf(() => new Browser(origin).postJson('/login/passkey/options', {}), 200)).toEqual([]);
});

test('POST /login of somebody without factors touches no table of factors', async () => {
  const { email } = await addUser(await service.context());
  const found = await statementsOf(() => new Browser(origin).postJson('/login', { email, password }), 200);
  expect(found.filter((text) => ofFactors.test(text))).toEqual([]);
  expect(found.length).toBeLessThanOrEqual(8);
});

test('POST /login of somebody with two-step: one row more, and what they have', async () => {
  const { user } = await addTwoStepUser(service);
  const found = await statementsOf(() => new Browser(origin).postJson('/login', { email: user.email, password }), 200);
  expect(found.filter((text) => ofFactors.test(text)).length).toBeLessThanOrEqual(3);
});
