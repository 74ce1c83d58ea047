// Mail templates at the Management API and in the dashboard, and the mails that are sent in their words.
import { afterEach, describe, expect, test } from 'vitest';
import { permit, signedInWith } from '../support/administrators.js';
import { Browser, csrfOf } from '../support/browser.js';
import { addUser, password } from '../support/data.js';
import { formValues } from '../support/dashboard-forms.js';
import { codeIn, lastMailTo, mailTo } from '../support/mailbox.js';
import { Api, manage, managementClient, managementToken, type Document } from '../support/management.js';
import { signedIn } from '../support/signed-in.js';
import { startSmtpServer } from '../support/smtp.js';
import { startTestService } from '../support/service.js';
import { contextOf, shared, sharedManagedService } from '../support/shared-service.js';

const service = sharedManagedService();
const ctx = contextOf(service);
const api = shared(() => manage(service.url).then((made) => ({ made })));

const words = (more: Document = {}): Document => ({ name: 'register_code', subject: 'Code', text: 'Type {{code}}.', ...more });
const post = (attributes: Document, caller = api.made) => caller.attempt('mail_templates', attributes);
const created = (more: Document = {}): Promise<Document> => api.made.create('mail_templates', words(more));
const changed = (id: string, attributes: Document) => api.made.update('mail_templates', id, attributes);
const removed = (id: string) => api.made.delete(`/mail_templates/${id}`);
const told = ({ status, body }: { status: number; body: Document }) => [
  status,
  ...((body['errors'] ?? []) as Document[]).map(({ code, source }) => `${code} ${(source as Document | undefined)?.['pointer']}`),
];

afterEach(() => ctx.db.knex('mail_templates').delete());

