// Page texts are edited a page at a time, and mails beside what they would be: what is posted without any script.
import { beforeEach, describe, expect, test } from 'vitest';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { contextOf, shared, sharedService } from '../support/shared-service.js';

const service = sharedService();
const ctx = contextOf(service);
const permissions = ['page_texts:read', 'page_texts:write', 'mail_templates:read', 'mail_templates:write'];
const admin = shared(() => signedInWith(service, ...permissions).then((browser) => ({ browser })));
const edit = '/dashboard/page_texts/edit?group=login&locale=de';

/** What the form at the address says, with other texts in it. */
async function formAt(path: string, changes: Record<string, string> = {}): Promise<Record<string, string>> {
  const page = await (await admin.browser.get(path)).text();
  const texts = [...page.matchAll(/<textarea id="(text:[^"]+)"[^>]*>\n([^<]*)<\/textarea>/g)].map(([, name = '', text = '']) => [
    name,
    text,
  ]);
  const version = /name="_version" value="([^"]+)"/.exec(page)?.[1] ?? '';
  return { _csrf: csrfOf(page), _version: version, ...(Object.fromEntries(texts) as Record<string, string>), ...changes };
}
const stored = () => ctx.db.knex('page_texts').orderBy('key').select('key', 'locale', 'text');

describe('the texts of a page', () => {
  beforeEach(() => ctx.db.knex('page_texts').delete());

  test('are stored where they differ from the built-in ones, changed and restored (specification 4.13.6)', async () => {
    const first = await formAt(edit, { 'text:login.title': 'Willkommen', 'text:login.new_here': 'Neu bei uns?' });
    const answer = await admin.browser.post(edit, first);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `${edit}&done=updated`]);
    expect(await stored()).toEqual([
      { key: 'login.new_here', locale: 'de', text: 'Neu bei uns?' },
      { key: 'login.title', locale: 'de', text: 'Willkommen' },
    ]);
    const changes = { 'text:login.title': 'Hallo', 'text:login.new_here': '' };
    expect((await admin.browser.post(edit, await formAt(edit, changes))).status).toBe(303);
    expect(await stored()).toEqual([{ key: 'login.title', locale: 'de', text: 'Hallo' }]);
    expect(await (await admin.browser.get(edit)).text()).toContain('Built-in text: Anmelden');
  });

  test('are refused as a whole when one of them can’t be, and when somebody else has changed them (specification 9.2.9)', async () => {
    const wrong = await formAt(edit, { 'text:login.title': 'Hallo', 'text:login.title_for': 'Bei <b>uns</b>' });
    const refused = await admin.browser.post(edit, wrong);
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('no tags or entities')]);
    const outdated = await formAt(edit, { 'text:login.title': 'Zweite' });
    await admin.browser.post(edit, await formAt(edit, { 'text:login.title': 'Erste' }));
    const conflict = await admin.browser.post(edit, outdated);
    const page = await conflict.text();
    expect([conflict.status, page]).toEqual([409, expect.stringContaining('Someone else changed these texts')]);
    expect(page).toContain('Zweite');
    expect(await stored()).toEqual([{ key: 'login.title', locale: 'de', text: 'Erste' }]);
  });

  test('of every group have a form; one that isn’t there is 404, and who may not change texts gets 403', async () => {
    const tiles = await (await admin.browser.get('/dashboard/page_texts/new')).text();
    const areas = [...tiles.matchAll(/href="(\/dashboard\/page_texts\/edit\?group=\w+)"/g)].map(([, path]) => path ?? '');
    expect(areas.length).toBeGreaterThan(5);
    for (const path of areas) expect([path, (await admin.browser.get(path)).status]).toEqual([path, 200]);
    const long = '/dashboard/page_texts/edit?group=refusal&locale=ja';
    expect((await admin.browser.post(long, await formAt(long))).status).toBe(303);
    expect(await stored()).toEqual([]);
    for (const group of ['mail', 'none', '__proto__', '']) {
      expect((await admin.browser.get(`/dashboard/page_texts/edit?group=${group}`)).status).toBe(404);
      expect((await admin.browser.get(`/dashboard/page_texts/draft?group=${group}`)).status).toBe(404);
    }
    const reader = await signedInWith(service, 'page_texts:read', 'users:read');
    expect((await reader.get(edit)).status).toBe(403);
    expect((await (await signedInWith(service, 'users:read')).get('/dashboard/page_texts/draft?group=login')).status).toBe(403);
  });

  test('consent, device, sign-out and error pages are shown too, in their language, with what a form holds', async () => {
    const said = { consent: 'Acme Notes', device: 'Gerät', logout: 'ada@example.com', logged_out: 'Acme Notes', error: 'schiefgegangen' };
    for (const [group, text] of Object.entries(said)) {
      const answer = await admin.browser.get(`/dashboard/page_texts/draft?group=${group}&locale=de`);
      expect([group, answer.status, (await answer.text()).includes(text)]).toEqual([group, 200, true]);
    }
    const draft = '/dashboard/page_texts/draft?group=device&locale=de';
    const texts = await formAt('/dashboard/page_texts/edit?group=device&locale=de', { 'text:device.title': 'Fernseher verbinden' });
    expect(await (await admin.browser.post(draft, texts)).text()).toContain('Fernseher verbinden');
  });

  test('are seen on their page before they are stored; a text that can’t be shown is the built-in one', async () => {
    const draft = '/dashboard/page_texts/draft?group=login&locale=de';
    const texts = await formAt(edit, { 'text:login.title': 'Willkommen', 'text:login.new_here': '<b>Neu</b>' });
    const answer = await admin.browser.post(draft, texts);
    const page = await answer.text();
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'self'");
    expect(page).toContain('Willkommen</h1>');
    expect(page).toContain('Neu hier?');
    expect(page).not.toContain('<b>');
    expect(await (await admin.browser.get(draft)).text()).toContain('Anmelden</h1>');
    expect(await stored()).toEqual([]);
  });
});

