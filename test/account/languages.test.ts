// In which language a page answers, and that what is no text of ours never becomes one.
import { describe, expect, test } from 'vitest';
import type { UserRow } from '../../src/db/tables/users.js';
import { updateEnvironment } from '../../src/db/tables/environments.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addClient, addUser } from '../support/data.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';
import { signedIn } from '../support/signed-in.js';

const service = sharedService(() => startTestService());
const ctx = contextOf(service);
const client = shared(() => addClient(ctx));

const newUser = async (row: Partial<UserRow> = {}) => addUser(ctx, row);
const langOf = (html: string) => /<html lang="([^"]*)"( dir="rtl")?>/.exec(html)?.slice(1).filter(Boolean).join('') ?? null;
const authorizePath = (more: Record<string, string>) =>
  `/oauth/authorize?${new URLSearchParams({ response_type: 'code', client_id: client.id, redirect_uri: client.redirect_uris[0] ?? '', scope: 'openid', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', ...more })}`;

async function page(browser: Browser, path: string, headers: Record<string, string> = {}): Promise<{ html: string; response: Response }> {
  let response = await browser.get(path, headers);
  for (let hops = 0; response.status === 303 && hops < 5; hops++)
    response = await browser.get(response.headers.get('location') ?? '', headers);
  return { html: await response.text(), response };
}

describe('the language of a page (specification 4.13.1)', () => {
  test('is what the browser asks for, and says so', async () => {
    const { html, response } = await page(new Browser(service.url), '/login', { 'accept-language': 'de-AT,de;q=0.9,en;q=0.5' });
    expect(langOf(html)).toBe('de');
    expect(html).toContain('Passwort vergessen?');
    expect(response.headers.get('content-language')).toBe('de');
    expect(response.headers.get('vary')).toMatch(/Accept-Language/);
  });

  test('is English where nothing else is said, and written from right to left where that is so', async () => {
    expect(langOf((await page(new Browser(service.url), '/login')).html)).toBe('en');
    expect(langOf((await page(new Browser(service.url), '/login', { 'accept-language': 'ar' })).html)).toBe('ar dir="rtl"');
  });

  test('is what the application asks for, through every step of the sign-in', async () => {
    const browser = new Browser(service.url, { 'accept-language': 'en' });
    const { html } = await page(browser, authorizePath({ ui_locales: 'xx fr-CA de' }));
    expect(langOf(html)).toBe('fr');
    const return_to = /name="return_to" value="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const refused = await browser.post('/login', { _csrf: csrfOf(html), email: 'nobody@example.com', password: 'wrong', return_to });
    expect(langOf(await refused.text())).toBe('fr');
    const forgot = await page(browser, `/password/forgot?${new URLSearchParams({ return_to })}`);
    expect(langOf(forgot.html)).toBe('fr');
  });

  test('is the person’s own once it is known who is there', async () => {
    const browser = await signedIn(service, await newUser({ locale: 'ja-JP' }));
    const { html } = await page(browser, '/account', { 'accept-language': 'de' });
    expect(langOf(html)).toBe('ja');
    expect(html).toContain('パスワードを変更');
    const names = [...html.matchAll(/ name="(first_name|last_name)"/g)].map(([, name]) => name);
    expect(names, 'the family name comes first').toEqual(['last_name', 'first_name']);
  });

  test('is the environment’s where nobody asks for one', async () => {
    await updateEnvironment(ctx.scope, ctx.environment.id, { default_locale: 'nl' });
    try {
      await expect.poll(async () => langOf((await page(new Browser(service.url), '/login')).html)).toBe('nl');
    } finally {
      await updateEnvironment(ctx.scope, ctx.environment.id, { default_locale: 'en' });
    }
    await expect.poll(async () => langOf((await page(new Browser(service.url), '/login')).html)).toBe('en');
  });
});

