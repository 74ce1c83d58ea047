import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createSecureContext, type SecureVersion } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { customFetch, createRemoteJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createGuardedFetch, OutboundError, type GuardedFetch, type OutboundReason } from '../../../src/platform/fetch/fetch.js';
import { selfSigned, type TestCertificate } from '../../support/certificates.js';

async function listen<S extends Server | HttpServer>(server: S): Promise<{ port: number; server: S; connections: () => number }> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, server, connections: () => connections };
}
const http = (listener: RequestListener) => listen(createHttpServer(listener));
const tcp = (onSocket: (socket: Socket) => void) => listen(createTcpServer(onSocket));

function guarded(options: Partial<Parameters<typeof createGuardedFetch>[0]> = {}): GuardedFetch {
  const fetch = createGuardedFetch({ allowPrivateNetwork: true, ...options });
  onTestFinished(() => fetch.close());
  return fetch;
}

async function failure(work: Promise<unknown>): Promise<{ reason: OutboundReason; ms: number }> {
  const started = performance.now();
  const error = await work.then(
    () => null,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(OutboundError);
  return { reason: (error as OutboundError).reason, ms: performance.now() - started };
}

describe('an exchange', () => {
  test('sends exactly the headers it is given, and what HTTP needs', async () => {
    const { port } = await http((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () =>
        res.end(JSON.stringify({ names: req.rawHeaders.filter((_, i) => i % 2 === 0), body: String(Buffer.concat(chunks)) })),
      );
    });
    const answer = await guarded().request(`http://127.0.0.1:${port}/hook?a=b`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'Service-Webhook/1.0' },
      body: '{"é":1}',
    });
    expect(answer).toMatchObject({ status: 200, truncated: false });
    const seen = JSON.parse(answer.body.toString()) as { names: string[]; body: string };
    expect(seen.body).toBe('{"é":1}');
    expect(seen.names.map((name) => name.toLowerCase()).sort()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ]);
    expect(answer.duration_ms).toBeGreaterThanOrEqual(0);
    expect(Number.isInteger(answer.duration_ms)).toBe(true);
  });

  test('keeps connections and names: localhost resolves without a name server', async () => {
    const hosts: string[] = [];
    const { port, connections } = await http((req, res) => {
      hosts.push(req.headers.host ?? '');
      res.end('ok');
    });
    const { request } = guarded();
    for (let i = 0; i < 5; i++) await request(`http://localhost:${port}/`);
    await request(`http://app.localhost:${port}/`);
    expect(connections()).toBeLessThanOrEqual(3);
    expect(hosts).toEqual([...Array<string>(5).fill(`localhost:${port}`), `app.localhost:${port}`]);
  });

  test('opens at most 16 connections to one origin', async () => {
    let open = 0;
    let most = 0;
    const { port, connections } = await http((_req, res) => {
      most = Math.max(most, ++open);
      setImmediate(() => {
        open--;
        res.end('ok');
      });
    });
    const { request } = guarded();
    await Promise.all(Array.from({ length: 64 }, () => request(`http://127.0.0.1:${port}/`)));
    expect(connections()).toBeLessThanOrEqual(16);
    expect(most).toBeLessThanOrEqual(16);
  });

  test.each([301, 302, 303, 307, 308])('does not follow a %i', async (status) => {
    const { port, connections } = await http((req, res) => res.writeHead(req.url === '/' ? status : 200, { Location: '/next' }).end());
    const answer = await guarded().request(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' });
    expect(answer).toMatchObject({ status, headers: { location: '/next' } });
    expect(connections()).toBe(1);
  });

  test.each([204, 299, 304, 404, 410, 429, 500, 600])('returns a %i as it is', async (status) => {
    const { port } = await http((_req, res) => res.writeHead(status).end());
    expect((await guarded().request(`http://127.0.0.1:${port}/`)).status).toBe(status);
  });

  test('a header with a line end is refused (attack 16.195)', async () => {
    const { port, connections } = await http((_req, res) => res.end());
    const work = guarded().request(`http://127.0.0.1:${port}/`, { headers: { 'X-A': 'b\r\nX-Evil: 1' } });
    expect((await failure(work)).reason).toBe('protocol');
    expect(connections()).toBe(0);
  });

  test('proxy variables are ignored (attack 16.193)', async () => {
    const proxy = await tcp((socket) => socket.destroy());
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'NODE_USE_ENV_PROXY'];
    const before = names.map((name) => process.env[name]);
    for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`;
    onTestFinished(() =>
      names.forEach((name, i) => {
        if (before[i] === undefined) delete process.env[name];
        else process.env[name] = before[i];
      }),
    );
    const { port } = await http((_req, res) => res.end('direct'));
    const { request, fetch } = guarded();
    expect(String((await request(`http://127.0.0.1:${port}/`)).body)).toBe('direct');
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('direct');
    expect(proxy.connections()).toBe(0);
  });
});

