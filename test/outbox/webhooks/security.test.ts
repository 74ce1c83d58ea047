// Webhooks under attack (docs/security.md, attacks of section 16).
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { SecureVersion } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { transaction, type Context } from '../../../src/domain/context.js';
import { webhookProblems } from '../../../src/domain/webhooks/input.js';
import { deleteWebhook, sendTest, updateWebhook } from '../../../src/domain/webhooks/webhooks.js';
import { type WebhookDeliveryAttemptRow } from '../../../src/db/tables/webhook_deliveries.js';
import { listAttempts, listDeliveries } from '../../support/deliveries.js';
import { createGuardedFetch } from '../../../src/platform/fetch/fetch.js';
import { selfSigned } from '../../support/certificates.js';
import { addClient, addEnvironment, addGrant, addResource } from '../../support/data.js';
import { tokenRequest } from '../../support/oauth.js';
import { startReceiver, type Receiver, type Reply } from '../../support/receiver.js';
import { startTestService, type TestService } from '../../support/service.js';
import { addWebhook, emitRoles, eventually, settledDeliveries } from '../../support/webhooks.js';

/** One attempt each: the second would come an hour later. */
const once_ = { WEBHOOK_RETRY_BASE_MS: '3600000', WEBHOOK_TIMEOUT_MS: '1500' };
const authority = selfSigned({ name: 'Test authority', authority: true });
/** Where the names of the tests lead; the last answer stays. */
const names = new Map<string, string[][]>();
let openService: TestService;
let closedService: TestService;
let open: Context;
let closed: Context;
const cleanups: (() => unknown)[] = [];

async function resolve(name: string): Promise<string[]> {
  const answers = names.get(name.replace(/\.$/, '').toLowerCase());
  if (!answers) throw new Error('NXDOMAIN');
  return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
}

