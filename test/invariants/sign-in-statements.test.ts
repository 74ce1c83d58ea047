// What a sign-in costs the database: for somebody without factors nothing more than a password does, whatever else the environment offers.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedService } from '../support/shared-service.js';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { addTwoStepUser } from '../support/factors.js';
import { observeApp, type ObservedApp } from '../support/observed-app.js';

let app: ObservedApp;
let origin: string;

const service = sharedService();
beforeAll(async () => {
  app = await observeApp(service.deps);
  origin = app.origin;
});
afterAll(async () => app?.close());

/** Tables that only factors have. */
const ofFactors = /\b(authenticators|recovery_codes|second_step_tries|sign_ins|devices|spent_challenges)\b/;
const written = () => app.take().filter((text) => !/^(begin|commit)/i.test(text));

/** Runs it until the process remembers what it needs. */
async function statementsOf(run: () => Promise<Response>, status: number): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    service.deps.cache.synced(service.clock.elapsed());
    app.take();
    expect((await run()).status).toBe(status);
    if (attempt === 3) return written();
  }
}

test('GET /login asks the database for nothing that isn’t remembered, passkeys or not', async () =>
  expect(await statementsOf(() => new Browser(origin).get('/login'), 200)).toEqual([]));

test('options for a passkey cost nothing: a challenge needs no row', async () =>
  expect(await statementsOf(() => new Browser(origin).postJson('/login/passkey/options', {}), 200)).toEqual([]));

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