describe('the switch (specification 4.13.3)', () => {
  test('comes before everything else, and keeps where the sign-in goes on', async () => {
    const browser = new Browser(service.url, { 'accept-language': 'en' });
    const first = await page(browser, authorizePath({ ui_locales: 'fr' }));
    const return_to = /name="return_to" value="([^"]+)"/.exec(first.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const switched = await browser.post('/language?page=/login', {
      _csrf: csrfOf(first.html),
      language: 'he',
      email: 'ada@example.com',
      password: 'typed already',
      return_to,
    });
    expect(switched.status).toBe(303);
    const location = switched.headers.get('location') ?? '';
    expect(location).not.toContain('typed');
    const { html } = await page(browser, location);
    expect(langOf(html)).toBe('he dir="rtl"');
    expect(html).toContain('value="ada@example.com"');
    expect(html.replaceAll('&amp;', '&')).toContain(return_to);
  });

  test('goes back to pages of ours alone (CWE-601)', async () => {
    const browser = new Browser(service.url);
    for (const return_to of ['https://evil.example/', '//evil.example', '/\\evil.example']) {
      const answer = await browser.get(`/language?${new URLSearchParams({ language: 'de', return_to })}`);
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login']);
    }
    const answer = await browser.get('/language?language=de&return_to=%2Fregister');
    expect(answer.headers.get('location')).toBe('/register');
  });

  test('a cookie that we never set chooses nothing (attack 39.781)', async () => {
    for (const value of ['../../package', '__proto__', 'constructor', 'de%0d%0aSet-Cookie:x=1', '<script>', 'x'.repeat(3000)]) {
      const { html, response } = await page(new Browser(service.url), '/login', {
        cookie: `idp_language=${value}`,
        'accept-language': 'it',
      });
      expect([response.status, langOf(html)]).toEqual([200, 'it']);
    }
    const odd = await new Browser(service.url).get('/language?language=__proto__&return_to=%2Flogin');
    expect(odd.headers.getSetCookie()).toEqual([]);
  });

  test('a form of another site switches nothing (attack 39.782)', async () => {
    const browser = new Browser(service.url);
    await browser.get('/login');
    const answer = await browser.post('/language?page=/login', { language: 'de' }, { origin: 'https://evil.example' });
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
  });

  test('a link of another site leads to the page and switches nothing (attack 39.782)', async () => {
    const follow = (site: string) =>
      fetch(`${service.url}/language?language=he&return_to=/register`, { headers: { 'sec-fetch-site': site }, redirect: 'manual' });
    const answers = await Promise.all(['cross-site', 'same-origin'].map(follow));
    expect(answers.map(({ status, headers }) => [status, headers.get('location'), headers.getSetCookie().length])).toEqual([
      [303, '/register', 0],
      [303, '/register', 1],
    ]);
  });
});

describe('a refusal', () => {
  test('is in the language on the page, in English and with its code as JSON', async () => {
    const browser = new Browser(service.url, { 'accept-language': 'de' });
    const answer = await browser.submit('/login', { email: 'nobody@example.com', password: 'wrong' });
    expect(answer.status).toBe(401);
    expect(await answer.text()).toContain('E-Mail-Adresse oder Passwort ist falsch.');
    const json = await browser.postJson('/login', { email: 'nobody@example.com', password: 'wrong' });
    expect(await json.json()).toMatchObject({
      error: 'invalid_credentials',
      error_description: 'The email address or password is incorrect. Try again, or reset your password.',
    });
  });

  test('keeps its code on the error page', async () => {
    const { html, response } = await page(new Browser(service.url), '/no-such-page', { accept: 'text/html', 'accept-language': 'ja' });
    expect([response.status, langOf(html)]).toEqual([404, 'ja']);
    expect(html).toContain('このアドレスには何もありません。');
    expect(html).toContain('<code id="error-code">not_found</code>');
  });

  const inGerman = { accept: 'text/html', 'accept-language': 'de' };

  test.each<[number, string, string, RequestInit]>([
    [405, '/login', 'Diese Adresse kann so nicht verwendet werden.', { method: 'PUT' }],
    [413, '/login', 'Die gesendeten Daten sind zu groß.', { method: 'POST', body: new URLSearchParams({ email: 'x'.repeat(70_000) }) }],
    [
      400,
      '/login',
      'Die gesendeten Daten sind nicht lesbar.',
      { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } },
    ],
    [415, '/login', 'Die gesendeten Daten sind nicht lesbar.', { method: 'POST', body: 'x=1', headers: { 'content-encoding': 'gzip' } }],
    [403, '/login', 'Dieses Formular', { method: 'POST', body: 'email=x', headers: { 'content-type': 'text/plain' } }],
    [400, '/login?%00', 'Diese Adresse ist nicht lesbar.', {}],
    [400, '/account/sessions/%E0%A4%A/revoke', 'Diese Adresse ist nicht lesbar.', { method: 'POST', body: '' }],
  ])('of what is malformed is in the language too: %i at %s', async (status, path, text, init) => {
    const form = init.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
    const headers = { ...form, ...(init.headers as Record<string, string> | undefined), ...inGerman };
    const response = await new Browser(service.url).request(path, { ...init, headers });
    const html = await response.text();
    expect([response.status, langOf(html)]).toEqual([status, 'de']);
    expect(html).toContain(text);
  });

  test('that has no other words is in English as a whole', async () => {
    const response = await new Browser(service.url).request('/docs/api/no_such_collection', { headers: inGerman });
    expect([response.status, langOf(await response.text())]).toEqual([404, 'en']);
  });
});

test('discovery names the languages (OIDC Discovery 3)', async () => {
  const metadata = (await (await fetch(`${service.url}/.well-known/openid-configuration`)).json()) as Record<string, unknown>;
  expect(metadata['ui_locales_supported']).toEqual([
    'en',
    'de',
    'fr',
    'es',
    'pt-BR',
    'it',
    'nl',
    'pl',
    'tr',
    'uk',
    'ja',
    'ko',
    'zh-CN',
    'ar',
    'he',
  ]);
});
