// BACKGROUND_WORK: a process that answers and leaves the rest to others, and one that does nothing else (specification 1.9).
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { createTestDatabase, onConnection, type TestDatabase } from '../support/database.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { startSmtpServer, type TestSmtpServer } from '../support/smtp.js';
import { eventually } from '../support/webhooks.js';

let database: TestDatabase;
let smtp: TestSmtpServer;
let web: Replica;
const secretKey = randomBytes(32).toString('base64');
const start = (BACKGROUND_WORK: string) =>
  startReplica(database.url, secretKey, { BACKGROUND_WORK, SMTP_URL: `smtp://127.0.0.1:${smtp.port}` });
const readiness = async (url: string) => {
  const response = await fetch(`${url}/readyz`);
  expect(response.status).toBe(200);
  return (await response.json()) as { status: string; warning?: string };
};

beforeAll(async () => {
  database = await createTestDatabase({ isNew: true });
  smtp = await startSmtpServer();
  web = await start('off');
});
afterAll(async () => {
  killReplicas();
  await smtp?.close();
  await database?.drop();
});

test('what a process with `off` leaves behind waits, and readiness says so, until one with `only` comes', async () => {
  const browser = new Browser(web.url);
  await browser.get('/register');
  expect((await browser.submit('/register', { email: 'ada@example.com' })).status).toBeLessThan(400);
  await eventually(async () => (await readiness(web.url)).warning?.includes('BACKGROUND_WORK'));
  expect(await readiness(web.url)).toMatchObject({ status: 'ready' });
  const loops = await onConnection(database.url, (client) =>
    client.query<{ loop: string }>('select jsonb_object_keys(loops) as loop from processes'),
  );
  expect(loops.rows.map(({ loop }) => loop).sort()).toEqual([
    'client_use',
    'clock',
    'daily_stats',
    'event_streams',
    'password_look_ups',
    'request_traces',
    'secret_keys',
  ]);
  expect(smtp.received).toEqual([]);

  const worker = await start('only');
  expect(await eventually(async () => smtp.received[0]?.to)).toEqual(['ada@example.com']);
  await eventually(async () => (await readiness(web.url)).warning === undefined);

  expect(await readiness(worker.url)).toEqual({ status: 'ready' });
  expect((await fetch(`${worker.url}/healthz`)).status).toBe(200);
  for (const path of ['/', '/login', '/oauth/jwks', '/.well-known/openid-configuration', '/api/users', '/dashboard']) {
    const response = await fetch(`${worker.url}${path}`);
    expect([path, response.status, ((await response.json()) as { error: string }).error]).toEqual([path, 404, 'not_found']);
  }
});