describe('a mail template', () => {
  test('gives a mail its words, in the language of whoever gets it, until it is deleted', async () => {
    const ask = async (locale: string | null) => {
      const user = await addUser(ctx, { locale });
      await new Browser(service.url).postJson('/password/forgot', { email: user.email });
      return lastMailTo(service.url, user.email);
    };
    const reset = (subject: string, locale?: string) => created({ name: 'password_reset_code', subject, ...(locale && { locale }) });
    const any = await reset('For {{environment_name}}');
    const german = await reset('Für {{environment_name}}', 'de');
    await reset('Für die Schweiz', 'de-CH');
    const subjects = async () =>
      Promise.all(['de', 'de-CH', 'de_CH', 'de-AT', 'fr', null, '../../etc'].map(async (one) => (await ask(one)).subject));
    const name = ctx.environment.name;
    expect(await subjects()).toEqual([
      `Für ${name}`,
      'Für die Schweiz',
      'Für die Schweiz',
      `Für ${name}`,
      `For ${name}`,
      `For ${name}`,
      `For ${name}`,
    ]);
    await removed(german['id']);
    await removed(any['id']);
    const builtIn = `Passwort bei ${name} zurücksetzen`;
    expect(await subjects()).toEqual([
      builtIn,
      'Für die Schweiz',
      'Für die Schweiz',
      builtIn,
      `Réinitialisez votre mot de passe sur ${name}`,
      `Reset your ${name} password`,
      `Reset your ${name} password`,
    ]);
  });

  test('has the last place alone, however many are made at the same moment (attack 38.856)', async () => {
    await ctx.db.knex.raw(
      `insert into mail_templates (environment_id, id, name, locale, subject, text, created_at, updated_at)
        select ?, gen_random_uuid(), 'filler', 'x-' || n, 'x', 'x', now(), now() from generate_series(1, 999) n`,
      [ctx.environment.id],
    );
    const answers = await Promise.all(['de', 'fr', 'es', 'it', 'nl', 'pl'].map((locale) => post(words({ locale }))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(5).fill(409)]);
  });

  test('that is only text has HTML that follows from it; with HTML of its own that is in our frame, or stands alone', async () => {
    const mailed = async (email: string) => {
      await new Browser(service.url).postJson('/register', { email });
      return lastMailTo(service.url, email);
    };
    const { id } = await created({ text: 'Hello!\n\n{{code}}\n' });
    const first = await mailed('one@example.com');
    expect(first.html).toContain('<p>Hello!</p>');
    expect(first.html).toContain(`>${codeIn(first)}</p>`);
    expect(first.text).toBe(`Hello!\n\n${codeIn(first)}\n\n${ctx.environment.name}\n`);
    expect((await changed(id, { html: '<h1>{{code}}</h1>' })).status).toBe(200);
    const second = await mailed('two@example.com');
    expect(second.html).toMatch(new RegExp(`^<!doctype html>[\\s\\S]+<h1>${codeIn(second)}</h1>[\\s\\S]+</html>\\s*$`));
    expect((await changed(id, { html: '<!doctype html><title>x</title>{{code}}' })).status).toBe(200);
    expect((await mailed('three@example.com')).html).toMatch(/^<!doctype html><title>x<\/title>\d{6}$/);
    expect((await changed(id, { html: null })).body['data'].attributes.html).toBeNull();
  });

  test('there is one of for each mail and language', async () => {
    await created();
    expect(told(await post(words()))).toEqual([409, 'already_exists /data/attributes/name']);
    await created({ locale: 'pt-BR' });
    expect(told(await post(words({ locale: 'pt-BR' })))).toEqual([409, 'already_exists /data/attributes/name']);
    const found = await api.made.get('/mail_templates?filter[name]=register_code&sort=name');
    expect((found.body['data'] as Document[]).map(({ attributes }) => (attributes as Document)['locale']).sort()).toEqual(
      ['pt-BR', null].sort(),
    );
  });

  test.each([
    [{ text: '{{cod}}' }, 'unknown_variable /data/attributes/text'],
    [{ text: 'Hello' }, 'variable_required /data/attributes/text'],
    [{ subject: '{{code}}' }, 'invalid_template /data/attributes/subject'],
    [{ html: '{{code}}<script></script>' }, 'markup_not_allowed /data/attributes/html'],
    [{ html: 'Hello' }, 'variable_required /data/attributes/html'],
    [{ subject: 'Code\r\nBcc: all@example.com' }, 'invalid_format /data/attributes/subject'],
    [{ subject: '' }, 'too_short /data/attributes/subject'],
    [{ subject: 'x'.repeat(201) }, 'too_long /data/attributes/subject'],
    [{ text: `{{code}}${'x'.repeat(20_000)}` }, 'too_long /data/attributes/text'],
    [{ html: `{{code}}${'x'.repeat(100_000)}` }, 'too_long /data/attributes/html'],
    [{ text: '{{code}}\u0001' }, 'invalid_format /data/attributes/text'],
    [{ locale: 'de_DE' }, 'invalid_format /data/attributes/locale'],
    [{ locale: 'DE-de' }, 'invalid_format /data/attributes/locale'],
    [{ locale: '../de' }, 'invalid_format /data/attributes/locale'],
    [{ name: 'constructor' }, 'invalid_value /data/attributes/name'],
  ])('of %j is refused with its place', async (wrong, error) => {
    expect(told(await post(words(wrong)))).toEqual([422, error]);
    if ('name' in wrong || 'locale' in wrong) return;
    const { id } = await created({ locale: 'nl' });
    expect(told(await changed(id, wrong))).toEqual([422, error]);
    await removed(id);
  });

  test('is written with its own permission alone (attack 38.777)', async () => {
    const only = async (scope: string) => new Api(service.url, await managementToken(service.url, managementClient, { scope }));
    expect(told(await post(words(), await only('environments:write environments:read mail_templates:read')))[0]).toBe(403);
    const writer = await only('mail_templates:write');
    expect(told(await post(words(), writer))[0]).toBe(201);
    expect((await writer.get('/mail_templates')).status).toBe(403);
    expect(told(await (await only('mail_templates:write')).patch(`/environments/${ctx.environment.id}`, { data: {} }))[0]).toBe(403);
    const events = await ctx.db.knex('audit_logs').where({ event: 'security_setting.changed' });
    expect(JSON.stringify(events)).toContain('mail_template.created');
  });

  test('that no longer fits its mail gives way to the built-in words, which the log tells', async () => {
    const { id } = await created();
    await ctx.db.knex('mail_templates').where({ id }).update({ text: 'Type {{token}}.' });
    await new Browser(service.url).postJson('/register', { email: 'fallback@example.com' });
    const mail = await lastMailTo(service.url, 'fallback@example.com');
    expect([mail.subject, codeIn(mail)]).toEqual([`Your code for ${ctx.environment.name}`, expect.stringMatching(/^\d{6}$/)]);
    expect(service.log.join('')).toContain('"event":"mail.template_unusable"');
  });
});

describe('a test of a template', () => {
  test('goes to the person who asks, with sample values and marked as one; ten in ten minutes (attack 38.778)', async () => {
    const { id } = await created({ subject: 'Hello from {{environment_name}}', text: '{{code}} from {{device}}' });
    const user = await addUser(ctx);
    await permit(ctx, user.id, 'mail_templates:read', 'mail_templates:write');
    const browser = await signedIn(service, user);
    const _csrf = csrfOf(await (await browser.get(`/dashboard/mail_templates/${id}`)).text());
    const before = Number((await ctx.db.knex('mails').count())[0]?.['count']);
    const send = () =>
      browser.post(`/dashboard/mail_templates/${id}/test`, { _csrf, to: 'victim@example.com', email: 'victim@example.com' });
    const answer = await send();
    expect([answer.status, answer.headers.get('location')]).toEqual([303, expect.stringContaining('done=test_mail_sent')]);
    const [mail] = await mailTo(service.url, user.email);
    expect([mail?.subject, mail?.text]).toEqual([
      `[Test] Hello from ${ctx.environment.name}`,
      expect.stringContaining('104285 from Chrome on macOS'),
    ]);
    expect(Number((await ctx.db.knex('mails').count())[0]?.['count'])).toBe(before + 1);
    expect(await mailTo(service.url, 'victim@example.com')).toEqual([]);
    const statuses = [];
    for (let number = 0; number < 10; number++) statuses.push((await send()).status);
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 303), 429]);
    await ctx.db.knex('rate_limits').delete();
    await ctx.db.knex('users').where({ id: user.id }).update({ email_verified: false });
    const count = (await mailTo(service.url, user.email)).length;
    expect((await send()).status).toBe(409);
    expect(await mailTo(service.url, user.email)).toHaveLength(count);
  });

  test('by a client goes to nobody: it has no address (attack 38.778)', async () => {
    const { id } = await created();
    expect(told(await api.made.post(`/mail_templates/${id}/test`))[0]).toBe(409);
    expect(told(await api.made.post(`/mail_templates/${id}/test`))[1]).toContain('no_proven_address');
  });
});

