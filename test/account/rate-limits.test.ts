import { describe, expect, test } from 'vitest';
import { fromAddress, jsonFrom } from '../support/from-address.js';
import { passTime } from '../support/rate-limits.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({ RATE_LIMITS: 'on' }));
let host = 1;

/** A client that was never here before. */
const newClient = () => `127.0.2.${host++}`;
const times = async <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> => {
  const answers: T[] = [];
  for (let index = 0; index < count; index++) answers.push(await work(index));
  return answers;
};
const statuses = (answers: { status: number }[]) => answers.map((answer) => answer.status);
const tenThen = (status: number) => [...Array.from({ length: 10 }, () => status), 429];

test('ten registrations a minute from one address, whatever steps they are', async () => {
  const client = newClient();
  const started = await times(5, (index) => jsonFrom(client, `${service.url}/register`, { email: `limit-${index}@example.com` }));
  expect(statuses(started)).toEqual([202, 202, 202, 202, 202]);
  const { registration_id } = JSON.parse(started[0]?.text ?? '') as { registration_id: string };
  const steps = await times(3, () => jsonFrom(client, `${service.url}/register/verify`, { registration_id, code: '000000' }));
  expect(statuses(steps)).toEqual([422, 422, 422]);
  await jsonFrom(client, `${service.url}/register/resend`, { registration_id });
  await jsonFrom(client, `${service.url}/register/complete`, { registration_token: 'x' });
  const refused = await jsonFrom(client, `${service.url}/register`, { email: 'one-more@example.com' });
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([429, { error: 'rate_limited' }]);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await jsonFrom(newClient(), `${service.url}/register`, { email: 'elsewhere@example.com' })).status).toBe(202);
});

test('one submitted address is limited wherever the requests come from', async () => {
  const email = 'popular@example.com';
  expect(statuses(await times(11, () => jsonFrom(newClient(), `${service.url}/register`, { email })))).toEqual(tenThen(202));
  expect(statuses(await times(11, () => jsonFrom(newClient(), `${service.url}/password/forgot`, { email })))).toEqual(tenThen(202));
});

test('thirty mails an hour to one address by /register, wherever they are asked for (attack 12.262)', async () => {
  const own = await startTestService({ RATE_LIMITS: 'on' });
  try {
    const ask = (email: string) => jsonFrom(newClient(), `${own.url}/register`, { email });
    for (let minute = 0; minute < 3; minute++) {
      expect(statuses(await times(10, () => ask('often@example.com')))).toEqual(Array.from({ length: 10 }, () => 202));
      await passTime(own, 61_000);
    }
    const refused = await ask('often@example.com');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_000);
    expect((await ask('seldom@example.com')).status).toBe(202);
    await passTime(own, 3_600_000);
    expect((await ask('often@example.com')).status).toBe(202);
  } finally {
    await own.stop();
  }
});

test('recovery is limited by address', async () => {
  const client = newClient();
  const forgot = (index: number) => jsonFrom(client, `${service.url}/password/forgot`, { email: `forgot-${index}@example.com` });
  expect(statuses(await times(11, forgot))).toEqual(tenThen(202));
  const reset = await jsonFrom(client, `${service.url}/password/reset`, { reset_id: 'x', code: '1', password: 'y' });
  expect(reset.status).toBe(429);
});

test('one reset is limited wherever its guesses come from', async () => {
  const reset_id = '01990000-0000-7000-8000-000000000001';
  const guess = () => jsonFrom(newClient(), `${service.url}/password/reset`, { reset_id, code: '000000', password: 'nine quiet herons' });
  expect(statuses(await times(11, guess))).toEqual(tenThen(410));
});

describe('the source is what the socket says (attack 19.219)', () => {
  const forged = (index: number): Record<string, string>[] => [
    { 'x-forwarded-for': `10.1.1.${index}` },
    { forwarded: `for=10.1.1.${index}` },
    { 'x-real-ip': `10.1.1.${index}` },
    { 'x-forwarded-for': `::ffff:10.1.1.${index}, 2001:db8::${index}` },
  ];

  test('forged headers change nothing', async () => {
    const client = newClient();
    const guess = (index: number) =>
      jsonFrom(client, `${service.url}/login`, { email: `forged-${index}@example.com`, password: 'x' }, forged(index)[index % 4]);
    expect(statuses(await times(11, guess))).toEqual(tenThen(401));
  });

  test('behind a trusted proxy the addresses of one IPv6 /64, and both forms of an IPv4 one, are one client', async () => {
    const behind = await startTestService({ RATE_LIMITS: 'on', TRUST_PROXY: '1' });
    try {
      const guess = (ip: string, index: number) =>
        jsonFrom('127.0.0.1', `${behind.url}/login`, { email: `p-${ip}-${index}@example.com`, password: 'x' }, { 'x-forwarded-for': ip });
      const six = await times(11, (index) => guess(`2001:db8:1:2:${index}:${index}::1`, index));
      expect(statuses(six)).toEqual(tenThen(401));
      const four = await times(11, (index) => guess(index % 2 === 0 ? '198.51.100.7' : '::ffff:198.51.100.7', index));
      expect(statuses(four)).toEqual(tenThen(401));
      expect((await guess('2001:db8:1:3::1', 0)).status).toBe(401);
    } finally {
      await behind.stop();
    }
  });
});

test('other spellings of the path or of the address are no other bucket, or nothing at all (attack 19.220)', async () => {
  const client = newClient();
  const body = (index: number) => ({ email: index % 2 === 0 ? 'spelled@example.com' : ' SPELLED@Example.com ', password: 'x' });
  const paths = ['/login', '/login/', '/login?x=1', '/login/?y', '/login'];
  const answers = await times(11, (index) => jsonFrom(client, `${service.url}${paths[index % paths.length]}`, body(index)));
  expect(statuses(answers)).toEqual(tenThen(401));
  for (const path of ['/LOGIN', '//login', '/Login', '/%6cogin/x', '/login;a=b']) {
    const answer = await jsonFrom(client, `${service.url}${path}`, body(0));
    expect([path, answer.status === 404 || answer.status === 429]).toEqual([path, true]);
  }
  expect((await jsonFrom(newClient(), `${service.url}/login`, body(1))).status).toBe(429);
  const head = await fromAddress(client, `${service.url}/login`, { method: 'HEAD' });
  expect([head.status, head.text]).toEqual([200, '']);
});

test('without its store the limiter lets nobody through (attack 19.222)', async () => {
  const broken = await startTestService({ RATE_LIMITS: 'on', RATE_LIMIT_STORE: 'redis', REDIS_URL: 'redis://127.0.0.1:1' });
  try {
    const requests: [string, object][] = [
      ['/login', { email: 'a@example.com', password: 'x' }],
      ['/register', { email: 'a@example.com' }],
      ['/password/forgot', { email: 'a@example.com' }],
    ];
    for (const [path, body] of requests) {
      const answer = await jsonFrom('127.0.0.1', `${broken.url}${path}`, body);
      expect([path, answer.status, answer.headers['retry-after'] === undefined]).toEqual([path, 503, false]);
    }
    expect(await broken.deps.db.knex('passcodes')).toEqual([]);
  } finally {
    await broken.stop();
  }
});
