import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { request as send } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { addUser, password, type TestClient } from '../support/data.js';
import { managementClient, managementToken } from '../support/management.js';
import { basic } from '../support/oauth.js';
import { sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
let token: string;

beforeAll(async () => {
  token = await managementToken(service.url);
  await addUser(await service.context());
});

const formType = 'application/x-www-form-urlencoded';
const jsonType = 'application/json';
const apiType = 'application/vnd.api+json';

/** Where bodies are read, and what its requests need beside them. */
const surfaces = (): { path: string; type: string; headers: Record<string, string> }[] => [
  { path: '/oauth/token', type: formType, headers: { authorization: basic(managementClient as TestClient) } },
  { path: '/oauth/introspect', type: formType, headers: { authorization: basic(managementClient as TestClient) } },
  { path: '/oauth/authorize', type: formType, headers: {} },
  { path: '/oauth/userinfo', type: formType, headers: {} },
  { path: '/login', type: formType, headers: {} },
  { path: '/login', type: jsonType, headers: {} },
  { path: '/register', type: jsonType, headers: {} },
  { path: '/password/reset', type: jsonType, headers: {} },
  { path: '/api/users', type: apiType, headers: { authorization: `Bearer ${token}` } },
];

type Answer = { status: number; text: string; ms: number };

async function post(
  surface: ReturnType<typeof surfaces>[number],
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const started = performance.now();
  const response = await send(service.url + surface.path, {
    method: 'POST',
    headers: { 'content-type': surface.type, ...surface.headers, ...headers },
    body,
  });
  return { status: response.statusCode, text: await response.body.text(), ms: performance.now() - started };
}

async function expectRefused(
  body: (type: string) => string | Buffer,
  headers: Record<string, string> = {},
  statuses = [400, 413, 415],
): Promise<void> {
  for (const surface of surfaces()) {
    const answer = await post(surface, body(surface.type), headers);
    // The account pages ask for the form's token, a userinfo request for its token, before they look at the rest.
    expect([surface.path, surface.type, answer.status, [...statuses, 401, 403, 422].includes(answer.status)]).toEqual([
      surface.path,
      surface.type,
      answer.status,
      true,
    ]);
    expect(answer.text).not.toMatch(/at .*\.[jt]s:\d+|node_modules|syntax error|22P0|postgres/i);
  }
}

const isForm = (type: string) => type === formType;

describe('bodies that do harm elsewhere', () => {
  test('more than is taken is 413, compressed 415, and the connection serves on (attack 18.210)', async () => {
    for (const surface of surfaces()) {
      const filler = 'x'.repeat(surface.type === apiType ? 3_000_000 : 200_000);
      expect([surface.path, (await post(surface, isForm(surface.type) ? `a=${filler}` : `{"a":"${filler}"}`)).status]).toEqual([
        surface.path,
        413,
      ]);
      const bomb = gzipSync(Buffer.alloc(1_000_000, 97));
      expect([surface.path, (await post(surface, bomb, { 'content-encoding': 'gzip' })).status]).toEqual([surface.path, 415]);
    }
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  });

  test('deep, wide, and endless JSON is refused quickly (attack 18.211)', async () => {
    const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    const bodies = [
      '['.repeat(50_000),
      `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
      deep(5_000),
      `{"a":${'9'.repeat(60_000)}}`,
      `{${Array.from({ length: 5_000 }, (_, index) => `"k${index}":1`).join()}}`,
      '{"a":1}{"b":2}',
      '\ufeff{"a":1}x',
      '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
      '{"email":{"$ne":null},"password":{"$ne":null}}',
      'null',
      '"text"',
    ];
    for (const body of bodies) await expectRefused((type) => (isForm(type) ? `a=${encodeURIComponent(body).slice(0, 60_000)}` : body));
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('names in brackets mean nothing, and too many are refused (attack 18.213)', async () => {
    const bodies = [
      'a[]=1&'.repeat(10_000),
      `a${'[b]'.repeat(15_000)}=1`,
      `a=${','.repeat(60_000)}`,
      '__proto__[x]=1&__proto__=2&constructor=3',
      '&'.repeat(60_000),
      '='.repeat(60_000),
    ];
    for (const body of bodies) {
      for (const surface of surfaces().filter(({ type }) => isForm(type))) {
        const answer = await post(surface, body);
        expect([surface.path, answer.status >= 400 && answer.status < 500]).toEqual([surface.path, true]);
      }
    }
    const array = await post(surfaces()[0]!, 'grant_type[]=client_credentials&resource[x]=y');
    expect([array.status, array.text]).toEqual([400, expect.stringContaining('grant_type is required')]);
  });

  test('NUL, broken UTF-8 and lone surrogates are refused in any text (attack 18.214)', async () => {
    const bytes = [
      Buffer.from('a=%00&token=%00&email=%00'),
      Buffer.from('a=%c0%80&token=%ff%fe&email=%ed%a0%80'),
      Buffer.from([0x61, 0x3d, 0xc3, 0x28]),
      Buffer.from([0x61, 0x3d, 0xe2, 0x82]),
    ];
    for (const body of bytes)
      await expectRefused((type) => (isForm(type) ? body : Buffer.concat([Buffer.from('{"email":"'), body, Buffer.from('"}')])));
    for (const text of ['\\u0000', '\\ud800', '\\udc00x'])
      await expectRefused((type) =>
        isForm(type)
          ? `email=${text}`
          : type === apiType
            ? `{"data":{"type":"user","attributes":{"email":"a@b.example","first_name":"${text}"}}}`
            : `{"email":"${text}","password":"${text}","reset_id":"${text}","code":"1"}`,
      );
  });

  test('a form of the largest size is read, in whatever pieces it comes; one byte more is refused', async () => {
    const { port } = new URL(service.url);
    const send = (body: Buffer, pieces: number) =>
      new Promise<string>((resolve, reject) => {
        const head = `POST /oauth/introspect HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic(managementClient as TestClient)}\r\nContent-Type: ${formType}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
        let text = '';
        const socket = connect({ port: Number(port), host: '127.0.0.1', noDelay: true })
          .on('data', (chunk) => (text += String(chunk)))
          .on('close', () => resolve(text))
          .on('error', reject);
        socket.write(head);
        const size = Math.ceil(body.length / pieces);
        // Each piece goes when the one before it has left, so that they arrive as several.
        const next = (from: number): void =>
          void (from < body.length && socket.write(body.subarray(from, from + size), () => next(from + size)));
        next(0);
      });
    const start = 'token=unknown&x=';
    // Characters of three bytes: pieces end inside of them.
    const filled = (length: number) => Buffer.concat([Buffer.from(start), Buffer.alloc(length - start.length, '\u20ac')]);
    const whole = Buffer.concat([filled(start.length + 65_520), Buffer.alloc(65_536 - start.length - 65_520, 'x')]);
    expect(whole).toHaveLength(65_536);
    for (const pieces of [1, 7]) expect(await send(whole, pieces)).toMatch(/^HTTP\/1\.1 200 [^]*\{"active":false\}/);
    expect(await send(Buffer.concat([whole, Buffer.from('x')]), 1)).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('a body shorter than its announced length ends in a refusal or a closed connection, not in a failure (attack 18.210)', async () => {
    const { port } = new URL(service.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.end(
          `POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${jsonType}\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{"email":`,
        );
      });
      let text = '';
      socket
        .on('data', (chunk) => (text += String(chunk)))
        .on('close', () => resolve(text))
        .on('error', reject);
    });
    expect(answer === '' || /^HTTP\/1\.1 4\d\d /.test(answer)).toBe(true);
    expect(service.log.filter((line) => line.includes('request.failed'))).toEqual([]);
  });

  test('connections that never end their request keep nobody out (attack 18.217)', async () => {
    const { port } = new URL(service.url);
    const sockets: Socket[] = [];
    try {
      await Promise.all(
        Array.from({ length: 300 }, () => {
          const socket = connect(Number(port), '127.0.0.1');
          sockets.push(socket);
          return new Promise<void>((resolve, reject) => {
            socket
              .on('error', reject)
              .on('connect', () =>
                socket.write(`POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${jsonType}\r\nContent-Length: 1000\r\n\r\n{`, () =>
                  resolve(),
                ),
              );
          });
        }),
      );
      const user = await addUser(await service.context());
      const answer = await post({ path: '/login', type: jsonType, headers: {} }, JSON.stringify({ email: user.email, password }));
      expect(answer.status).toBe(200);
    } finally {
      for (const socket of sockets)
        socket
          .removeAllListeners('error')
          .on('error', () => undefined)
          .destroy();
    }
  });

  test('what a request says is inert on the page that refuses it (attacks 1.18 and 17.205)', async () => {
    const evil = '<svg onload=alert(1)>"\'{{7*7}}${7*7}<%=7*7%>';
    const paths = [
      `/oauth/authorize?client_id=${encodeURIComponent(evil)}&error_description=${encodeURIComponent(evil)}`,
      `/login?login_hint=${encodeURIComponent(evil)}&notice=${encodeURIComponent(evil)}`,
      `/${encodeURIComponent(evil)}`,
      `/auth/sso/callback?error=${encodeURIComponent(evil)}&state=${encodeURIComponent(evil)}`,
      `/password/reset?reset_id=${encodeURIComponent(evil)}&code=${encodeURIComponent(evil)}`,
      `/oauth/logout?client_id=${encodeURIComponent(evil)}`,
    ];
    for (const path of paths) {
      const response = await fetch(service.url + path, { redirect: 'manual', headers: { 'user-agent': 'evil<svg>' } });
      const html = await response.text();
      expect([path, response.status < 500]).toEqual([path, true]);
      expect(html).not.toContain('<svg onload');
      expect(html).not.toMatch(/>49<|"49"/);
      expect(response.headers.get('content-security-policy') ?? '').not.toContain('unsafe-inline');
    }
  });
});