describe('in the dashboard', () => {
  const browser = shared(() => signedInWith(service, 'mail_templates:read', 'mail_templates:write').then((made) => ({ made })));
  const page = async (path: string) => (await browser.made.get(`/dashboard/mail_templates${path}`)).text();

  test('a template starts from the built-in words, is told its variables, and is stored with its lines', async () => {
    expect(await page('/new')).toContain('/dashboard/mail_templates/new?name=sign_in_methods');
    const form = await page('/new?name=password_reset_code');
    for (const shown of [
      'Reset your {{environment_name}} password',
      '{{#administrator}}',
      'one is required',
      '{{expires_in}}',
      'Password reset',
    ])
      expect(form).toContain(shown);
    const values = { ...formValues(form), locale: 'fr', text: 'Bonjour\r\n\r\n{{code}}', password };
    const german = await page('/new?name=password_reset_code&locale=de');
    expect(formValues(german)).toMatchObject({ locale: 'de', subject: 'Passwort bei {{environment_name}} zurücksetzen' });
    expect(german).toContain('<option value="de" selected>German</option>');
    const wrong = await browser.made.post('/dashboard/mail_templates', { ...values, text: '{{cde}}' });
    expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining('did you mean {{code}}?')]);
    const again = formValues(await page('/new?name=password_reset_code'));
    const answer = await browser.made.post('/dashboard/mail_templates', { ...values, ...again, locale: 'fr', text: values.text, password });
    expect(answer.status).toBe(303);
    const stored = await ctx.db.knex('mail_templates').where({ locale: 'fr' }).first();
    expect(stored).toMatchObject({ name: 'password_reset_code', text: 'Bonjour\n\n{{code}}', html: null });
    const shown = await page(`/${stored.id}`);
    for (const text of ['Password reset (fr)', 'French', 'Follows from the text', 'Send a test to me']) expect(shown).toContain(text);
  });

  test('a preview is shown in a frame that can do nothing, and nowhere else (attack 38.779)', async () => {
    const { id } = await created({ locale: 'de', html: '<h1 style="color:red">{{code}}</h1>' });
    const preview = await browser.made.get(`/dashboard/mail_templates/${id}/preview`);
    expect(preview.headers.get('content-security-policy')).toContain("frame-src 'self'; ");
    expect(await preview.text()).toContain(`src="/dashboard/mail_templates/${id}/rendered" title="HTML" sandbox `);
    const rendered = await browser.made.get(`/dashboard/mail_templates/${id}/rendered`);
    expect(rendered.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none'; .*frame-ancestors 'self'$/);
    expect(await rendered.text()).toContain('<h1 style="color:red">104285</h1>');
    const other = await browser.made.get('/dashboard/mail_templates');
    expect(other.headers.get('content-security-policy')).not.toContain('frame-src');
    const stranger = await signedInWith(service, 'users:read');
    expect((await stranger.get(`/dashboard/mail_templates/${id}/rendered`)).status).toBe(403);
    expect((await new Browser(service.url).get(`/dashboard/mail_templates/${id}/rendered`)).status).toBe(303);
  });
});

test('a mail arrives by SMTP in the words of its template', async () => {
  const smtp = await startSmtpServer();
  const own = await startTestService({ SMTP_URL: `smtp://127.0.0.1:${smtp.port}` });
  try {
    const row = { name: 'register_code', subject: 'Willkommen', text: 'Ihr Code: {{code}}', html: '<p>Ihr Code: <b>{{code}}</b></p>' };
    const at = own.clock.now();
    const { environment } = await own.context();
    await own.deps.db
      .knex('mail_templates')
      .insert({ ...row, environment_id: environment.id, id: environment.id, created_at: at, updated_at: at });
    await new Browser(own.url).postJson('/register', { email: 'grace@example.com' });
    await expect.poll(() => smtp.received.length).toBe(1);
    const mail = smtp.received[0]?.mail;
    expect(mail?.subject).toBe('Willkommen');
    const code = /Ihr Code: (\d{6})/.exec(mail?.text ?? '')?.[1] ?? 'none';
    expect(mail?.html).toContain(`<p>Ihr Code: <b>${code}</b></p>`);
    expect(own.log.join('')).not.toContain(code);
  } finally {
    await own.stop();
    await smtp.close();
  }
});
