import { readFileSync } from 'node:fs';
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import type { Theme } from '../../../src/domain/environments/branding.js';
import { builtInText } from '../../../src/domain/mail/built-in.js';
import { mailNames } from '../../../src/domain/mail/mails.js';
import { sampleValues } from '../../../src/domain/mail/sample.js';
import { renderMail, type MailModels, type RenderedMail } from '../../../src/domain/mail/templates.js';
import { languages, languageTags, type Language } from '../../../src/lib/languages/languages.js';
import { message } from '../../../src/lib/languages/messages.js';

const environment = { name: 'Acme & Sons', support_email: 'help@acme.example' };
const request = { ip_address: '203.0.113.5', device: { name: 'Chrome', system: 'macOS' }, at: '2026-11-21T09:05:00.000Z' };
const base = { environment, request };
const reset_url = 'https://id.example/password/reset?reset_id=1&code=482913';

/** A model of each mail: the samples of its variables. */
const models = Object.fromEntries(mailNames.map((name) => [name, { ...base, ...sampleValues(name) }])) as unknown as MailModels;
Object.assign(models.password_reset_code, { code: '482913', expires_in: 3600, reset_url });
// An amount with a point looks like a host.
Object.assign(models.approval_requested, { binding_message: 'Pay 49 EUR to Acme Travel' });
/** Mails that nobody who gets them has asked for, and that don’t say what to do then. */
const unasked: readonly (keyof MailModels)[] = [
  'approval_requested',
  'password_breached',
  'account_deleted',
  'domain_record_missing',
  'organization_invitation',
  'email_changed',
  'provider_access_lost',
  'authorization_ended',
];

/** What `npm run texts` has put into each language in English. */
const untranslated = JSON.parse(readFileSync('data/languages/untranslated.json', 'utf8')) as Record<string, Record<string, string>>;

/** Whether the mail has a sentence that waits for its translation. */
function waits(name: keyof MailModels, language: Language): boolean {
  const { subject, text } = builtInText(name, language);
  const sentences = Object.values(untranslated[language] ?? {}).map((one) => one.replaceAll(/\{(\w+)\}/g, '{{$1}}'));
  return sentences.some((one) => `${subject}\n${text}`.includes(one));
}

const render = (name: keyof MailModels, change: object = {}, language: Language = 'en'): RenderedMail =>
  renderMail(name, { ...models[name], ...change } as MailModels[typeof name], builtInText(name, language), language);

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#34;': '"', '&#39;': "'" };

/** The words of an HTML mail, as a reader sees them, without what it alone has: the name on top and what buttons say. */
function words(html: string): string {
  const body = html.slice(html.indexOf('<body')).replaceAll(/<p class="brand"[^]*?<\/p>|<a class="button"[^]*?<\/a>/g, ' ');
  return body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/&[#\w]+;/g, (entity) => entities[entity] ?? entity);
}

const squeezed = (text: string) =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([.,)])/g, '$1')
    .trim();

describe.each(mailNames.filter((name) => !unasked.includes(name)))('the mail %s', (name) => {
  test('says who asked, from where and when, and what to do otherwise', () => {
    const { text } = render(name);
    expect(text).toContain('\nWhen: 21 November 2026 at 09:05 UTC\nDevice: Chrome on macOS\nIP address: 203.0.113.5\n');
    expect(text, 'Say what to do “If this wasn’t you”, or name the mail in `unasked`.').toContain('If this wasn’t you');
    expect(text).toContain('Acme & Sons');
    expect(text).toContain('help@acme.example');
  });
});

