// A provider that takes a request and never answers, at each step of a login (fault F39).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { Browser } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { startTestService, type TestService } from '../support/service.js';
import { codeOf, startAt, throughProvider } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const cleanups: (() => unknown)[] = [];
let service: TestService;
let ctx: Context;

beforeAll(async () => {
  service = await startTestService();
  cleanups.push(() => service.stop());
  ctx = await service.context();
});
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

const never = () => undefined;

/** The answer that the person sees, and after how many seconds. */
async function loginWith(hangingPath: string, claims: Record<string, unknown>): Promise<{ page: Response; seconds: number }> {
  const upstream = await ScriptedUpstream.start();
  cleanups.push(() => upstream.close());
  upstream.claims = claims;
  upstream.instead.set(hangingPath, never);
  const connection = await addConnection(ctx, { issuer: upstream.url });
  const browser = new Browser(service.url);
  const atStart = hangingPath.startsWith('/.well-known');
  const back = atStart ? null : await throughProvider(await startAt(browser, connection));
  const began = performance.now();
  const page = await browser.get(back === null ? `/auth/sso/${connection.id}` : back.pathname + back.search);
  expect(upstream.asked(hangingPath).length).toBeGreaterThan(0);
  return { page, seconds: (performance.now() - began) / 1000 };
}

describe.concurrent('a provider that never answers', () => {
  const known = { sub: 'ada', email: 'ada@corp.example', email_verified: true, given_name: 'Ada', family_name: 'Lovelace' };

  test.each([
    ['what it can do (discovery)', '/.well-known/openid-configuration', known],
    ['its keys', '/jwks', known],
    ['the token request', '/token', known],
    ['who the person is (userinfo)', '/userinfo', { sub: 'ada' }],
  ])('to %s: within ten seconds a page says so, and leads back to the sign-in (fault F39)', async (_step, path, claims) => {
    const { page, seconds } = await loginWith(path, claims);
    expect(page.status).toBe(502);
    const html = await page.clone().text();
    expect(await codeOf(page)).toBe('sso_provider_error');
    expect(html).toContain('Back to sign-in');
    expect(seconds).toBeLessThan(10);
  });
});
