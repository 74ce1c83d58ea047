// Two replicas behind a real balancer, with the very files of examples/proxies: only addresses and certificates are replaced.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { runBeside, type Beside } from '../support/beside.js';
import { Browser } from '../support/browser.js';
import { selfSigned } from '../support/certificates.js';
import { addClient, addUser, password, type TestClient } from '../support/data.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startDatabaseProxy, type DatabaseProxy } from '../support/database-proxy.js';
import { authorizeCode, claimsOf, oauthPost, redeem } from '../support/oauth.js';
import { needs } from '../support/programs.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { openContext } from '../support/standalone.js';
import { eventually } from '../support/webhooks.js';

const certificate = selfSigned({ name: 'localhost' });

/** The example, with the replicas' ports, a port of our own and a certificate that exists. */
function example(file: string, changes: readonly (readonly [from: string, to: string])[]): string {
  let text = readFileSync(`examples/proxies/${file}`, 'utf8');
  for (const [from, to] of changes) {
    expect(text).toContain(from);
    text = text.replaceAll(from, to);
  }
  return text;
}

const proxies = {
  haproxy: (port: number, one: string, two: string) =>
    runBeside(
      'haproxy',
      (directory) => ['-db', '-f', `${directory}/haproxy.cfg`],
      (directory) => ({
        'both.pem': certificate.cert + certificate.key,
        'haproxy.cfg': example('haproxy.cfg', [
          ['bind :443 ', `bind 127.0.0.1:${port} `],
          ['/etc/haproxy/id.example.com.pem', `${directory}/both.pem`],
          ['10.0.0.11:3000', one],
          ['10.0.0.12:3000', two],
        ]),
      }),
      port,
    ),
  nginx: (port: number, one: string, two: string) =>
    runBeside(
      'nginx',
      (directory) => ['-c', `${directory}/nginx.conf`, '-g', `daemon off; error_log stderr; pid ${directory}/pid;`],
      (directory) => ({
        crt: certificate.cert,
        key: certificate.key,
        'nginx.conf': example('nginx.conf', [
          ['listen 443 ', `listen 127.0.0.1:${port} `],
          ['/etc/nginx/id.example.com.crt', `${directory}/crt`],
          ['/etc/nginx/id.example.com.key', `${directory}/key`],
          ['10.0.0.11:3000', one],
          ['10.0.0.12:3000', two],
        ]),
      }),
      port,
    ),
};

const before = getGlobalDispatcher();
const trusting = new Agent({ connect: { ca: certificate.cert } });
beforeAll(() => setGlobalDispatcher(trusting));
afterAll(async () => {
  setGlobalDispatcher(before);
  await trusting.destroy();
  killReplicas();
});

