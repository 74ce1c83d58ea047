// Strangers who ask for somebody's recovery, as often as they may: whoever is refused for it has a mail whose link works.
import { expect, test } from 'vitest';
import { Browser } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { jsonFrom } from '../support/from-address.js';
import { lastMailTo } from '../support/mailbox.js';
import { passTime } from '../support/rate-limits.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(() => startTestService({ RATE_LIMITS: 'on' }));

let host = 0;
/** A request of a client that was never here before. */
const ask = (path: string, body: object) =>
  jsonFrom(`127.0.${4 + Math.floor(++host / 250)}.${1 + (host % 250)}`, `${service.url}${path}`, body);
const newPassword = 'nine quiet herons by the lake';

test('a new browser recovers while strangers ask for the address, by the mail that one of them had sent (attack 12.1068)', async () => {
  const { email } = await addUser(await service.context());
  const forgot = () => ask('/password/forgot', { email });
  for (let i = 0; i < 10; i++) expect((await forgot()).status).toBe(202);
  await passTime(service, 300_000);
  const refused = await forgot();
  expect([refused.status, refused.headers['ratelimit-limit']]).toEqual([429, '10']);
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(300);
  expect(JSON.parse(refused.text)).toMatchObject({
    error: 'rate_limited',
    error_description: expect.stringContaining('Open the latest one'),
  });
  // As a page: the form as it was sent, with what to do.
  const owner = new Browser(service.url);
  const page = await owner.submit('/password/forgot', { email });
  const html = await page.text();
  expect([page.status, Number(page.headers.get('retry-after')) > 240]).toEqual([429, true]);
  expect(html).toContain('Try again in 5 minutes. If there’s an account for this address, we’ve just sent it emails with a link.');
  expect(html).toContain(`value="${email}"`);
  // The same for an address without an account.
  for (let i = 0; i < 10; i++) expect((await ask('/password/forgot', { email: 'nobody@example.com' })).status).toBe(202);
  expect((await ask('/password/forgot', { email: 'nobody@example.com' })).text).toContain('Open the latest one');

  const link = /https?:\/\/\S+\/password\/reset\?\S+/.exec((await lastMailTo(service.url, email)).text)?.[0] ?? '';
  const { code, reset_id } = Object.fromEntries(new URL(link).searchParams);
  // Who asked for it knows the reset, and tries codes there until nobody may; the link is no guess.
  const guesses: number[] = [];
  for (let i = 0; i < 11; i++) guesses.push((await ask('/password/reset', { reset_id, code: '000000', password: newPassword })).status);
  expect(guesses.at(-1)).toBe(429);
  expect((await ask('/password/reset', { reset_id, code: 'A'.repeat(43), password: newPassword })).status).toBe(410);
  expect((await owner.postJson('/password/reset', { reset_id, code, password: newPassword })).status).toBe(200);
  expect((await owner.postJson('/login', { email, password: newPassword })).status).toBe(200);
  expect((await owner.postJson('/login', { email, password })).status).toBe(401);
});

test.each([
  [60, 1_500],
  [600, 15_000],
  [3600, 30_000],
])('whoever is refused has a mail that works, with otp_lifetime %i s (attack 12.1068)', async (otp_lifetime, pause) => {
  await setEnvironment(service, { otp_lifetime });
  const { knex } = service.deps.db;
  const { email, email_key } = await addUser(await service.context());
  const seen = { sent: 0, refused: 0 };
  for (let i = 0; i < 120; i++) {
    const { status } = await ask('/password/forgot', { email });
    const working = await knex('passcodes').where({ email_key, purpose: 'password_reset' }).where('expires_at', '>', service.clock.now());
    expect([status, working.length > 0]).toEqual([status === 202 ? 202 : 429, true]);
    seen[status === 202 ? 'sent' : 'refused'] += 1;
    await passTime(service, pause);
  }
  // One for each minute of a lifetime, in each of the three or four that went by.
  expect(seen.refused).toBeGreaterThan(50);
  expect(seen.sent).toBeLessThanOrEqual(4 * (otp_lifetime / 60));
});