describe('bodies', () => {
  test('are read to the cap, then the connection is dropped (attack 16.196)', async () => {
    let dropped: (value: unknown) => void = () => {};
    const closed = new Promise((resolve) => (dropped = resolve));
    const { port } = await http((_req, res) => {
      res.on('close', dropped);
      const more = () => {
        while (!res.destroyed && res.write(Buffer.alloc(65_536, 'x')));
      };
      res.on('drain', more);
      more();
    });
    const answer = await guarded().request(`http://127.0.0.1:${port}/`, { maxResponseBytes: 16_384 });
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(answer.body).toHaveLength(16_384);
    await closed;
  });

  test('of exactly the cap are whole', async () => {
    const { port } = await http((_req, res) => res.end('x'.repeat(1000)));
    const { request } = guarded();
    expect(await request(`http://127.0.0.1:${port}/`, { maxResponseBytes: 1000 })).toMatchObject({ truncated: false });
    expect(await request(`http://127.0.0.1:${port}/`, { maxResponseBytes: 999 })).toMatchObject({ truncated: true });
  });

  test('are never decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const { port } = await http((_req, res) => res.writeHead(200, { 'Content-Encoding': 'gzip' }).end(bomb));
    const { request, fetch } = guarded();
    expect((await request(`http://127.0.0.1:${port}/`)).body.equals(bomb)).toBe(true);
    expect((await (await fetch(`http://127.0.0.1:${port}/`)).arrayBuffer()).byteLength).toBe(bomb.length);
  });

  test('that drip past the deadline are a time-out', async () => {
    const { port } = await http((_req, res) => {
      const timer = setInterval(() => res.write('x'), 20);
      res.on('close', () => clearInterval(timer));
    });
    const { reason, ms } = await failure(guarded().request(`http://127.0.0.1:${port}/`, { timeoutMs: 200 }));
    expect(reason).toBe('timeout');
    expect(ms).toBeLessThan(9_000);
  });

  test.each([
    ['their own limit', { bodyTimeoutMs: 100, timeoutMs: 10_000 }],
    ['the deadline', { bodyTimeoutMs: 10_000, timeoutMs: 200 }],
  ])('that drip past %s are cut off where the caller says so', async (_name, limits) => {
    const { port } = await http((_req, res) => {
      res.write('start');
      const timer = setInterval(() => res.write('x'), 20);
      res.on('close', () => clearInterval(timer));
    });
    const started = performance.now();
    const answer = await guarded().request(`http://127.0.0.1:${port}/`, limits);
    expect(answer).toMatchObject({ status: 200, truncated: true });
    expect(String(answer.body)).toMatch(/^startx*$/);
    expect(performance.now() - started).toBeLessThan(9_000);
  });

  test('that end before their length are a failure', async () => {
    const { port } = await http((_req, res) => {
      res.writeHead(200, { 'Content-Length': '100' });
      res.write('short', () => res.destroy());
    });
    expect((await failure(guarded().request(`http://127.0.0.1:${port}/`))).reason).toMatch(/^(connect|protocol)$/);
  });
});

