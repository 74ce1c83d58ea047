// Codes by mail as the first step of a sign-in.
import { describe, expect, test } from 'vitest';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser } from '../support/data.js';
import { addTwoStepUser, refusalOf, setEnvironment, totpCode } from '../support/factors.js';
import { codeIn, lastMailTo, mailTo, otherCode } from '../support/mailbox.js';
import { startTestService } from '../support/service.js';
import { sharedService } from '../support/shared-service.js';

const service = sharedService(async () => {
  const started = await startTestService();
  await setEnvironment(started, { email_code_sign_in_enabled: true });
  return started;
});

type Started = { sign_in_id: string; expires_in: number; resend_after: number };

async function askFor(email: string, browser = new Browser(service.url)): Promise<Started> {
  const answer = await browser.postJson('/login/code', { email });
  if (answer.status !== 202) throw new Error(`no code: ${answer.status}`);
  return (await answer.json()) as Started;
}
const prove = (browser: Browser, body: object) => browser.postJson('/login/code/verify', body);

describe('a code by mail', () => {
  test('signs in in the browser that asked for it, once', async () => {
    const { email } = await addUser(await service.context());
    const browser = new Browser(service.url);
    const { sign_in_id, ...rest } = await askFor(email, browser);
    expect(rest).toEqual({ expires_in: 600, resend_after: 60 });
    const mail = await lastMailTo(service.url, email);
    expect(mail.subject).not.toMatch(/\d{6}/);
    const code = codeIn(mail);
    expect(await refusalOf(await prove(new Browser(service.url), { sign_in_id, code }))).toEqual([410, 'code_expired']);
    const answer = await prove(browser, { sign_in_id, code, return_to: '/account?x=y' });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ user: { email }, redirect_to: '/account?x=y' });
    expect((await browser.get('/account', { accept: 'application/json' })).status).toBe(200);
    expect(await refusalOf(await prove(browser, { sign_in_id, code }))).toEqual([410, 'code_expired']);
  });

  test('is asked for in the same way by whoever has no account: same answer, and no mail (attack 25.546)', async () => {
    const { email } = await addUser(await service.context());
    const [known, unknown] = [await askFor(email), await askFor('nobody-here@example.com')];
    expect(Object.keys(unknown)).toEqual(Object.keys(known));
    expect([unknown.expires_in, unknown.resend_after]).toEqual([known.expires_in, known.resend_after]);
    expect(
      await mailTo(service.url, 'nobody-here@example.com').then((mails) => mails.filter(({ text }) => !text.includes('code'))),
    ).toEqual([]);
    const rows = await (await service.context()).scope.knex('mails').where({ recipient: 'nobody-here@example.com' });
    expect(rows.every(({ discarded }: { discarded: boolean }) => discarded)).toBe(true);
  });

  test('a wrong one says how many are left; five end it', async () => {
    const { email } = await addUser(await service.context());
    const browser = new Browser(service.url);
    const { sign_in_id } = await askFor(email, browser);
    const code = codeIn(await lastMailTo(service.url, email));
    for (const left of [4, 3, 2, 1, 0]) {
      const answer = await prove(browser, { sign_in_id, code: otherCode(code) });
      expect([answer.status, await answer.json()]).toEqual([422, expect.objectContaining({ error: 'invalid_code', attempts_left: left })]);
    }
    expect(await refusalOf(await prove(browser, { sign_in_id, code }))).toEqual([410, 'code_expired']);
  });

  test('is one factor: somebody with two-step is asked for the other, and never for another code by mail', async () => {
    await setEnvironment(service, { email_second_factor_enabled: true });
    const { user, secret } = await addTwoStepUser(service);
    const browser = new Browser(service.url);
    const { sign_in_id } = await askFor(user.email, browser);
    const answer = await prove(browser, { sign_in_id, code: codeIn(await lastMailTo(service.url, user.email)) });
    expect(await answer.json()).toMatchObject({ user: null, second_factor: { methods: ['totp', 'recovery_code'] } });
    expect(await refusalOf(await browser.postJson('/login/verify/email', {}))).toEqual([403, 'email_code_disabled']);
    const code = totpCode(secret, service.clock.now());
    expect((await browser.postJson('/login/verify', { method: 'totp', code })).status).toBe(200);
    await setEnvironment(service, { email_second_factor_enabled: false });
  });

  test('signs in nobody who is blocked, nor whose address has changed since', async () => {
    const ctx = await service.context();
    const user = await addUser(ctx);
    const browser = new Browser(service.url);
    const { sign_in_id } = await askFor(user.email, browser);
    const code = codeIn(await lastMailTo(service.url, user.email));
    await ctx.scope.knex('users').where({ id: user.id }).update({ email: 'moved@example.com', email_key: 'moved@example.com' });
    expect(await refusalOf(await prove(browser, { sign_in_id, code }))).toEqual([410, 'code_expired']);
    const blocked = await addUser(ctx, { status: 'blocked' });
    await askFor(blocked.email, browser);
    expect(await mailTo(service.url, blocked.email)).toEqual([]);
  });

  test.each([
    [{ email: 'no address' }, 'invalid_email'],
    [{ email: '' }, 'required'],
    [{}, 'required'],
  ])('%j is refused', async (body, code) => {
    const [status, error] = await refusalOf(await new Browser(service.url).postJson('/login/code', body));
    expect([status, ['invalid_email', code].includes(error)]).toEqual([422, true]);
  });
});