describe.each(['haproxy', 'nginx'] as const)('behind %s', (name) => {
  const test = needs(name);
  const secretKey = randomBytes(32).toString('base64');
  let database: TestDatabase;
  let wayToDatabase: DatabaseProxy;
  let proxy: Beside;
  let replicas: Replica[];
  let opened: Awaited<ReturnType<typeof openContext>>;
  let origin: string;
  let client: TestClient;

  beforeAll(async () => {
    database = await createTestDatabase();
    wayToDatabase = await startDatabaseProxy(database.url);
    const port = await freePort();
    origin = `https://localhost:${port}`;
    const environment = { BASE_URL: origin, TRUST_PROXY: '1', SHUTDOWN_DELAY_MS: '3000', RATE_LIMITS: 'on', RATE_LIMIT_TOKEN: '40/60' };
    opened = await openContext(database.url, secretKey, environment);
    client = await addClient(opened.ctx, { token_rate_limit: 1_000_000 });
    await addUser(opened.ctx, { email: 'ada@example.com' });
    replicas = await Promise.all([1, 2].map(() => startReplica(wayToDatabase.url, secretKey, environment)));
    const [one = '', two = ''] = replicas.map(({ url }) => `127.0.0.1:${new URL(url).port}`);
    proxy = await proxies[name](port, one, two);
    await eventually(async () => (await fetch(`${origin}/readyz`)).status === 200);
  });
  afterAll(async () => {
    await proxy?.stop();
    for (const { process } of replicas ?? []) process.kill('SIGKILL');
    await opened?.close();
    wayToDatabase?.close();
    await database?.drop();
  });

  /** How many of the requests with this id each replica answered, once all have been logged. */
  async function answeredBy(id: string, total: number): Promise<number[]> {
    const counts = () => replicas.map(({ log }) => log.filter((line) => line.includes(`"request_id":"${id}"`)).length);
    await eventually(async () => counts().reduce((sum, n) => sum + n, 0) >= total);
    return counts();
  }

  test('issuer, endpoints and cookies are those of the public address, whatever a caller claims', async () => {
    const claims = { 'x-forwarded-host': 'evil.example.com', 'x-forwarded-proto': 'http', forwarded: 'host=evil.example.com' };
    const answer = await fetch(`${origin}/.well-known/openid-configuration`, { headers: claims });
    const metadata = (await answer.json()) as Record<string, unknown>;
    expect(metadata['issuer']).toBe(origin);
    const addresses = Object.entries(metadata).filter(([key, value]) => /_(endpoint|uri)$/.test(key) && typeof value === 'string');
    expect(addresses.length).toBeGreaterThan(5);
    expect(addresses.filter(([, value]) => !(value as string).startsWith(`${origin}/`))).toEqual([]);
    const page = await fetch(`${origin}/login`, { headers: claims });
    expect(page.status).toBe(200);
    for (const cookie of page.headers.getSetCookie()) expect(cookie).toContain('Secure');
  });

  test('a sign-in and its code flow go on wherever the next request lands', async () => {
    const id = `flow-${name}`;
    const browser = new Browser(origin, { 'x-request-id': id });
    expect((await browser.login('ada@example.com', password)).status).toBe(303);
    const tokens = await redeem(origin, client, await authorizeCode(browser, client));
    expect(tokens.status).toBe(200);
    expect(claimsOf(tokens.body.id_token as string)['iss']).toBe(origin);
    for (let i = 0; i < 4; i++) {
      const userinfo = await fetch(`${origin}/oauth/userinfo`, {
        headers: { authorization: `Bearer ${tokens.body.access_token}`, 'x-request-id': id },
      });
      expect(await userinfo.json()).toMatchObject({ email: 'ada@example.com' });
    }
    for (const answered of await answeredBy(id, 7)) expect(answered).toBeGreaterThan(0);
  });

  test('one limit counts for both, by the address that the proxy saw', async () => {
    const limited = await addClient(opened.ctx, { grant_types: ['client_credentials'] });
    const statuses: number[] = [];
    const ask = async (i: number) => {
      const forged = { 'x-forwarded-for': `203.0.113.${i}`, 'x-request-id': `limit-${name}` };
      statuses.push((await oauthPost(origin, '/oauth/token', limited, { grant_type: 'client_credentials' }, forged)).status);
    };
    await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i)));
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    for (const answered of await answeredBy(`limit-${name}`, 60)) expect(answered).toBeGreaterThan(10);
    const lines = replicas.flatMap(({ log }) => log).filter((line) => line.includes(`limit-${name}`));
    expect(new Set(lines.map((line) => (JSON.parse(line) as { ip: string }).ip))).toEqual(new Set(['127.0.0.1']));
  });

  test('metrics stay inside', async () => {
    expect((await fetch(`${origin}/metrics`)).status).toBe(404);
    const claimed = await fetch(`${replicas[0]?.url}/metrics`, { headers: { 'x-forwarded-for': '127.0.0.1' } });
    expect(claimed.status).toBe(401);
  });

  test('what is withdrawn is soon refused by both', async () => {
    const gone = await addClient(opened.ctx, { grant_types: ['client_credentials'], token_rate_limit: 1_000_000 });
    const ask = async () => (await oauthPost(origin, '/oauth/introspect', gone, { token: 'at_none' })).status;
    expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual([200, 200, 200, 200]);
    await opened.ctx.db.knex('clients').where({ id: gone.id }).update({ status: 'disabled' });
    // Rounds with a pause: refusals count against the limit of the address.
    await eventually(async () => (await Promise.all([ask(), ask(), ask(), ask()])).every((status) => status === 401), 10_000, 100);
  });

  test('while the database is away, tokens are refused with Retry-After and JWKS go on; when it is back, all of it does', async () => {
    // Of the right form: one of another form is answered from memory.
    const token = `at_${randomBytes(32).toString('base64url')}`;
    const ask = () => oauthPost(origin, '/oauth/introspect', client, { token });
    const jwks = () => fetch(`${origin}/.well-known/jwks.json`).then(({ status }) => status);
    // Both replicas have them in memory.
    expect(await Promise.all([jwks(), jwks(), jwks(), jwks()])).toEqual([200, 200, 200, 200]);
    wayToDatabase.refuse();
    await eventually(async () => (await fetch(`${origin}/readyz`)).status === 503);
    // Longer than the balancer takes to see that none is ready.
    for (let i = 0; i < 20; i++) {
      const { status, headers } = await ask();
      expect([status, headers.has('retry-after')]).toEqual([503, true]);
      expect(await jwks()).toBe(200);
      await delay(100);
    }
    wayToDatabase.accept();
    await eventually(async () => (await ask()).status === 200 && (await ask()).status === 200);
  });

  test('one replica ends in order under load: no request fails', async () => {
    const [leaving, staying] = replicas as [Replica, Replica];
    const statuses = new Map<number | string, number>();
    let over = false;
    const requests = [
      () => oauthPost(origin, '/oauth/introspect', client, { token: 'at_none' }),
      () => fetch(`${origin}/.well-known/jwks.json`).then(async (answer) => (await answer.text()) && answer),
      () => oauthPost(origin, '/oauth/revoke', client, { token: 'at_none' }),
    ];
    let answered = 0;
    const loop = async (turn: number) => {
      while (!over) {
        const request = requests[turn++ % requests.length] as () => Promise<{ status: number }>;
        const status = await request().then((answer) => answer.status, String);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        answered += 1;
      }
    };
    const loops = Array.from({ length: 6 }, (_, i) => loop(i));
    await eventually(async () => answered > 50);
    expect(await leaving.end('SIGTERM')).toBe(0);
    const then = answered;
    await eventually(async () => answered > then + 50);
    over = true;
    await Promise.all(loops);
    expect([...statuses.keys()]).toEqual([200]);
    expect(staying.process.exitCode).toBeNull();
  });
});

test('TRUST_PROXY=on on a public address is warned of at the start', async () => {
  const database = await createTestDatabase();
  const environment = { BASE_URL: 'https://id.example.com', TRUST_PROXY: 'on' };
  const replica = await startReplica(database.url, randomBytes(32).toString('base64'), environment);
  try {
    expect(replica.log.filter((line) => line.includes('TRUST_PROXY=on'))).toHaveLength(1);
  } finally {
    await replica.end('SIGTERM');
    await database.drop();
  }
});
