// What somebody outside can learn, or bend, by headers alone.
import { request as send } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedService } from '../support/shared-service.js';
import { addEnvironment } from '../support/data.js';
import { startTestService, type TestService } from '../support/service.js';

const metricsToken = 'a token for the metrics';
const publicHost = 'id.example.com';

const local = sharedService(() => startTestService({ METRICS_TOKEN: metricsToken }));
const open = sharedService(() => startTestService({ METRICS_TOKEN: metricsToken, TRUST_PROXY: '1', BASE_URL: `https://${publicHost}` }));
beforeAll(async () => {
  await addEnvironment(open.deps, 'staging');
});

type Headers = Record<string, string>;

/** A request to where the service listens, under whatever name the headers say. */
async function get(service: TestService, path: string, headers: Headers = {}, method: 'GET' | 'POST' = 'GET', body: string | null = null) {
  const {
    statusCode: status,
    headers: answered,
    body: text,
  } = await send(`http://127.0.0.1:${service.config.port}${path}`, { method, headers, body });
  return { status, headers: answered as Headers, text: await text.text() };
}

const bearer = { authorization: `Bearer ${metricsToken}` };

describe('/metrics', () => {
  test.each([
    'X-Forwarded-For', 'x-forwarded-host', 'X-Forwarded-Proto', 'x-forwarded-port', 'Forwarded', 'Via', 'X-Real-IP',
  ])('is for direct callers of a loopback installation: none with %s (attack 18.265)', async (name) => {
    expect((await get(local, '/metrics', { [name]: '127.0.0.1' })).status).toBe(401);
    expect((await get(local, '/metrics', { [name]: '127.0.0.1', ...bearer })).status).toBe(200);
  }); // prettier-ignore

  test.each(['rebound.example', 'localhost.rebound.example', '203.0.113.5:3000'])(
    'shows nothing to a page that has the name %s point at this machine (attack 18.291)',
    async (host) => {
      expect((await get(local, '/metrics', { host })).status).toBe(401);
      expect((await get(local, '/metrics', { host, ...bearer })).status).toBe(200);
      for (const own of ['localhost', `127.0.0.1:${local.config.port}`, '[::1]:3000', 'LOCALHOST:9'])
        expect([own, (await get(local, '/metrics', { host: own })).status]).toEqual([own, 200]);
    },
  );

  test('wants its token wherever BASE_URL is public, from this machine too (attack 18.265)', async () => {
    expect((await get(local, '/metrics')).status).toBe(200);
    const refused = await get(open, '/metrics', { host: 'localhost' });
    expect([refused.status, refused.headers['www-authenticate'], refused.text]).toEqual([
      401,
      'Bearer realm="metrics"',
      '{"error":"invalid_token"}',
    ]);
    expect((await get(open, '/metrics', { authorization: `Bearer ${metricsToken}x` })).status).toBe(401);
    expect((await get(open, '/metrics', bearer)).status).toBe(200);
  });
});

test('what a proxy passes on as an address, and control characters in a User-Agent, reach no trace (attack 21.292)', async () => {
  const headers = { host: publicHost, 'x-forwarded-for': `junk ${'y'.repeat(3000)}`, 'user-agent': 'curl\u009b31m/8' };
  const json = { ...headers, 'content-type': 'application/json' };
  expect((await get(open, '/login', json, 'POST', '{"email":"no@example.com","password":"no"}')).status).toBe(401);
  const line = open.log.map((one) => JSON.parse(one) as Record<string, unknown>).findLast((one) => one['event'] === 'login.failed');
  expect(line).toMatchObject({ ip_address: null, user_agent: 'curl 31m/8' });
});

describe('one cached address has one answer', () => {
  test('what X-Forwarded-Host changes, Vary names (attack 7.266)', async () => {
    for (const path of ['/.well-known/openid-configuration', '/.well-known/jwks.json', '/login', '/api/openapi.json', '/register']) {
      const plain = await get(open, path, { host: publicHost });
      const forwarded = await get(open, path, { host: publicHost, 'x-forwarded-host': `staging.${publicHost}` });
      expect([path, plain.status, forwarded.status]).toEqual([path, 200, 200]);
      for (const { headers } of [plain, forwarded]) expect(`${path}: ${headers['vary']}`).toMatch(/X-Forwarded-Host/i);
    }
    const of = async (headers: Headers) =>
      (JSON.parse((await get(open, '/.well-known/openid-configuration', headers)).text) as { issuer: string }).issuer;
    expect(await of({ host: publicHost, 'x-forwarded-host': `staging.${publicHost}` })).toBe(`https://staging.${publicHost}`);
  });

  test('without TRUST_PROXY it changes nothing (attack 7.266)', async () => {
    const document = '/.well-known/openid-configuration';
    const [plain, forwarded] = [await get(local, document), await get(local, document, { 'x-forwarded-host': 'staging.localhost' })];
    expect(forwarded.text).toBe(plain.text);
    expect(String(plain.headers['vary'])).not.toMatch(/forwarded/i);
  });
});

describe('transport', () => {
  test('every answer of an https installation says so (RFC 6797), none of an http one (attack 18.273)', async () => {
    for (const path of [
      '/login',
      '/.well-known/jwks.json',
      '/oauth/token',
      '/api/users',
      '/nowhere',
      '/healthz',
      '/metrics',
      '/assets/account.css',
    ]) {
      expect([path, (await get(open, path)).headers['strict-transport-security']]).toEqual([path, 'max-age=31536000']);
      expect([path, (await get(local, path)).headers['strict-transport-security']]).toEqual([path, undefined]);
    }
  });

  test('a form or JSON from the same host over the other scheme is from another site (attack 13.274)', async () => {
    const json = { 'content-type': 'application/json', host: publicHost };
    const attempt = async (origin: string) =>
      (await get(open, '/login', { ...json, origin }, 'POST', JSON.stringify({ email: 'a@example.com', password: 'x' }))).status;
    expect(await attempt(`https://${publicHost}`)).toBe(401);
    expect(await attempt(`http://${publicHost}`)).toBe(403);
    expect(await attempt(`https://${publicHost}:8443`)).toBe(403);
    expect(await attempt('null')).toBe(403);
    const atHome = { 'content-type': 'application/json', host: new URL(local.url).host };
    const there = async (origin: string) =>
      (await get(local, '/login', { ...atHome, origin }, 'POST', JSON.stringify({ email: 'a@example.com', password: 'x' }))).status;
    expect(await there(local.url)).toBe(401);
    expect(await there(local.url.replace('http:', 'https:'))).toBe(403);
  });
});
