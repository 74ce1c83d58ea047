// The mail about a sign-in from a browser that is new to the account, through a real SMTP server.
import type { Request } from 'express';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { transaction, type Context } from '../../src/domain/context.js';
import { createMailTemplate } from '../../src/domain/mail/mail-templates.js';
import { findUserByEmailKey, type UserRow } from '../../src/db/tables/users.js';
import { cookieDeviceOf } from '../../src/http/auth/device-cookie.js';
import { mailQueue } from '../../src/outbox/mail/send.js';
import { permit } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { addEnvironment, addUser, password } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { auditRows, lastRow } from '../support/security-events.js';
import { startTestService } from '../support/service.js';
import { startSmtpServer } from '../support/smtp.js';
import { shared, sharedService } from '../support/shared-service.js';
import { drain } from '../support/outbox-queue.js';

let ctx: Context;
const chrome = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36';
const newPassword = 'a wholly different sentence';

const smtp = shared(() => startSmtpServer());

const service = sharedService(() => startTestService({ SMTP_URL: `smtp://127.0.0.1:${smtp.port}` }));
beforeAll(async () => {
  // An environment of kind development sends none unless told to.
  await setEnvironment(service, { new_device_mail: true });
  ctx = await service.context();
});
afterAll(async () => smtp?.close());

/** Somebody whose account is older than a day. */
const settled = (row: Partial<UserRow> = {}) => addUser(ctx, { created_at: new Date(service.clock.now().getTime() - 86_400_000), ...row });
const newBrowser = () => new Browser(service.url, { 'user-agent': chrome });
const signIn = (browser: Browser, { email }: { email: string }, secret = password) =>
  browser.postJson('/login', { email, password: secret });

/** The mails about new devices that the address has got so far, once nothing waits any more. */
async function noticesTo(email: string) {
  await expect
    .poll(async () => {
      await drain(mailQueue(service.deps));
      return Number((await service.deps.db.knex('mails').where({ status: 'pending' }).count('* as count'))[0]?.['count']);
    })
    .toBe(0);
  return smtp.received.filter(({ to, mail }) => to[0] === email && mail.subject?.startsWith('New sign-in'));
}

describe('a browser that is new', () => {
  test('sends one mail that says where and when, and what to do; the next sign-in there sends none', async () => {
    const user = await settled();
    const browser = newBrowser();
    expect((await signIn(browser, user)).status).toBe(200);
    const [notice, ...more] = await noticesTo(user.email);
    expect(more).toEqual([]);
    for (const words of [notice?.mail.text, notice?.mail.html]) {
      expect(words).toContain('Chrome on macOS');
      expect(words).toContain('127.0.0.1');
      expect(words).toMatch(/When: \d{1,2} \w+ \d{4} at \d\d:\d\d UTC/);
      expect(words).toContain('If this wasn’t you, end that session and change your password');
      expect(words).toContain(`${service.url}/account`);
    }
    await browser.postJson('/logout', {});
    expect((await signIn(browser, user)).status).toBe(200);
    expect(await noticesTo(user.email)).toHaveLength(1);
    const rows = (await auditRows(service, 'login.succeeded')).filter(({ actor_id }) => actor_id === user.id);
    expect(rows.map(({ changes }) => changes['new_device']?.[1])).toEqual([true, false]);
  });

  test('is told of in the words of the environment, where it has its own', async () => {
    const words = {
      name: 'new_sign_in',
      locale: null,
      subject: 'New sign-in, said otherwise',
      text: 'See {{ account_url }}',
      html: null,
    } as const;
    const template = await transaction(ctx, (tx) => createMailTemplate(tx, words));
    const user = await settled();
    expect((await signIn(newBrowser(), user)).status).toBe(200);
    expect((await noticesTo(user.email)).map(({ mail }) => mail.subject)).toEqual([words.subject]);
    await ctx.scope.knex('mail_templates').where({ id: template.id }).delete();
  });

  test('is one for each account and each browser', async () => {
    const [one, other] = [await settled(), await settled()];
    const shared = newBrowser();
    for (const user of [one, other, one]) await signIn(shared, user);
    await signIn(newBrowser(), one);
    expect([(await noticesTo(one.email)).length, (await noticesTo(other.email)).length]).toEqual([2, 1]);
  });

  test('sends nothing when the sign-in is refused', async () => {
    const user = await settled();
    expect((await signIn(newBrowser(), user, 'wrong')).status).toBe(401);
    expect(await noticesTo(user.email)).toEqual([]);
  });

  test('of somebody who holds Management permissions is an event: administrator.new_device', async () => {
    const [administrator, person] = [await settled(), await settled()];
    await permit(ctx, administrator.id, 'users:read');
    const browser = newBrowser();
    for (const user of [administrator, person]) await signIn(browser, user);
    await signIn(browser, administrator);
    const rows = await auditRows(service, 'administrator.new_device');
    expect(rows.map(({ actor_id, ip_address, outcome }) => [actor_id, ip_address, outcome])).toEqual([
      [administrator.id, '127.0.0.1', 'success'],
    ]);
    expect(service.log.filter((line) => line.includes('"event":"administrator.new_device"'))).toHaveLength(1);
  });
});

