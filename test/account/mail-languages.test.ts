// In which language people get their mails (specification 15.11.2), through a real SMTP server.
import { afterEach, describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { mailQueue } from '../../src/outbox/mail/send.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser, password } from '../support/data.js';
import { setEnvironment } from '../support/factors.js';
import { manage, startManagedService } from '../support/management.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { startSmtpServer } from '../support/smtp.js';
import { drain } from '../support/outbox-queue.js';

const smtp = shared(
  () => startSmtpServer(),
  (server) => server.close(),
);
const service = sharedService(() => startManagedService({ SMTP_URL: `smtp://127.0.0.1:${smtp.port}` }));
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));

async function mailTo(email: string) {
  await drain(mailQueue(service.deps));
  await expect.poll(() => smtp.received.some(({ to }) => to[0] === email)).toBe(true);
  const { mail } = smtp.received.findLast(({ to }) => to[0] === email) as (typeof smtp.received)[0];
  const header = mail.headers.find(({ key }) => key === 'content-language')?.value;
  return { subject: mail.subject ?? '', text: mail.text ?? '', html: mail.html ?? '', language: header };
}

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0';
const browserOf = (language: string) => new Browser(service.url, { 'accept-language': language, 'user-agent': firefox });
const forgot = (browser: Browser, { email }: Pick<UserRow, 'email'>) => browser.submit('/password/forgot', { email });
const register = (browser: Browser, email: string) => browser.submit('/register', { email });
const pathOf = (parameters: Record<string, string>) =>
  `/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', scope: 'openid', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', ...parameters })}`;

afterEach(() => setEnvironment(service, { default_locale: 'en' }));