describe('no answer', () => {
  test('within the deadline is a time-out, and the connection is dropped', async () => {
    let dropped: (value: unknown) => void = () => {};
    const closed = new Promise((resolve) => (dropped = resolve));
    const { port } = await tcp((socket) => socket.on('close', dropped).resume());
    const { reason, ms } = await failure(guarded().request(`http://127.0.0.1:${port}/`, { timeoutMs: 150 }));
    expect(reason).toBe('timeout');
    expect(ms).toBeGreaterThanOrEqual(50);
    expect(ms).toBeLessThan(9_000);
    await closed;
  });

  test('since all connections hang, is a time-out for those that wait too', async () => {
    const { port, connections } = await tcp((socket) => socket.resume());
    const { request } = guarded();
    const works = Array.from({ length: 20 }, () => failure(request(`http://127.0.0.1:${port}/`, { timeoutMs: 200 })));
    for (const { reason, ms } of await Promise.all(works)) {
      expect(reason).toBe('timeout');
      expect(ms).toBeLessThan(9_000);
    }
    expect(connections()).toBeLessThanOrEqual(32);
  });

  test('at once, since 64 others wait for the same host; other hosts and pools are asked, and the host again when one of them has ended', async () => {
    const waiting: ServerResponse[] = [];
    const { port } = await http((_req, res) => void waiting.push(res));
    const other = await http((_req, res) => res.end('well'));
    const { request, queue } = guarded();
    const ask = (pool = '') => request(`http://127.0.0.1:${port}/`, { timeoutMs: 10_000, pool });
    const hanging = Array.from({ length: 64 }, () => ask());
    const refused = await failure(ask());
    expect(refused.reason).toBe('busy');
    expect(refused.ms).toBeLessThan(9_000);
    expect(queue()).toMatchObject({ length: 64, refused: 1 });
    expect((await request(`http://127.0.0.1:${other.port}/`)).status).toBe(200);
    const ofAnotherPool = ask('mail');
    // 16 connections of the one pool, and one of the other.
    await expect.poll(() => waiting.length).toBe(17);
    expect(queue()).toMatchObject({ length: 65, refused: 1 });

    waiting.shift()?.end('at last');
    await Promise.race(hanging);
    hanging.push(ask(), ofAnotherPool);
    const answering = setInterval(() => waiting.splice(0).forEach((res) => res.end('at last')), 5);
    onTestFinished(() => clearInterval(answering));
    expect((await Promise.all(hanging)).map(({ status }) => status)).toEqual(Array(66).fill(200));
    expect(queue()).toMatchObject({ length: 0, refused: 1 });
  });

  test('since the name server is silent, is a time-out at the deadline (fault F35)', async () => {
    const { request } = guarded({ resolve: () => new Promise(() => {}) });
    const { reason, ms } = await failure(request('http://slow.example/', { timeoutMs: 150 }));
    expect(reason).toBe('timeout');
    expect(ms).toBeLessThan(9_000);
  });

  test('because of an unknown name', async () => {
    const { request } = guarded({ resolve: () => Promise.reject(new Error('NXDOMAIN')) });
    expect((await failure(request('http://nowhere.example/'))).reason).toBe('dns');
    const empty = guarded({ resolve: () => Promise.resolve([]) });
    expect((await failure(empty.request('http://nowhere.example/'))).reason).toBe('dns');
    expect((await failure(guarded().request('http://nowhere.invalid/'))).reason).toBe('dns');
  });

  test('because nobody listens', async () => expect((await failure(guarded().request('http://127.0.0.1:1024/'))).reason).toBe('connect'));

  test('because the connection is reset', async () => {
    const { port } = await tcp((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect((await failure(guarded().request(`http://127.0.0.1:${port}/`))).reason).toBe('connect');
  });

  test.each([
    ['not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'protocol'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', 'protocol'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx', 'protocol'],
  ])('but %s', async (_name, bytes, reason) => {
    const { port } = await tcp((socket) => socket.once('data', () => socket.write(bytes)));
    expect((await failure(guarded().request(`http://127.0.0.1:${port}/`, { timeoutMs: 2000 }))).reason).toBe(reason);
  });

  test('but endless headers', async () => {
    const { port } = await tcp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = () => {
        while (!socket.destroyed && socket.write(`X-${'a'.repeat(100)}: ${'b'.repeat(1000)}\r\n`));
      };
      socket.on('drain', more);
      socket.once('data', more);
    });
    expect((await failure(guarded().request(`http://127.0.0.1:${port}/`, { timeoutMs: 5000 }))).reason).toBe('too_large');
  });

  test('because the caller gave up', async () => {
    const { port } = await tcp((socket) => socket.resume());
    const controller = new AbortController();
    const work = guarded().request(`http://127.0.0.1:${port}/`, { signal: controller.signal });
    controller.abort(new Error('stopping'));
    await expect(work).rejects.toThrow('stopping');
    await expect(guarded().request(`http://127.0.0.1:${port}/`, { signal: controller.signal })).rejects.toThrow('stopping');
  });
});

describe('the guard', () => {
  test('opens no socket to a literal that is not allowed', async () => {
    const { port, connections } = await http((_req, res) => res.end());
    const { request, fetch } = guarded({ allowPrivateNetwork: false });
    for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', '0.0.0.0']) {
      expect((await failure(request(`http://${host}:${port}/`, { allowHttp: true }))).reason).toBe('blocked_address');
    }
    expect((await failure(request(`http://127.0.0.1:${port}/`))).reason).toBe('protocol');
    expect((await failure(fetch(`https://127.0.0.1:${port}/`))).reason).toBe('blocked_address');
    expect(connections()).toBe(0);
  });

  test.each([
    ['private', ['10.0.0.1']],
    ['loopback', ['127.0.0.1']],
    ['IPv6 loopback', ['::1']],
    ['mapped', ['::ffff:127.0.0.1']],
    ['one public and one private', ['8.8.8.8', '192.168.0.1']],
    ['metadata', ['169.254.169.254']],
    ['not an address', ['localhost']],
  ])('opens no socket for a name with answers: %s (attack 16.189)', async (_name, addresses) => {
    const { port, connections } = await http((_req, res) => res.end());
    const { request } = guarded({ allowPrivateNetwork: false, resolve: async () => addresses });
    expect((await failure(request(`https://name.example:${port}/`))).reason).toBe('blocked_address');
    expect(connections()).toBe(0);
  });

  test('refuses metadata and link-local addresses where private ones are allowed', async () => {
    const { request } = guarded({ resolve: async (name) => [name === 'link.example' ? 'fe80::1' : '169.254.169.254'] });
    for (const url of ['http://meta.example/', 'http://link.example/', 'http://169.254.169.254/', 'http://metadata.google.internal/']) {
      expect((await failure(request(url))).reason).toBe('blocked_address');
    }
  });

  test('goes only where the vetted answer led: a name that turns private is blocked (attack 16.190)', async () => {
    const hosts: string[] = [];
    const { port, connections } = await http((req, res) => {
      hosts.push(req.headers.host ?? '');
      res.setHeader('Connection', 'close');
      res.end();
    });
    const answers = [['127.0.0.1'], ['169.254.169.254'], ['127.0.0.1', '169.254.169.254']];
    let asked = 0;
    const { request } = guarded({ resolve: async () => answers[asked++] ?? [] });
    expect((await request(`http://rebind.example:${port}/`)).status).toBe(200);
    expect((await failure(request(`http://rebind.example:${port}/`))).reason).toBe('blocked_address');
    expect((await failure(request(`http://rebind.example:${port}/`))).reason).toBe('blocked_address');
    expect(asked).toBe(3);
    expect(connections()).toBe(1);
    expect(hosts).toEqual([`rebind.example:${port}`]);
  });

  test.each(['ftp://127.0.0.1/', 'http://user:pw@127.0.0.1/', 'http://127.0.0.1/#x', 'nonsense'])('refuses %s', async (url) => {
    expect((await failure(guarded().request(url))).reason).toBe('protocol');
  });

  test('refuses the ports of other services', async () =>
    expect((await failure(guarded().request('http://127.0.0.1:6379/'))).reason).toBe('blocked_address'));
});