beforeAll(async () => {
  const trustedCertificates = [authority.cert];
  openService = await startTestService(once_, {
    overrides: { fetch: createGuardedFetch({ allowPrivateNetwork: true, resolve, trustedCertificates }) },
  });
  closedService = await startTestService(
    { ...once_, ALLOW_PRIVATE_NETWORK: 'off' },
    { overrides: { fetch: createGuardedFetch({ allowPrivateNetwork: false, resolve, trustedCertificates }) } },
  );
  open = await openService.context();
  closed = await closedService.context();
});
afterAll(async () => {
  await openService?.stop();
  await closedService?.stop();
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function receive(reply: Reply = 200): Promise<Receiver> {
  const receiver = await startReceiver(reply);
  cleanups.push(() => receiver.close());
  return receiver;
}

async function listen<S extends Server>(server: S): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Sends a test to the address and returns its first attempt. */
async function firstAttempt(ctx: Context, url: string): Promise<WebhookDeliveryAttemptRow> {
  const { webhook } = await addWebhook(ctx, url);
  const sent = await transaction(ctx, (tx) => sendTest(tx, webhook, { actor_kind: 'system', actor_id: null }));
  const attempt = await eventually(async () => (await listAttempts(ctx.scope, [sent.id]))[0]);
  await transaction(ctx, (tx) => deleteWebhook(tx, webhook.id));
  return attempt;
}

const codeOf = (url: string, allowPrivateNetwork: boolean) => webhookProblems({ url }, { allowPrivateNetwork })[0]?.code;

const privateHosts = [
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '127.0.0.1',
  '127.8.8.8',
  'localhost',
  'api.localhost',
  'localhost.',
  '100.64.0.1',
  '[fd12::1]',
  '[::1]',
];
const neverHosts = [
  '169.254.1.1',
  '169.254.169.254',
  '0.0.0.0',
  '0.1.2.3',
  '224.0.0.1',
  '255.255.255.255',
  '192.0.2.1',
  '198.51.100.7',
  '203.0.113.9',
  '240.0.0.1',
  '[fe80::1]',
  '[ff02::1]',
  '[fd00:ec2::254]',
  '[::]',
  'metadata.google.internal',
  'metadata.google.internal.',
];

describe('addresses inside', () => {
  test.each(privateHosts)('%s is refused at creation and change unless private networks are allowed (attack 16.186)', (host) => {
    expect(codeOf(`https://${host}/hook`, false)).toBe('url_address');
    expect(codeOf(`https://${host}/hook`, true)).toBeUndefined();
  });

  test.each(neverHosts)('%s is refused always (attack 16.186)', (host) => {
    expect(codeOf(`https://${host}/hook`, false)).toBe('url_address');
    expect(codeOf(`https://${host}/hook`, true)).toBe('url_address');
  });

  test('an address inside that slips in is blocked at delivery, and nothing connects (attack 16.186)', async () => {
    const receiver = await receive();
    expect(await firstAttempt(closed, receiver.url.replace('http:', 'https:'))).toMatchObject({
      failure_reason: 'blocked_address',
      response_status: null,
      response_body: null,
    });
    expect(await firstAttempt(open, 'http://169.254.169.254/latest/meta-data')).toMatchObject({ failure_reason: 'blocked_address' });
    expect(receiver.posts).toEqual([]);
  });
});

test.each([
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '127.1',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '0x7f000001',
  '017700000001',
])('%s is seen through (attack 16.187)', async (host) => {
  expect(codeOf(`https://${host}/hook`, false)).toBe('url_address');
  expect(await firstAttempt(closed, `https://${host}/hook`)).toMatchObject({ failure_reason: 'blocked_address' });
});

test.each([
  ['a private A', [['10.0.0.7']]],
  ['a private AAAA', [['fd00::7']]],
  ['a public and a private answer', [['93.184.216.34', '127.0.0.1']]],
  ['a mapped private address', [['::ffff:10.0.0.7']]],
])('a name that leads to %s is blocked at connect time (attack 16.189)', async (_what, answers) => {
  names.set('inside.example', answers);
  for (const host of ['inside.example', 'inside.example.', 'INSIDE.example']) {
    expect(codeOf(`https://${host}/`, false)).toBeUndefined();
    expect(await firstAttempt(closed, `https://${host}/`)).toMatchObject({ failure_reason: 'blocked_address' });
  }
});

test('tricks with brackets are no addresses (attack 16.189)', () => {
  for (const host of ['[::1%25eth0]', '[127.0.0.1]', '127.0.0.1]', '[[::1]]'])
    expect(codeOf(`https://${host}/`, false)).toBe('url_invalid');
});

test('rebinding finds no gap between look-up and connection; Host keeps the name (attack 16.190)', async () => {
  const receiver = await receive((_post, res) => res.end());
  const { port } = new URL(receiver.url);
  names.set('rebind.example', [['127.0.0.1'], ['169.254.169.254']]);
  expect(await firstAttempt(open, `http://rebind.example:${port}/`)).toMatchObject({ failure_reason: null });
  expect(receiver.posts[0]?.headers.host).toBe(`rebind.example:${port}`);
  expect(await firstAttempt(open, `http://rebind.example:${port}/`)).toMatchObject({ failure_reason: 'blocked_address' });
  names.set('rebind.example', [['93.184.216.34'], ['127.0.0.1']]);
  await resolve('rebind.example');
  expect(await firstAttempt(closed, `https://rebind.example:${port}/`)).toMatchObject({ failure_reason: 'blocked_address' });
  expect(receiver.posts).toHaveLength(1);
});

test.each([
  ['file:///etc/passwd', 'url_scheme'],
  ['gopher://example.com/', 'url_scheme'],
  ['ftp://example.com/', 'url_scheme'],
  ['data:text/plain,x', 'url_scheme'],
  ['ws://example.com/', 'url_scheme'],
  ['javascript:alert(1)', 'url_scheme'],
  ['https://user@example.com/', 'url_userinfo'],
  ['https://user:pass@example.com/', 'url_userinfo'],
  ['https://:@example.com/', 'url_userinfo'],
  ['https://example.com/#x', 'url_fragment'],
  ['https://example.com:0/', 'url_port'],
  ['https://example.com:22/', 'url_port'],
  ['https://example.com:25/', 'url_port'],
  ['https://example.com:6379/', 'url_port'],
  ['https://', 'url_invalid'],
  ['/hook', 'url_invalid'],
  [`https://example.com/${'x'.repeat(2048)}`, 'url_invalid'],
])('%s is refused with %s (attack 16.192)', (url, code) => {
  expect(codeOf(url, false)).toBe(code);
  expect(codeOf(url, true)).toBe(code);
});

test('http only where private networks are allowed (attack 16.192)', () => {
  expect(codeOf('http://example.com/', false)).toBe('url_scheme');
  expect(codeOf('http://example.com/', true)).toBeUndefined();
  expect(codeOf('https://example.com:8443/hook?x=1', false)).toBeUndefined();
});

test('proxy variables are not obeyed (attack 16.193)', async () => {
  const proxy = await receive();
  const receiver = await receive();
  const variables = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'all_proxy'];
  for (const name of variables) process.env[name] = proxy.url;
  cleanups.push(() => {
    for (const name of variables) delete process.env[name];
  });
  expect(await firstAttempt(open, receiver.url)).toMatchObject({ response_status: 200 });
  expect([proxy.posts.length, receiver.posts.length]).toEqual([0, 1]);
});

describe('what would break a header', () => {
  test('CR, LF and control characters in name or url are refused (attack 16.195)', () => {
    const problems = (input: object) =>
      webhookProblems(input, { allowPrivateNetwork: true }).map(({ attribute, code }) => `${attribute} ${code}`);
    expect(problems({ name: 'a\r\nX: y' })).toEqual(['name invalid_characters']);
    expect(problems({ name: ' ' })).toEqual(['name required']);
    expect(problems({ name: 'x'.repeat(256) })).toEqual(['name too_long']);
    expect(problems({ url: 'https://example.com/\r\nX: y' })).toEqual(['url url_invalid']);
    expect(problems({ url: 'https://example.com/\tx' })).toEqual(['url url_invalid']);
    expect(problems({ events: ['user.created\r\nX: y'] })).toEqual(['events unknown_event_type']);
    expect(problems({ events: [] })).toEqual(['events required']);
    expect(problems({ events: ['user.created', 'user.created'] })).toEqual(['events duplicate_value']);
    expect(problems({ description: 'a\0b' })).toEqual(['description invalid_characters']);
    expect(problems({ name: 'Zoë 日本', url: 'https://example.com/', events: ['*'], description: 'x\ny' })).toEqual([]);
  });

  test('other alphabets in name and url leave the headers clean (attack 16.195)', async () => {
    const receiver = await receive();
    const { webhook } = await addWebhook(open, `${receiver.url}/häkchen?q=日本`, { name: 'Zoë 日本' });
    await transaction(open, (tx) => sendTest(tx, webhook, { actor_kind: 'system', actor_id: null }));
    const [post] = await receiver.received(1);
    expect(post?.path).toBe('/h%C3%A4kchen?q=%E6%97%A5%E6%9C%AC');
    expect(post?.headers).toMatchObject({
      'x-service-event': 'webhook.test',
      'user-agent': 'Service-Webhook/1.0',
      'content-type': 'application/json',
    });
    await settledDeliveries(open, webhook.id);
  });
});

describe('receivers that hold on', () => {
  test('no answer, and headers dripping in, end at the deadline (attack 16.196)', async () => {
    const silent = await listen(createTcpServer());
    const dripping = await listen(
      createTcpServer((socket) => {
        const timer = setInterval(() => socket.write('H'), 100);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    const attempts = await Promise.all([silent, dripping].map((port) => firstAttempt(open, `http://127.0.0.1:${port}/`)));
    for (const attempt of attempts) expect(['timeout', 'connect']).toContain(attempt.failure_reason);
    expect(attempts[0]).toMatchObject({ failure_reason: 'timeout', response_status: null });
    for (const attempt of attempts) expect(attempt.duration_ms).toBeLessThan(9_000);
  });

  test('endless headers are no answer (attack 16.196)', async () => {
    const port = await listen(
      createTcpServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const timer = setInterval(() => socket.write(`X-${'a'.repeat(1000)}: b\r\n`.repeat(20)), 5);
        socket.on('close', () => clearInterval(timer));
      }),
    );
    expect(await firstAttempt(open, `http://127.0.0.1:${port}/`)).toMatchObject({ failure_reason: 'connect', response_status: null });
  });

  test('of a huge body 16 KiB are read, and a dripping one for a second; the status counts (attack 16.196)', async () => {
    let written = 0;
    const huge = await receive((_post, res) => {
      const more = () => {
        while (!res.destroyed && res.write('x'.repeat(65_536))) written += 65_536;
        if (!res.destroyed) res.once('drain', more);
      };
      more();
    });
    const attempt = await firstAttempt(open, huge.url);
    expect(attempt).toMatchObject({ failure_reason: null, response_status: 200, response_truncated: true });
    expect(attempt.response_body).toBe('x'.repeat(16_384));
    expect(written).toBeLessThan(64 * 1024 * 1024);
    const dripping = await receive((_post, res) => {
      res.writeHead(200).write('ab');
      const timer = setInterval(() => res.write('c'), 100);
      res.on('close', () => clearInterval(timer));
    });
    const slow = await firstAttempt(open, dripping.url);
    expect(slow).toMatchObject({ failure_reason: null, response_status: 200, response_truncated: true });
    expect(slow.duration_ms).toBeLessThan(9_000);
  });

  test('a compressed bomb stays compressed (attack 16.196)', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const receiver = await receive((_post, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    const attempt = await firstAttempt(open, receiver.url);
    expect(attempt.failure_reason).toBeNull();
    expect(attempt.response_body?.length).toBeLessThanOrEqual(16_384);
  });

  test('a body that is no text is made storable (attack 16.196)', async () => {
    const receiver = await receive((_post, res) => res.writeHead(200).end(Buffer.from([0x61, 0x00, 0xff, 0xc3, 0xa9, 0xed, 0xa0, 0x80])));
    expect((await firstAttempt(open, receiver.url)).response_body).toMatch(/^a\uFFFD\uFFFDé\uFFFD+$/);
    const cut = await receive((_post, res) => res.writeHead(200).end('é'.repeat(10_000) + 'x'));
    expect((await firstAttempt(open, cut.url)).response_body).toBe('é'.repeat(8192));
  });
});

test.each([
  [200, null],
  [204, null],
  [299, null],
  [300, 'redirect'],
  [301, 'redirect'],
  [304, 'redirect'],
  [307, 'redirect'],
  [400, 'non_2xx'],
  [401, 'non_2xx'],
  [410, 'non_2xx'],
  [429, 'non_2xx'],
  [500, 'non_2xx'],
  [599, 'non_2xx'],
])('an answer %i is recorded as %s (attack 16.198)', async (status, failure_reason) => {
  const receiver = await receive((_post, res) => res.writeHead(status, { location: '/elsewhere' }).end());
  expect(await firstAttempt(open, receiver.url)).toMatchObject({ response_status: status, failure_reason });
  expect(receiver.posts).toHaveLength(1);
});

test.each([
  'HTTP/1.1 600 Odd\r\ncontent-length: 0\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
  'SSH-2.0-OpenSSH\r\n',
])('%j is no success (attack 16.198)', async (answer) => {
  const port = await listen(createTcpServer((socket) => void socket.once('data', () => socket.end(answer))));
  expect((await firstAttempt(open, `http://127.0.0.1:${port}/`)).failure_reason).toMatch(/^(non_2xx|connect)$/);
});

describe('certificates', () => {
  const past = new Date(Date.now() - 1000);
  const bad = {
    'self-signed': selfSigned({ name: 'receiver.example' }),
    expired: authority.issue({ name: 'receiver.example', notAfter: past }),
    'of another name': authority.issue({ name: 'other.example' }),
  };
  async function https(certificate: { cert: string; key: string }, maxVersion?: SecureVersion) {
    let requests = 0;
    const options = {
      cert: certificate.cert,
      key: certificate.key,
      ...(maxVersion && { maxVersion, minVersion: maxVersion, ciphers: 'ALL:@SECLEVEL=0' }),
    };
    const server = createHttpsServer(options, (_req, res) => {
      requests += 1;
      res.end();
    });
    const port = await listen(server);
    names.set('receiver.example', [['127.0.0.1']]);
    return { url: `https://receiver.example:${port}/`, requests: () => requests };
  }

  test.each(Object.entries(bad))(
    'a certificate that is %s fails the attempt, and the body is never sent (attack 16.199)',
    async (_what, certificate) => {
      const { url, requests } = await https(certificate);
      expect(await firstAttempt(open, url)).toMatchObject({ failure_reason: 'tls', response_status: null });
      expect(requests()).toBe(0);
    },
  );

  test('TLS 1.0 is refused, a proper certificate accepted (attack 16.199)', async () => {
    const good = authority.issue({ name: 'receiver.example' });
    expect(await firstAttempt(open, (await https(good, 'TLSv1')).url)).toMatchObject({ failure_reason: 'tls' });
    expect(await firstAttempt(open, (await https(good)).url)).toMatchObject({ failure_reason: null, response_status: 200 });
  });
});

describe('whose events', () => {
  test('an event of one environment never reaches a webhook of another (attack 16.201)', async () => {
    const receiver = await receive();
    const other = await addEnvironment(openService.deps, 'other');
    const { webhook } = await addWebhook(other, `${receiver.url}/other`);
    const own = await addWebhook(open, `${receiver.url}/own`);
    await emitRoles(open);
    await settledDeliveries(open, own.webhook.id);
    expect(await listDeliveries(other.scope, { webhook_id: webhook.id }, { limit: 1 })).toEqual([]);
    expect(await listDeliveries(other.scope, { webhook_id: own.webhook.id }, { limit: 1 })).toEqual([]);
    expect(receiver.posts.map((post) => post.path)).toEqual(['/own']);
    await transaction(open, (tx) => deleteWebhook(tx, own.webhook.id));
  });

  test.each(['deleted', 'disabled'])('a webhook that is %s with deliveries pending gets none of them (attack 16.201)', async (what) => {
    const receiver = await receive((_post, res) => res.writeHead(503, { 'retry-after': '1' }).end());
    const { webhook } = await addWebhook(open, receiver.url);
    await emitRoles(open);
    await receiver.received(1);
    await transaction(open, async (tx) => {
      if (what === 'deleted') await deleteWebhook(tx, webhook.id);
      else await updateWebhook(tx, webhook, { status: 'disabled' });
    });
    const left = () => listDeliveries(open.scope, { webhook_id: webhook.id }, { limit: 10 });
    // One whose answer comes in at that very moment is held until its lease (10.5 s) ends.
    if (what === 'deleted') await eventually(async () => (await left()).length === 0, 20_000);
    else expect(await settledDeliveries(open, webhook.id)).toMatchObject([{ status: 'failed', failure_reason: 'webhook_disabled' }]);
    expect(receiver.posts).toHaveLength(1);
  });
});

test('the payload of token.issued holds neither the token nor a secret (attack 16.202)', async () => {
  const receiver = await receive();
  const { webhook, signing_secret } = await addWebhook(open, receiver.url, { events: ['token.issued'] });
  const client = await addClient(open, { grant_types: ['client_credentials'], application_type: 'machine' });
  const resource = await addResource(open);
  await addGrant(open, client, resource);
  const answer = await tokenRequest(openService.url, client, { grant_type: 'client_credentials', resource: resource.identifier });
  expect(answer.status).toBe(200);
  const [post] = await receiver.received(1);
  for (const secret of [answer.body.access_token, client.client_secret, signing_secret]) expect(post?.body).not.toContain(secret);
  expect(JSON.parse(post?.body ?? '')).toMatchObject({
    event: 'token.issued',
    data: { client_id: client.id, token_type: 'Bearer', user_id: null },
  });
  expect(openService.log.join('\n')).not.toContain(signing_secret);
  await transaction(open, (tx) => deleteWebhook(tx, webhook.id));
});
