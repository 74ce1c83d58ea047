// Who may read captured mail: a program on this machine that uses the service's own address, and nobody else.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedService } from '../support/shared-service.js';
import { exposureWarnings } from '../../src/domain/environments/exposure.js';
import { signedInWith } from '../support/administrators.js';
import { runBeside } from '../support/beside.js';
import { Browser } from '../support/browser.js';
import { addEnvironment } from '../support/data.js';
import { fromAddress } from '../support/from-address.js';
import { needs } from '../support/programs.js';
import { freePort, startTestService, type TestService } from '../support/service.js';

let administrator: Browser;
const started: TestService[] = [];

/** Another process on the same database, e.g. after its BASE_URL was changed. */
async function beside(environment: Record<string, string>): Promise<TestService> {
  const other = await startTestService(environment, { database: { url: service.databaseUrl, secretKey: service.secretKey } });
  started.push(other);
  return other;
}

const statusOf = async ({ config }: TestService, headers: Record<string, string> = {}, path = '/dev/mailbox', address = '127.0.0.1') =>
  (await fromAddress('127.0.0.1', `http://${address}:${config.port}${path}`, { headers: { host: config.baseHost, ...headers } })).status;

const service = sharedService(() => startTestService({ HOST: '0.0.0.0' }));
beforeAll(async () => {
  administrator = await signedInWith(service, 'environments:read', 'users:read');
  await new Browser(service.url).postJson('/register', { email: 'grace@example.com' });
});
afterAll(async () => {
  for (const one of started) await one.stop();
});

describe('DEV_MAILBOX=local', () => {
  test('answers a direct caller on this machine at the address of its environment', async () => {
    expect(await statusOf(service)).toBe(200);
    const second = await addEnvironment(service.deps, 'second');
    await service.deps.db.knex('environments').where({ id: second.environment.id }).update({ kind: 'development' });
    await expect.poll(() => statusOf(service, { host: `second.${service.config.baseHost}` })).toBe(200);
  });

  test.each([
    ['x-forwarded-for', '127.0.0.1'],
    ['x-forwarded-for', ''],
    ['X-Forwarded-Host', 'localhost'],
    ['x-forwarded-proto', 'http'],
    ['x-forwarded-port', '3000'],
    ['x-forwarded-anything', 'x'],
    ['x-forwarded', 'x'],
    ['forwarded', 'for=127.0.0.1'],
    ['via', '1.1 relay'],
    ['x-real-ip', '127.0.0.1'],
  ])('a request with %s: %s came through a relay: 404 (attack 23.245)', async (name, value) => {
    expect(await statusOf(service, { [name]: value })).toBe(404);
  });

  test.each([
    ['a name that points at this machine', () => 'evil.example'],
    ['its address instead of its name', () => `127.0.0.1:${service.config.port}`],
    ['another port', () => 'localhost:1'],
    ['no port', () => 'localhost'],
    ['an environment that there is not', () => `nowhere.${service.config.baseHost}`],
    ['a name below an environment', () => `x.second.${service.config.baseHost}`],
  ])('the Host is %s: 404 (attack 23.244)', async (_, host) => expect(await statusOf(service, { host: host() })).toBe(404));

  test('HTTP/1.0, which proxies speak to what is behind them: 404', async () => {
    const ask = (version: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(service.config.port, '127.0.0.1', () =>
          socket.write(`GET /dev/mailbox HTTP/${version}\r\nHost: ${service.config.baseHost}\r\nConnection: close\r\n\r\n`),
        );
        let text = '';
        socket.on('data', (chunk) => (text += String(chunk)));
        socket.on('end', () => resolve(text.split('\r\n')[0] ?? ''));
        socket.on('error', reject);
      });
    expect([await ask('1.1'), await ask('1.0')]).toEqual([expect.stringContaining(' 200 '), expect.stringContaining(' 404 ')]);
  });

  test('a caller who comes from another address than loopback: 404 (attack 23.244)', async () => {
    const own = Object.values(networkInterfaces())
      .flat()
      .find((one) => one && !one.internal && one.family === 'IPv4')?.address;
    if (own === undefined) return;
    const answer = await fromAddress(own, `http://${own}:${service.config.port}/dev/mailbox`, {
      headers: { host: service.config.baseHost },
    });
    expect(answer.status).toBe(404);
  });

  test('TRUST_PROXY doesn’t turn a relayed caller into a local one (attack 23.245)', async () => {
    const trusting = await beside({ TRUST_PROXY: 'on' });
    expect(await statusOf(trusting)).toBe(200);
    for (const header of ['x-forwarded-for', 'x-forwarded-host']) expect(await statusOf(trusting, { [header]: '127.0.0.1' })).toBe(404);
  });

  test('the refusal is the one of any address that isn’t there, and the start page names no mailbox', async () => {
    const relayed = { host: service.config.baseHost, 'x-forwarded-for': '192.0.2.1', 'x-request-id': 'same' };
    const ask = async (path: string) =>
      (await fromAddress('127.0.0.1', `http://127.0.0.1:${service.config.port}${path}`, { headers: relayed })).text;
    for (const path of ['/dev/mailbox', `/dev/mailbox/${randomUUID()}`]) expect(await ask(path)).toBe(await ask('/dev/other'));
    expect(await ask('/')).not.toContain('/dev/mailbox');
    expect(await (await fetch(service.url)).text()).toContain('/dev/mailbox');
  });

  test('an old data directory under a public BASE_URL shows nothing, whatever Host is sent (attack 23.246)', async () => {
    const moved = await beside({ BASE_URL: 'https://id.example.com' });
    for (const host of ['id.example.com', 'localhost', `localhost:${moved.config.port}`, service.config.baseHost])
      expect([host, await statusOf(moved, { host })]).toEqual([host, 404]);
    // Its default environment is still of kind development: the start of a program says so, and so does the dashboard.
    const environment = (await moved.context()).environment;
    expect(environment.kind).toBe('development');
    expect(exposureWarnings(moved.config, [environment]).map(({ event }) => event)).toEqual(['exposure.public_development']);
    const cookie = [...administrator.cookies]
      .map(([name, value]) => `${name === 'idp_session' ? '__Host-session' : name}=${value}`)
      .join('; ');
    for (const path of ['/dashboard', '/dashboard/settings']) {
      const page = await fromAddress('127.0.0.1', `http://127.0.0.1:${moved.config.port}${path}`, {
        headers: { host: 'id.example.com', cookie },
      });
      expect([page.status, page.text]).toEqual([
        200,
        expect.stringContaining('of kind development, and https://id.example.com is a public'),
      ]);
      expect(await (await administrator.get(path)).text()).not.toContain('of kind development, and');
    }
  });
});

