// The limits of all steps of a sign-in, and two processes that take the same one.
import { expect, test } from 'vitest';
import { addUser, password } from '../support/data.js';
import { addTwoStepUser, setEnvironment, totpCode, wrongTotpCode } from '../support/factors.js';
import { fromAddress, jsonFrom, type PlainAnswer } from '../support/from-address.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(async () => {
  const started = await startTestService({ RATE_LIMITS: 'on' });
  await setEnvironment(started, { email_code_sign_in_enabled: true, email_second_factor_enabled: true, lockout_threshold: 100 });
  return started;
});

let host = 1;
/** A client that was never here before. */
const newClient = () => `127.0.3.${host++}`;
const post = (client: string, path: string, body: object, cookie = '', at = service.url) =>
  jsonFrom(client, `${at}${path}`, body, cookie === '' ? {} : { cookie });
const cookiesOf = (answer: PlainAnswer) => (answer.headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).join('; ');
async function statuses(count: number, work: (index: number) => Promise<PlainAnswer>): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await work(index)).status);
  return found;
}

test('every step of a sign-in counts in one window per address, whichever it is', async () => {
  const client = newClient();
  const steps = [
    '/login',
    '/login/passkey',
    '/login/code',
    '/login/code/verify',
    '/login/verify',
    '/login/verify/email',
    '/login/enroll/totp',
    '/login/enroll/totp/verify',
    '/login/enroll/passkey',
    '/login/enroll/skip',
  ];
  for (const path of steps) expect([path, (await post(client, path, {})).status]).not.toEqual([path, 429]);
  for (const path of steps) {
    const refused = await post(client, path, {});
    expect([path, refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([path, 429, true]);
  }
  // Pages and options aren't steps.
  expect((await fromAddress(client, `${service.url}/login`)).status).toBe(200);
  expect((await post(client, '/login/passkey/options', {})).status).toBe(200);
});

test('second steps count in the window of the person, wherever they come from (attack 25.551)', async () => {
  const { user, secret } = await addTwoStepUser(service);
  const first = await post(newClient(), '/login', { email: user.email, password });
  const second = await post(newClient(), '/login', { email: user.email, password });
  const wrong = { method: 'totp', code: wrongTotpCode(secret, service.clock.now()) };
  const found = await statuses(9, (index) => post(newClient(), '/login/verify', wrong, cookiesOf(index % 2 === 0 ? first : second)));
  expect(found).toEqual([...Array.from({ length: 8 }, () => 422), 429]);
  expect((await post(newClient(), '/login', { email: user.email, password })).status).toBe(429);
});

test('proofs of somebody signed in count in the window of the person, however the address is written (attack 10.1067)', async () => {
  const email = 'ada@bücher.example';
  await addUser(await service.context(), { email, email_key: 'ada@xn--bcher-kva.example' });
  const { headers } = await post(newClient(), '/login', { email, password });
  // A browser that the account doesn't know: without the cookie of the device.
  const cookie = (headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).find((one) => one?.startsWith('idp_session=')) ?? '';
  const confirm = () =>
    jsonFrom(newClient(), `${service.url}/account/confirm`, { password: 'wrong' }, { cookie, origin: new URL(service.url).origin });
  expect(await statuses(4, confirm)).toEqual([401, 401, 401, 401]);
  expect(await statuses(5, () => post(newClient(), '/login', { email: 'ADA@xn--bcher-kva.example', password: 'wrong' }))).toEqual(
    Array.from({ length: 5 }, () => 401),
  );
  expect((await confirm()).status).toBe(429);
});

test('codes by mail count by the address that they go to, and thirty mails an hour are sent there', async () => {
  const { email } = await addUser(await service.context());
  expect(await statuses(11, () => post(newClient(), '/login/code', { email }))).toEqual([...Array.from({ length: 10 }, () => 202), 429]);
});

test('sixty times a minute a page may take new options', async () => {
  const client = newClient();
  expect(new Set(await statuses(60, () => post(client, '/login/passkey/options', {})))).toEqual(new Set([200]));
  for (const path of ['/login/passkey/options', '/login/verify/passkey/options', '/register/passkey/options'])
    expect([path, (await post(client, path, {})).status]).toEqual([path, 429]);
});

test('two processes, one code, one winner (attack 25.552)', async () => {
  const other = await startTestService(
    { BASE_URL: service.url },
    { database: { url: service.databaseUrl, secretKey: service.secretKey }, clock: service.clock },
  );
  try {
    const there = `http://localhost:${other.config.port}`;
    const { host: name } = new URL(service.url);
    const { user, secret } = await addTwoStepUser(service);
    // Two half sign-ins, one at each process, and one code for both.
    const halves = await Promise.all([0, 1].map(() => post(newClient(), '/login', { email: user.email, password })));
    const code = totpCode(secret, service.clock.now());
    const verify = (at: string, half: PlainAnswer | undefined) =>
      jsonFrom(newClient(), `${at}/login/verify`, { method: 'totp', code }, { host: name, cookie: half ? cookiesOf(half) : '' });
    const answers = await Promise.all([verify(service.url, halves[0]), verify(there, halves[1])]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    // One half sign-in, completed at both with a code each.
    const half = await post(newClient(), '/login', { email: user.email, password });
    service.clock.advance(30_000);
    const next = totpCode(secret, service.clock.now());
    const both = await Promise.all(
      [service.url, there].map((at) =>
        jsonFrom(newClient(), `${at}/login/verify`, { method: 'totp', code: next }, { host: name, cookie: cookiesOf(half) }),
      ),
    );
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
  } finally {
    await other.stop();
  }
});