describe('the pages', () => {
  test('work as forms, from the sign-in page on', async () => {
    const { email } = await addUser(await service.context());
    const browser = new Browser(service.url);
    const login = await (await browser.get('/login?return_to=%2Faccount%3Fx%3Dy')).text();
    expect(login).toContain('formaction="/login/code"');
    const asked = await browser.post('/login/code', { _csrf: csrfOf(login), email, return_to: '/account?x=y' });
    const onward = asked.headers.get('location') ?? '';
    expect([asked.status, onward]).toEqual([
      303,
      expect.stringMatching(/^\/login\/code\/verify\?sign_in_id=[\w-]+&return_to=%2Faccount%3Fx%3Dy$/),
    ]);
    const page = await (await browser.get(onward)).text();
    expect(page).toContain('autocomplete="one-time-code"');
    const code = codeIn(await lastMailTo(service.url, email));
    const fields = {
      _csrf: csrfOf(page),
      sign_in_id: new URLSearchParams(onward.split('?')[1]).get('sign_in_id') ?? '',
      return_to: '/account?x=y',
    };
    const wrong = await browser.post('/login/code/verify', { ...fields, code: otherCode(code) });
    expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('That code is incorrect.')]);
    const done = await browser.post('/login/code/verify', { ...fields, code });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/account?x=y']);
    const over = await new Browser(service.url).get(onward);
    expect([over.status, over.headers.get('location')]).toEqual([303, '/login/code?return_to=%2Faccount%3Fx%3Dy']);
  });

  test('show a wrong address with what is wrong', async () => {
    const browser = new Browser(service.url);
    const answer = await browser.submit('/login/code', { email: 'ada@' });
    expect([answer.status, await answer.text()]).toEqual([
      422,
      expect.stringContaining('Enter an email address such as name@example.com.'),
    ]);
  });

  test('are not there while the environment sends no codes', async () => {
    await setEnvironment(service, { email_code_sign_in_enabled: false });
    const browser = new Browser(service.url);
    expect(await refusalOf(await browser.postJson('/login/code', { email: 'ada@example.com' }))).toEqual([403, 'email_code_disabled']);
    expect(await refusalOf(await prove(browser, { sign_in_id: 'x', code: '1' }))).toEqual([403, 'email_code_disabled']);
    expect((await browser.get('/login/code')).status).toBe(403);
    expect(await (await browser.get('/login')).text()).not.toContain('/login/code');
    await setEnvironment(service, { email_code_sign_in_enabled: true });
  });

  test('a form of another site, or without its token, is refused (attack 25.547)', async () => {
    const browser = new Browser(service.url);
    const _csrf = csrfOf(await (await browser.get('/login')).text());
    for (const path of ['/login/code', '/login/code/verify']) {
      expect((await browser.post(path, { email: 'ada@example.com' })).status).toBe(403);
      expect((await browser.post(path, { _csrf, email: 'ada@example.com' }, { origin: 'https://evil.example' })).status).toBe(403);
    }
  });
});