describe('behind a real proxy on this machine (attack 23.245)', () => {
  const nginx = (port: number, lines: string) =>
    runBeside(
      'nginx',
      (directory) => ['-c', `${directory}/nginx.conf`, '-g', `daemon off; error_log stderr; pid ${directory}/pid;`],
      (directory) => ({
        'nginx.conf': `worker_processes 1; events {} http { access_log off; client_body_temp_path ${directory}; proxy_temp_path ${directory};
          fastcgi_temp_path ${directory}; uwsgi_temp_path ${directory}; scgi_temp_path ${directory};
          server { listen 127.0.0.1:${port}; location / { proxy_pass http://127.0.0.1:${service.config.port}; ${lines} } } }`,
      }),
      port,
    );
  const haproxy = (port: number, lines: string) =>
    runBeside(
      'haproxy',
      (directory) => ['-db', '-f', `${directory}/haproxy.cfg`],
      () => ({
        'haproxy.cfg': `defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\nfrontend in\n  bind 127.0.0.1:${port}\n${lines}  default_backend out\nbackend out\n  server one 127.0.0.1:${service.config.port}\n`,
      }),
      port,
    );
  /** The service behind it is there; the mailbox is not. */
  async function hidesMailbox(proxy: typeof nginx, lines: string, host: string | null): Promise<void> {
    const port = await freePort();
    const between = await proxy(port, lines);
    try {
      const headers = { host: host ?? service.config.baseHost };
      expect((await fromAddress('127.0.0.1', `http://127.0.0.1:${port}/login`, { headers })).status).toBe(200);
      expect((await fromAddress('127.0.0.1', `http://127.0.0.1:${port}/dev/mailbox`, { headers })).status).toBe(404);
    } finally {
      await between.stop();
    }
  }
  needs('nginx').each([
    ['nginx as it comes', '', 'id.example.com'],
    ['nginx that names the service to itself', 'proxy_set_header Host $host:$proxy_port;', 'localhost'],
    ['nginx that passes on where a request came from', 'proxy_set_header X-Forwarded-For $remote_addr; proxy_http_version 1.1;', null],
  ])('%s: 404', (_, lines, host) => hidesMailbox(nginx, lines, host));
  needs('haproxy').each([
    ['haproxy as it comes', '', 'id.example.com'],
    ['haproxy that says whom it speaks for', '  option forwardfor\n', null],
  ])('%s: 404', (_, lines, host) => hidesMailbox(haproxy, lines, host));
});

test('DEV_MAILBOX=off: nobody; on: every caller, while the rest holds', async () => {
  expect(await statusOf(await beside({ DEV_MAILBOX: 'off' }))).toBe(404);
  const open = await beside({ DEV_MAILBOX: 'on' });
  expect(await statusOf(open, { 'x-forwarded-for': '192.0.2.1', host: 'identity-provider:3000' })).toBe(200);
  await service.deps.db.knex('environments').update({ kind: 'staging' });
  await expect.poll(() => statusOf(open)).toBe(404);
  await expect.poll(() => statusOf(service)).toBe(404);
});

test('what the start says of its addresses', () => {
  const local = { loopback: true, baseUrl: 'http://localhost:3000', host: '127.0.0.1', listensBeyondLoopback: false } as const;
  const quiet = { ...local, devMailbox: 'local', trustProxy: false } as const;
  const events = (changes: object, kind: 'development' | 'production' = 'development') =>
    exposureWarnings({ ...quiet, ...changes }, [{ slug: 'default', kind }]).map(({ event }) => event);
  expect(events({})).toEqual([]);
  expect(events({ host: '0.0.0.0', listensBeyondLoopback: true })).toEqual(['exposure.listens_beyond_loopback']);
  expect(events({ devMailbox: 'on' })).toEqual(['exposure.mailbox']);
  const elsewhere = { loopback: false, baseUrl: 'https://id.example.com' };
  expect(events(elsewhere)).toEqual(['exposure.public_development']);
  expect(events({ ...elsewhere, host: '0.0.0.0', listensBeyondLoopback: true }, 'production')).toEqual([]);
  expect(events({ ...elsewhere, trustProxy: true }, 'production')).toEqual(['exposure.trust_proxy']);
});
