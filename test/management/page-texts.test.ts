// Texts of account pages that an environment says otherwise: at the Management API, in the dashboard, and on the pages.
import { afterEach, describe, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { Browser } from '../support/browser.js';
import { password } from '../support/data.js';
import { formValues } from '../support/dashboard-forms.js';
import { Api, manage, managementClient, managementToken, type Document } from '../support/management.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url).then((made) => ({ made })));

const words = (more: Document = {}): Document => ({ key: 'login.title', locale: 'en', text: 'Welcome', ...more });
const post = (attributes: Document, caller = api.made) => caller.attempt('page_texts', attributes);
const created = (more: Document = {}): Promise<Document> => api.made.create('page_texts', words(more));
const changed = (id: string, attributes: Document) => api.made.update('page_texts', id, attributes);
const told = ({ status, body }: { status: number; body: Document }) => [
  status,
  ...((body['errors'] ?? []) as Document[]).map(({ code, source }) => `${code} ${(source as Document | undefined)?.['pointer']}`),
];
const login = async (language: string): Promise<string> =>
  (await new Browser(service.url, { 'accept-language': language }).get('/login')).text();
const heading = async (language: string) => /<h1>([^<]*)<\/h1>/.exec(await login(language))?.[1];

afterEach(() => ctx.db.knex('page_texts').delete());

describe('a page text', () => {
  test('is what pages say from then on, in its language, until it is deleted', async () => {
    expect(await heading('de')).toBe('Anmelden');
    const { id } = await created({ locale: 'de', text: 'Willkommen zurück' });
    await expect.poll(() => heading('de')).toBe('Willkommen zurück');
    expect(await heading('en')).toBe('Sign in');
    expect((await changed(id, { text: 'Grüß Gott' })).status).toBe(200);
    await expect.poll(() => heading('de')).toBe('Grüß Gott');
    expect((await api.made.delete(`/page_texts/${id}`)).status).toBe(204);
    await expect.poll(() => heading('de')).toBe('Anmelden');
  });

  test('changes refusals on pages, and nothing that programs read', async () => {
    await created({ key: 'error.invalid_credentials', text: 'That was not right. Ask the help desk.' });
    await created({ key: 'refusal.nothing_here', text: 'Lost?' });
    await expect
      .poll(async () => (await new Browser(service.url).submit('/login', { email: 'nobody@example.com', password: 'wrong' })).text())
      .toContain('Ask the help desk.');
    expect(await (await new Browser(service.url).get('/nowhere', { accept: 'text/html' })).text()).toContain('Lost?');
    const json = await new Browser(service.url).postJson('/login', { email: 'nobody@example.com', password: 'wrong' });
    expect(await json.json()).toMatchObject({
      error: 'invalid_credentials',
      error_description: 'The email address or password is incorrect. Try again, or reset your password.',
    });
  });

  test('there is one of for each key and language', async () => {
    await created();
    expect(told(await post(words()))).toEqual([409, 'already_exists /data/attributes/key']);
    await created({ locale: 'pt-BR' });
    const found = await api.made.get('/page_texts?filter[key]=login.title&sort=key');
    const locales = (found.body['data'] as Document[]).map(({ attributes }) => (attributes as Document)['locale']);
    expect(locales.toSorted()).toEqual(['en', 'pt-BR']);
  });

  test('has the last place alone, however many are made at the same moment (attack 39.858)', async () => {
    await ctx.db.knex.raw(
      `insert into page_texts (environment_id, id, key, locale, text, created_at, updated_at)
        select ?, gen_random_uuid(), 'filler.' || n, 'en', 'x', now(), now() from generate_series(1, 1999) n`,
      [ctx.environment.id],
    );
    const keys = ['login.title', 'login.title_for', 'common.sign_in', 'common.continue', 'common.email', 'common.password'];
    const answers = await Promise.all(keys.map((key) => post(words({ key, text: 'Words' }))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(5).fill(409)]);
  });

  test.each([
    [{ key: 'constructor' }, 'invalid_value /data/attributes/key'],
    [{ key: '__proto__' }, 'invalid_value /data/attributes/key'],
    [{ key: 'mail.greeting' }, 'invalid_value /data/attributes/key'],
    [{ locale: 'de-AT' }, 'invalid_value /data/attributes/locale'],
    [{ locale: '../de' }, 'invalid_value /data/attributes/locale'],
    [{ text: '{client}' }, 'unknown_variable /data/attributes/text'],
    [{ text: '<b>Welcome</b>' }, 'markup_not_allowed /data/attributes/text'],
    [{ text: 'Welcome {' }, 'invalid_text /data/attributes/text'],
    [{ text: 'Wel\u202ecome' }, 'invalid_characters /data/attributes/text'],
    [{ text: 'Wel\ncome' }, 'invalid_format /data/attributes/text'],
    [{ text: 'x'.repeat(501) }, 'too_long /data/attributes/text'],
    [{ text: '' }, 'too_short /data/attributes/text'],
  ])('that is wrong, number %#, is refused with its place: %$ (attack 39.814)', async (wrong, error) => {
    expect(told(await post(words(wrong)))).toEqual([422, error]);
    if (!('text' in wrong)) return;
    const { id } = await created({ locale: 'nl' });
    expect(told(await changed(id, wrong))).toEqual([422, error]);
  });

  test('is escaped wherever it is shown, and leads nowhere else (attack 39.813)', async () => {
    const quoted = `"Hi" 'x' && javascript:alert(1)//`;
    const links = (html: string) => [...html.matchAll(/(?:href|action|formaction)="([^"]*)"/g)].map(([, address]) => address);
    const before = links(await login('it'));
    for (const key of ['login.title', 'login.forgot', 'common.sign_in', 'script.show']) await created({ key, locale: 'it', text: quoted });
    await expect.poll(() => login('it')).toContain('&#34;Hi&#34; &#39;x&#39; &amp;&amp; javascript:alert(1)//');
    const html = await login('it');
    expect(html).not.toContain('"Hi"');
    expect(links(html)).toEqual(before);
  });

  test('stored past all rules gives way to the built-in one, which the log tells', async () => {
    const { id } = await created({ locale: 'fr', text: 'Bienvenue' });
    await ctx.db.knex('page_texts').where({ id }).update({ text: 'Chez {client}' });
    await expect.poll(() => heading('fr')).toBe('Se connecter');
    expect(service.log.join('')).toContain('"event":"page_text.unusable"');
  });

  test('is written with its own permission alone, and each change is a security event (attack 39.817)', async () => {
    const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
    expect(told(await post(words(), await only('environments:write mail_templates:write page_texts:read')))[0]).toBe(403);
    const writer = await only('page_texts:write');
    expect(told(await post(words(), writer))[0]).toBe(201);
    expect((await writer.get('/page_texts')).status).toBe(403);
    const entries = await ctx.db.knex('audit_logs').where({ event: 'security_setting.changed' });
    expect(JSON.stringify(entries)).toContain('page_text.created');
  });
});

describe('in the dashboard', () => {
  const browser = shared(() => signedInWith(service, 'page_texts:read', 'page_texts:write').then((made) => ({ made })));
  const page = async (path: string) => (await browser.made.get(`/dashboard/page_texts${path}`)).text();

  test('a text is found by its page, starts from the built-in one, and is restored by deleting it', async () => {
    expect(await page('/new')).toContain('/dashboard/page_texts/edit?group=login');
    const form = await page('/new?key=login.title_for&locale=ar');
    for (const shown of ['{client}', 'Built-in text in Arabic', 'lang="he" dir="rtl"', 'تسجيل الدخول']) expect(form).toContain(shown);
    const wrong = await browser.made.post('/dashboard/page_texts', { ...formValues(form), text: 'إلى {cliant}', password });
    expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('did you mean {client}?')]);
    const again = formValues(await page('/new?key=login.title_for&locale=ar'));
    const answer = await browser.made.post('/dashboard/page_texts', { ...again, text: 'إلى {client}', password });
    expect(answer.status).toBe(303);
    const stored = await ctx.db.knex('page_texts').first();
    expect(stored).toMatchObject({ key: 'login.title_for', locale: 'ar', text: 'إلى {client}' });
    const shown = await page(`/${stored.id}`);
    for (const text of ['login.title_for (ar)', 'Restore the built-in text', 'lang="ar" dir="rtl">إلى {client}'])
      expect(shown).toContain(text);
  });

  test('its page is shown with it, in a frame that can do nothing', async () => {
    const { id } = await created({ locale: 'ar', text: 'أهلا بكم' });
    const preview = await browser.made.get(`/dashboard/page_texts/${id}/preview`);
    expect(preview.headers.get('content-security-policy')).toContain("frame-src 'self'; ");
    const rendered = await browser.made.get(`/dashboard/page_texts/${id}/rendered`);
    expect(rendered.headers.get('content-security-policy')).toContain("frame-ancestors 'self'");
    const html = await rendered.text();
    for (const text of ['<html lang="ar" dir="rtl">', '<h1>أهلا بكم</h1>', ' inert']) expect(html).toContain(text);
    const stranger = await signedInWith(service, 'users:read');
    expect((await stranger.get(`/dashboard/page_texts/${id}/rendered`)).status).toBe(403);
    const consent = await created({ key: 'consent.asks', text: 'May {client} do this?' });
    expect(await (await browser.made.get(`/dashboard/page_texts/${consent['id']}/rendered`)).text()).toContain(
      'May <strong>Acme Notes</strong> do this?',
    );
    const unseen = await created({ key: 'totp.title', text: 'Your codes' });
    expect((await browser.made.get(`/dashboard/page_texts/${unseen['id']}/rendered`)).status).toBe(404);
  });

  test('a page or a key that isn’t there is 404 (attack 39.814)', async () => {
    for (const query of ['key=constructor', 'key=__proto__', 'key=mail.greeting'])
      expect((await browser.made.get(`/dashboard/page_texts/new?${query}`)).status).toBe(404);
  });
});