test('the sign-in that comes with a registration sends none; the next one elsewhere does', async () => {
  const email = 'newcomer@example.com';
  const browser = newBrowser();
  const { registration_id } = (await (await browser.postJson('/register', { email })).json()) as { registration_id: string };
  await noticesTo(email);
  const code = /\d{6}/.exec(smtp.received.find(({ to }) => to[0] === email)?.mail.text ?? '')?.[0];
  const { registration_token } = (await (await browser.postJson('/register/verify', { registration_id, code })).json()) as {
    registration_token: string;
  };
  const fields = { registration_token, first_name: 'New', last_name: 'Comer', password: newPassword };
  expect((await browser.postJson('/register/complete', fields)).status).toBe(201);
  expect(await noticesTo(email)).toEqual([]);
  const row = await lastRow(service, 'login.succeeded');
  expect([row.actor_id, row.changes['amr']?.[1]]).toEqual([(await findUserByEmailKey(ctx.scope, email))?.id, ['otp', 'pwd']]);
  await browser.postJson('/logout', {});
  await signIn(browser, { email }, newPassword);
  expect(await noticesTo(email)).toEqual([]);
  await signIn(newBrowser(), { email }, newPassword);
  expect(await noticesTo(email)).toHaveLength(1);
});

test('a new password makes strangers of all browsers but the one that it was set with', async () => {
  const user = await settled();
  const [own, thief] = [newBrowser(), newBrowser()];
  for (const browser of [own, thief]) await signIn(browser, user);
  service.clock.advance(1000);
  expect((await own.postJson('/account/password', { current_password: password, password: newPassword })).status).toBe(200);
  expect(await noticesTo(user.email)).toHaveLength(2);
  await own.postJson('/logout', {});
  await signIn(own, user, newPassword);
  expect(await noticesTo(user.email)).toHaveLength(2);
  await signIn(thief, user, newPassword);
  expect(await noticesTo(user.email)).toHaveLength(3);
});

test('the cookie is sealed for its environment; one that was made up, or is another environment’s, makes no browser known', async () => {
  const user = await settled();
  const browser = newBrowser();
  const answer = await signIn(browser, user);
  const cookie = answer.headers.getSetCookie().find((one) => one.startsWith('idp_device='));
  expect(cookie).toMatch(/Max-Age=34560000; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax/);
  const value = browser.cookies.get('idp_device') ?? '';
  const withCookie = (of: Context, device: string) =>
    cookieDeviceOf({ ctx: of, headers: { cookie: `idp_device=${device}` } } as unknown as Request);
  expect(withCookie(ctx, value)?.users.map(([id]) => id)).toEqual([user.id]);
  expect(withCookie(await addEnvironment(service.deps, 'second'), value)).toBeNull();
  expect(value).not.toContain(user.id);
  for (const forged of [
    '',
    'x',
    value.slice(0, -2),
    Buffer.from(JSON.stringify({ id: 'x', users: [[user.id, 9e15]] })).toString('base64url'),
  ]) {
    expect(withCookie(ctx, forged)).toBeNull();
  }
  const stranger = newBrowser();
  stranger.cookies.set('idp_device', `${value.slice(0, -4)}AAAA`);
  await signIn(stranger, user);
  expect(await noticesTo(user.email)).toHaveLength(2);
});

test('none is sent where the environment sends none, which one of kind development doesn’t by itself; the trace stays', async () => {
  const fresh = await startTestService();
  expect((await fresh.context()).environment).toMatchObject({ kind: 'development', new_device_mail: false });
  await fresh.stop();
  await setEnvironment(service, { new_device_mail: false });
  const user = await settled();
  await signIn(newBrowser(), user);
  expect(await noticesTo(user.email)).toEqual([]);
  expect((await lastRow(service, 'login.succeeded')).changes['new_device']?.[1]).toBe(true);
  await setEnvironment(service, { new_device_mail: true });
});