describe.each(mailNames)('the mail %s', (name) => {
  test('has the same words as text and as HTML', () => {
    const { text, html } = render(name);
    expect(squeezed(words(html))).toBe(squeezed(text));
  });

  test('without a logo loads nothing from anywhere and tells nobody that it was read', () =>
    expect(render(name).html).not.toMatch(/<(img|script|link|iframe|object)|url\(|@import| src=/i));

  test('escapes what people may choose, and keeps the subject on one line', () => {
    const hostile = '<script>alert(1)</script>\r\nBcc: all@example.com';
    const { subject, html, text } = render(name, {
      environment: { name: hostile, support_email: null },
      request: { ...request, device: { name: '<b>x</b>', system: null } },
    });
    expect(html).not.toMatch(/<script|<b>/);
    expect(html).toContain('&lt;script&gt;');
    expect(text).toContain('<script>alert(1)</script>');
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect(subject).not.toMatch(/[\u0000-\u001f]/);
    expect(text).not.toContain('help@acme.example');
  });
});

/** What a mail program makes a link of: addresses of pages and mailboxes, and anything that looks like a host name. */
const linkable = /[a-z][a-z0-9+.-]*:\/\/\S+|www\.\S+|\S+@\S+|[\p{L}\p{N}-]+(?:[.\uff0e\u3002\uff61\u2024][\p{L}\p{N}-]+)+/giu;

const hostileNames = [
  'evil.example',
  'https://evil.example/login?x=1',
  'www.evil.example',
  'Call us: mailto:ada@evil.example',
  '//evil.example',
  'evil\u3002example',
  'ev\u200bil.example',
  'evil\u202e.example',
  'evil\n.example',
  'evil .example',
  'evil.\u200dexample',
  'x\uff20evil\uff0eexample',
];

describe.each(mailNames)('whatever somebody calls themselves, the mail %s', (name) => {
  test.each(languageTags)('holds no link but our own in %s (attack 12.268)', (language) => {
    const { subject: plain, text: plainText } = render(name, { environment: { name: 'Acme', support_email: null } }, language);
    // The full stop of Japanese and Chinese sentences of ours has no space after it.
    const ours = new Set(`${plain}\n${plainText}`.match(linkable)?.filter((match) => match.includes('\u3002')));
    for (const hostile of hostileNames) {
      const hostileModel = {
        ...(name === 'account_linked' ? { provider: hostile, provider_email: 'ada@evil.example' } : {}),
        ...(name === 'sign_in_methods' ? { happening: message('mail.passkey_removed', { factor_name: hostile }) } : {}),
        environment: { name: hostile, support_email: null },
        request: { ip_address: hostile, device: { name: hostile, system: hostile }, at: request.at },
      };
      const { subject, text, html } = render(name, hostileModel, language);
      const own = Object.values(models[name]).filter((value) => typeof value === 'string' && value.startsWith('https://id.example'));
      const shown = (whole: string) => own.reduce<string>((rest, link) => rest.replaceAll(link as string, ''), whole);
      for (const body of [subject, shown(text), shown(words(html))])
        expect((body.match(linkable) ?? []).filter((match) => !ours.has(match))).toEqual([]);
      const links = [...html.matchAll(/href="([^"]*)"/g)].map((match) => match[1]?.replaceAll('&amp;', '&'));
      expect(links.every((link) => own.includes(link as never))).toBe(true);
    }
  });
});

describe('codes', () => {
  test.each(['register_code', 'password_reset_code'] as const)('of %s stand once, whole, in each body', (name) => {
    const model = models[name];
    const { text, html } = render(name);
    expect(text.split('\n')).toContain(model.code);
    expect(html).toContain(`>${model.code}</p>`);
  });

  test('stay out of subjects, which locked screens show and relays log (attack 12.258)', () => {
    for (const name of mailNames) expect(render(name).subject).not.toMatch(/\d{6}/);
  });

  test.each([
    [600, '10 minutes'],
    [60, '1 minute'],
    [30, '30 seconds'],
    [3600, '60 minutes'],
    [86400, '24 hours'],
    [604800, '7 days'],
  ])('that live %d s are said to be valid for %s', (expires_in, phrase) => {
    expect(render('register_code', { expires_in }).text).toContain(`expires in ${phrase}.`);
  });
});

test.each([
  [{ ip_address: null, device: null }, 'When: 21 November 2026 at 09:05 UTC\n\n'],
  [{ ip_address: '203.0.113.5', device: null }, 'When: 21 November 2026 at 09:05 UTC\nIP address: 203.0.113.5\n\n'],
  [{ ip_address: null, device: { name: 'Firefox', system: 'Linux' } }, 'When: 21 November 2026 at 09:05 UTC\nDevice: Firefox on Linux\n\n'],
  [{ ip_address: 'unknown', device: { name: 'curl', system: null } }, 'When: 21 November 2026 at 09:05 UTC\nDevice: curl\n\n'],
])('what is unknown about a request is left out: %j', (known, phrase) => {
  expect(render('register_code', { request: { ...request, ...known } }).text).toContain(phrase);
});

test('a reset that an administrator started says so', () =>
  expect(render('password_reset_code', { administrator: true }).text).toContain('An administrator requested this.'));

test('the link of the reset mail survives as HTML', async () => {
  const { html } = render('password_reset_code');
  const mail = await PostalMime.parse(`Content-Type: text/html; charset=utf-8\r\n\r\n${html}`);
  expect(mail.html).toContain('href="https://id.example/password/reset?reset_id=1&amp;code=482913"');
});

test('links are of the environment’s colour, as far as it can be read', () => {
  const html = (primary_color: string | null) =>
    render('password_changed', { environment: { ...environment, theme: { primary_color } } }).html;
  expect(html('#0f6b4f')).toContain('a { color: #0f6b4f; }');
  expect(html('#f2c230')).not.toContain('a { color: #f2c230; }\n.quiet');
  for (const none of [null, 'red; } body { display: none', '']) expect(html(none)).toContain('a { color: #2b5fc7; }');
});

test('what is around the text, corners and font are the environment’s; what is no colour is ours', () => {
  const html = (theme: Partial<Theme>) => render('password_changed', { environment: { ...environment, theme } }).html;
  const branded = html({
    background_color: '#dbeafe',
    dark_background_color: '#312e81',
    dark_primary_color: '#ffd166',
    corner_radius: 0,
    font: 'serif',
  });
  expect(branded).toContain('<body style="margin:0;padding:0;background:#dbeafe;');
  expect(branded).toContain('body { background: #312e81 !important; }');
  expect(branded).toContain('a { color: #ffd166; }');
  expect(branded).toContain('border-radius:0px;background:#2b5fc7');
  expect(branded).toContain('font:16px/1.5 Charter, ');
  expect(html({ background_color: 'red"><script>' })).toBe(html({}));
});

test('links of ours are buttons of the environment’s colour, with the address below; the logo is on top, for dark schemes too', () => {
  const { html } = render('password_changed', {
    environment: {
      ...environment,
      theme: { primary_color: '#0f6b4f' },
      logo_url: 'https://acme.example/logo.png',
      dark_logo_url: 'https://acme.example/dark.png',
    },
  });
  expect(html).toMatch(
    /<a class="button" href="(?<reset>[^"]+)" style="[^"]*background:#0f6b4f">Set a new password<\/a><\/p>\n<p class="quiet"[^>]*><a dir="ltr" href="\k<reset>"[^>]*>\k<reset><\/a>/,
  );
  expect([...html.matchAll(/ (?:src|srcset)="([^"]*)"/g)].map(([, address]) => address)).toEqual([
    'https://acme.example/dark.png',
    'https://acme.example/logo.png',
  ]);
  const inAddress = render('password_changed', { environment: { ...environment, logo_url: 'data:image/png;base64,AAAA' } });
  expect(inAddress.html).not.toContain('<img');
});