describe('a mail', () => {
  test('to a Japanese person is Japanese, whatever the browser asks for, and says so', async () => {
    const user = await addUser(ctx, { locale: 'ja-JP' });
    await forgot(browserOf('de'), user);
    const { subject, text, html, language } = await mailTo(user.email);
    expect([subject, language]).toEqual([`${ctx.environment.name} のパスワードの再設定`, 'ja']);
    for (const phrase of ['有効期間: 10 分', 'デバイス: Windows の Firefox', 'IP アドレス: 127.0.0.1', '日時: '])
      expect(text).toContain(phrase);
    expect(html).toContain('<html lang="ja" dir="ltr">');
  });

  test('is in the language that the application asks for, where the person’s own is not known', async () => {
    const browser = browserOf('en');
    const login = (await browser.get(pathOf({ ui_locales: 'xx fr-CA de' }))).headers.get('location') ?? '';
    const return_to = new URLSearchParams(login.slice(login.indexOf('?'))).get('return_to') ?? '';
    const page = await (await browser.get(`/register?${new URLSearchParams({ return_to })}`)).text();
    await browser.post('/register', { _csrf: csrfOf(page), email: 'amelie@example.com', return_to });
    const { subject, text, language } = await mailTo('amelie@example.com');
    expect([subject, language]).toEqual([`Votre code pour ${ctx.environment.name}`, 'fr']);
    expect(text).toContain('Appareil : Firefox sur Windows');
  });

  test('is in the language that was chosen on the page, and else in that of the browser', async () => {
    const browser = browserOf('nl');
    await register(browser, 'first@example.com');
    expect((await mailTo('first@example.com')).language).toBe('nl');
    await browser.get('/language?language=uk&return_to=%2Fregister');
    await register(browser, 'second@example.com');
    expect((await mailTo('second@example.com')).language).toBe('uk');
  });

  test('is in that of the environment where nobody said any, and English in the end', async () => {
    const email = 'nobody@example.com';
    await setEnvironment(service, { default_locale: 'pt-BR' });
    await expect
      .poll(async () => {
        await new Browser(service.url).postJson('/register', { email });
        return (await mailTo(email)).language;
      })
      .toBe('pt-BR');
    const swede = await addUser(ctx, { locale: 'sv' });
    await setEnvironment(service, { default_locale: 'en' });
    await expect
      .poll(async () => {
        await new Browser(service.url).postJson('/password/forgot', { email: swede.email });
        return (await mailTo(swede.email)).language;
      })
      .toBe('en');
  });

  test('in Arabic is written from right to left, but for its code', async () => {
    await register(browserOf('ar-EG'), 'layla@example.com');
    const { text, html, language } = await mailTo('layla@example.com');
    const code = /^\d{6}$/m.exec(text)?.[0];
    expect(language).toBe('ar');
    expect(html).toContain('<html lang="ar" dir="rtl">');
    expect(html).toMatch(new RegExp(`<p class="code" dir="ltr"[^>]*>${code}</p>`));
    expect(text).toContain('الجهاز: ');
  });

  test('about a sign-in method says what happened in the person’s language', async () => {
    const user = await addUser(ctx, { locale: 'de' });
    const browser = browserOf('en');
    await browser.login(user.email, password);
    const page = await (await browser.get('/account')).text();
    await browser.post('/account/password', { _csrf: csrfOf(page), current_password: password, password: 'a wholly different sentence' });
    const { subject, text } = await mailTo(user.email);
    expect(subject).toBe(`Ihr Passwort bei ${ctx.environment.name} wurde geändert`);
    expect(text).toContain('Gerät: Firefox unter Windows');
  });

  test('that an administrator causes is not in the language of the administrator', async () => {
    const user = await addUser(ctx);
    const api = await manage(service.url);
    const answer = await fetch(`${service.url}/api/users/${user.id}/send_password_reset`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.token}`, 'accept-language': 'pl', cookie: 'idp_language=pl' },
    });
    expect(answer.status).toBe(202);
    expect((await mailTo(user.email)).language).toBe('en');
  });
});

test('a locale that is no language reaches neither headers nor files (attack 39.810)', async () => {
  for (const locale of ['de\r\nBcc: all@example.com', '../../package', '__proto__', 'constructor', '<b>de</b>', 'de-'.repeat(11) + 'x']) {
    const user = await addUser(ctx, { locale });
    await forgot(browserOf('it'), user);
    expect(await mailTo(user.email)).toMatchObject({ subject: `Reimposta la password di ${ctx.environment.name}`, language: 'it' });
  }
  expect(smtp.received.flatMap(({ to }) => to)).not.toContain('all@example.com');
});

test('a template of the language that is decided on comes before the built-in text, one of another language does not', async () => {
  const now = ctx.clock.now();
  const row = {
    environment_id: ctx.environment.id,
    name: 'password_reset_code',
    text: '{{code}} {{time}}',
    created_at: now,
    updated_at: now,
  };
  await ctx.db.knex('mail_templates').insert([
    { ...row, id: '019ab3c2-0000-7000-8000-000000000001', locale: 'sv', subject: 'Svenska' },
    { ...row, id: '019ab3c2-0000-7000-8000-000000000002', locale: 'fr', subject: 'Français' },
  ]);
  try {
    const mailed = async (locale: string | null, page: string) => {
      const user = await addUser(ctx, { locale });
      await forgot(browserOf(page), user);
      return mailTo(user.email);
    };
    const swedish = await mailed('sv-SE', 'de');
    expect([swedish.subject, swedish.language, / kl\. /.test(swedish.text)]).toEqual(['Svenska', 'sv', true]);
    expect(await mailed('nb', 'fr')).toMatchObject({ subject: 'Français', language: 'fr' });
    expect(await mailed('de', 'fr')).toMatchObject({ subject: `Passwort bei ${ctx.environment.name} zurücksetzen`, language: 'de' });
    expect(await mailed(null, 'fr-CA')).toMatchObject({ subject: 'Français', language: 'fr' });
  } finally {
    await ctx.db.knex('mail_templates').delete();
  }
});
