// Limits, and the answers to those who read JSON.
import { expect, test } from 'vitest';
import { Browser, csrfOf } from '../support/browser.js';
import { addConnection } from '../support/connections.js';
import { addUser, password } from '../support/data.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { loginThrough } from '../support/sso.js';
import { ScriptedUpstream } from '../support/upstream-scripted.js';

const service = sharedService(() => startTestService({ RATE_LIMITS: 'on', RATE_LIMIT_LOGIN: '3/60' }));
const ctx = contextOf(service);
const upstream = ScriptedUpstream.shared();

const connection = shared(() => addConnection(ctx, { issuer: upstream.url, account_linking: 'ask' }));

test('passwords on the link page count like logins: beyond the limit the right one is not tried either', async () => {
  await addUser(ctx, { email: 'ada@corp.example' });
  const browser = new Browser(service.url);
  const html = await (await loginThrough(browser, connection)).text();
  const link = /name="link" value="([^"]+)"/.exec(html)?.[1] as string;
  const statuses: number[] = [];
  for (const typed of ['a', 'b', 'c', password])
    statuses.push((await browser.post('/auth/sso/link', { _csrf: csrfOf(html), link, password: typed })).status);
  expect(statuses).toEqual([401, 401, 401, 429]);
  expect(browser.cookies.has('idp_session')).toBe(false);
});

test('starts are limited by address, more generously than logins; the provider is not asked beyond', async () => {
  const browser = new Browser(service.url);
  const answers: Response[] = [];
  for (let start = 1; start <= 19; start++) answers.push(await browser.get(`/auth/sso/${connection.id}`));
  const limited = answers.filter((answer) => answer.status === 429);
  expect(limited.length).toBeGreaterThan(0);
  expect(limited[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
});

test('refusals as JSON for who asks for it', async () => {
  const browser = new Browser(service.url, { accept: 'application/json' });
  const mismatch = await browser.get('/auth/sso/callback?state=x&code=x');
  expect([mismatch.status, await mismatch.json()]).toMatchObject([
    400,
    { error: 'sso_state_mismatch', error_description: expect.any(String) as string },
  ]);
});