describe('TLS (attack 16.199)', () => {
  const authority = selfSigned({ name: 'Test Authority', authority: true });
  const receiver = async ({ cert, key }: TestCertificate, versions: { maxVersion?: SecureVersion; minVersion?: SecureVersion } = {}) => {
    let requests = 0;
    const server = createHttpsServer({ cert, key, ...versions }, (_req, res) => {
      requests++;
      res.end('sealed');
    });
    return { ...(await listen(server)), requests: () => requests };
  };

  test('a certificate of a known authority for this name is accepted', async () => {
    const { port } = await receiver(authority.issue({ name: 'localhost' }));
    const { request } = guarded({ trustedCertificates: [authority.cert] });
    expect(String((await request(`https://localhost:${port}/`, { method: 'POST', body: 'x' })).body)).toBe('sealed');
  });

  test.each([
    ['self-signed', selfSigned({ name: 'localhost' })],
    ['of an unknown authority', selfSigned({ name: 'Other Authority', authority: true }).issue({ name: 'localhost' })],
    ['for another name', authority.issue({ name: 'other.example' })],
    ['expired', authority.issue({ name: 'localhost', notAfter: new Date(Date.now() - 3_600_000) })],
    ['not yet valid', authority.issue({ name: 'localhost', notBefore: new Date(Date.now() + 3_600_000) })],
  ])('%s is a failure, and no request is sent', async (_name, certificate) => {
    const { port, requests } = await receiver(certificate);
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    onTestFinished(() => void delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']);
    const { request } = guarded({ trustedCertificates: [authority.cert] });
    expect((await failure(request(`https://localhost:${port}/`, { method: 'POST', body: 'secret' }))).reason).toBe('tls');
    expect(requests()).toBe(0);
  });

  test('TLS 1.1 is a failure', async () => {
    const certificate = authority.issue({ name: 'localhost' });
    expect(() => createSecureContext({ maxVersion: 'TLSv1.1' })).not.toThrow();
    const { port, requests } = await receiver(certificate, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
    const { request } = guarded({ trustedCertificates: [authority.cert] });
    expect((await failure(request(`https://localhost:${port}/`))).reason).toBe('tls');
    expect(requests()).toBe(0);
  });

  test('plain HTTP on the port is a failure', async () => {
    const { port } = await http((_req, res) => res.end());
    expect((await failure(guarded().request(`https://localhost:${port}/`))).reason).toBe('tls');
  });
});

describe('fetch', () => {
  test('carries forms and headers, and returns redirects', async () => {
    const { port } = await http((req, res) => {
      const chunks: Buffer[] = [];
      req.on('data', (chunk: Buffer) => chunks.push(chunk));
      req.on('end', () => {
        if (req.url === '/redirect') return res.writeHead(302, { Location: '/elsewhere' }).end();
        res.setHeader('Set-Cookie', ['a=1', 'b=2']);
        return res.end(JSON.stringify({ method: req.method, type: req.headers['content-type'], body: String(Buffer.concat(chunks)) }));
      });
    });
    const { fetch } = guarded();
    const body = new URLSearchParams({ grant_type: 'authorization_code', code: 'ä' });
    const answer = await fetch(`http://127.0.0.1:${port}/token`, { method: 'POST', body });
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect(await answer.json()).toEqual({
      method: 'POST',
      type: 'application/x-www-form-urlencoded;charset=UTF-8',
      body: 'grant_type=authorization_code&code=%C3%A4',
    });
    const redirect = await fetch(`http://127.0.0.1:${port}/redirect`, { redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, '/elsewhere']);
    expect((await fetch(new Request(`http://127.0.0.1:${port}/`, { method: 'PUT', body: 'x' }))).status).toBe(200);
  });

  test.each([204, 304])('a %i has no body', async (status) => {
    const { port } = await http((_req, res) => res.writeHead(status).end());
    expect((await guarded().fetch(`http://127.0.0.1:${port}/`)).status).toBe(status);
  });

  test('an endless answer is too large (attack 14.165)', async () => {
    const { port } = await http((_req, res) => {
      const more = () => {
        while (!res.destroyed && res.write(Buffer.alloc(65_536, 'x')));
      };
      res.on('drain', more);
      more();
    });
    expect((await failure(guarded().fetch(`http://127.0.0.1:${port}/`))).reason).toBe('too_large');
  });

  test('a status outside HTTP is a failure', async () => {
    const { port } = await http((_req, res) => res.writeHead(600).end());
    expect((await failure(guarded().fetch(`http://127.0.0.1:${port}/`))).reason).toBe('protocol');
  });

  test('serves jose', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256');
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' };
    const { port } = await http((_req, res) => res.end(JSON.stringify({ keys: [jwk] })));
    const keys = createRemoteJWKSet(new URL(`http://127.0.0.1:${port}/`), { [customFetch]: guarded().fetch });
    const jwt = await new SignJWT({ sub: 'somebody' }).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey);
    expect((await jwtVerify(jwt, keys)).payload.sub).toBe('somebody');
  });
});