describe.each(languageTags)('in %s', (language) => {
  test('every mail says the same as text and as HTML, of the language and its direction', () => {
    const { dir } = languages[language];
    for (const name of mailNames) {
      const { text, html, subject, language: told } = render(name, {}, language);
      expect(squeezed(words(html))).toBe(squeezed(text));
      expect(html).toContain(`<html lang="${language}" dir="${dir}">`);
      // Mail programs leave the elements around the body out.
      expect(html).toContain(`<div class="mail" lang="${language}" dir="${dir}"`);
      expect([told, `${subject}${text}`]).toEqual([language, expect.not.stringMatching(/[{}]|undefined|\bnull\b/)]);
    }
  });

  test('no mail says a line of the English one, but for those that wait for their translation', () => {
    if (language === 'en') return;
    for (const name of mailNames.filter((one) => !waits(one, language))) {
      const [own, english] = [render(name, { accounts: ['GitHub'] }, language), render(name, { accounts: ['GitHub'] })];
      const lines = new Set(english.text.split('\n').filter((line) => /\p{L}{3,} \p{L}{3,}/u.test(line)));
      expect([name, own.subject]).not.toEqual([name, english.subject]);
      expect([name, own.text.split('\n').filter((line) => lines.has(line))]).toEqual([name, []]);
    }
  });
});