describe('a mail that is being written', () => {
  const draft = '/dashboard/mail_templates/draft?name=sign_in_code&locale=de';
  const mail = async (fields: Record<string, string>) => {
    const _csrf = csrfOf(await (await admin.browser.get('/dashboard/mail_templates/new?name=sign_in_code')).text());
    return admin.browser.post(draft, { _csrf, subject: 'Code', text: '', html: '', ...fields });
  };

  test('is shown with sample values, in a frame that can do nothing, and nothing is stored', async () => {
    expect(await (await admin.browser.get(draft)).text()).toMatch(/melden Sie sich bei[\s\S]*104285/);
    const answer = await mail({ text: 'Hallo!\r\n\r\n{{code}}' });
    expect(await answer.text()).toMatch(/Hallo![\s\S]*104285/);
    expect(answer.headers.get('content-security-policy')).toMatch(/^sandbox;/);
    expect(await ctx.db.knex('mail_templates')).toEqual([]);
  });

  test('says that it can’t be shown while it can’t be stored; no such mail is 404, and a stranger to templates gets 403', async () => {
    for (const text of ['', 'Hallo {{nam}}', '{{#second}}{{code}}', 'no code'])
      expect(await (await mail({ text })).text()).toContain('can’t be shown yet');
    expect(await (await mail({ text: '{{code}}', html: '<script>alert(1)</script>{{code}}' })).text()).not.toContain('<script>');
    expect((await admin.browser.get('/dashboard/mail_templates/draft?name=none')).status).toBe(404);
    expect((await admin.browser.get('/dashboard/mail_templates/draft?name=sign_in_code&locale=!!')).status).toBe(200);
    expect((await (await signedInWith(service, 'users:read')).get(draft)).status).toBe(403);
  });

  test('is for one language of the list, or for all others, which is said with what it does', async () => {
    const page = await (await admin.browser.get('/dashboard/mail_templates/new?name=sign_in_code')).text();
    expect(page).toMatch(/<option value="ja">[^<]+<\/option>[\s\S]*<option value="">All other languages<\/option>/);
    expect(page).toContain('replaces the built-in translations');
  });
});