test('a mail in Japanese is Japanese throughout: times, durations, the device', () => {
  const { subject, text } = render('register_code', {}, 'ja');
  expect(subject).toBe('Acme & Sons の確認コード');
  for (const phrase of ['有効期間: 10 分', '日時: 2026年11月21日 9:05 UTC', 'デバイス: macOS の Chrome', 'IP アドレス: 203.0.113.5'])
    expect(text).toContain(phrase);
});

test('in a mail from right to left, the code and links run from left to right, and what people are called stays apart', () => {
  const { subject, text, html } = render('password_reset_code', {}, 'ar');
  expect(subject).toContain('\u2068Acme & Sons\u2069');
  expect(html).toContain('<p class="code" dir="ltr"');
  expect(html).toMatch(/<a dir="ltr" href="https:\/\/id\.example\/password\/reset/);
  expect(text.split('\n')).toEqual(expect.arrayContaining(['482913', reset_url]));
  expect(text).toContain('\u206860 دقيقة\u2069');
});

test('a notice counts in the language', () => {
  const happened = (count: number, language: Language) =>
    render('sign_in_methods', { happening: message('mail.recovery_code_used', { count }) }, language).text;
  expect(happened(0, 'en')).toContain('None is left.');
  expect(happened(3, 'pl')).toContain('Zostały 3.');
  expect(happened(2, 'ar')).toContain('بقي رمزان.');
});

test('in a template of a language without built-in texts, times are in that language', () => {
  const template = { subject: 'Kod', text: '{{code}} {{time}} {{expires_in}} {{device}}', html: null };
  const { text, html } = renderMail('register_code', models['register_code'], template, 'sv-SE');
  expect(text).toContain('104285 21 november 2026 kl. 09:05 UTC 10 minuter Chrome on macOS');
  expect(html).toContain('<html lang="sv-SE" dir="ltr">');
});

test('the origin is a part of a sentence in English and a list elsewhere', () => {
  const origin = (language: Language) =>
    renderMail('register_code', models['register_code'], { subject: 'x', text: '{{code}} {{origin}}', html: null }, language).text;
  expect(origin('en')).toContain('on 21 November 2026 at 09:05 UTC, from Chrome on macOS at the address 203.0.113.5');
  expect(origin('de')).toContain('21. November 2026 um 09:05 UTC · Chrome unter macOS · 203.0.113.5');
});

test('a list stands in a box, which is not there where it is empty', () => {
  const html = (accounts: string[], text: string) =>
    renderMail('password_reset_done', { ...models['password_reset_done'], accounts }, { subject: 'x', text, html: null }, 'en').html;
  const template = '{{reset_url}}\n\n{{#accounts}}\n{{.}}\n{{/accounts}}\n{{^accounts}}\nNone.\n{{/accounts}}\n';
  expect(html(['GitHub', 'Google'], template)).toMatch(
    /<div class="list"[^>]*>\n<p[^>]*><bdi>GitHub<\/bdi><\/p>\n<p[^>]*><bdi>Google<\/bdi><\/p>\n<\/div>/,
  );
  expect(html([], template)).toMatch(/<p>None\.<\/p>/);
  expect(html([], template)).not.toContain('class="list"');
});
