import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { renderMail, type MailModels } from '../../../src/domain/mail/templates.js';

const environment = { name: 'Acme & Sons', support_email: 'help@acme.example' };
const request = { ip_address: '203.0.113.5', device: 'Chrome on macOS', at: '2026-11-21T09:05:00.000Z' };
const base = { environment, request };
const reset_url = 'https://id.example/password/reset?reset_id=1&code=482913';

const models: { [Name in keyof MailModels]: MailModels[Name] } = {
  register_code: { ...base, code: '104285', expires_in: 600 },
  account_exists: { ...base, login_url: 'https://id.example/login', reset_url: 'https://id.example/password/forgot' },
  password_reset_code: { ...base, code: '482913', expires_in: 3600, reset_url },
  password_changed: { ...base, reset_url: 'https://id.example/password/forgot' },
  sign_in_elsewhere: { ...base, provider: 'Example Corporation', login_url: 'https://id.example/auth/sso/1' },
  password_reset_done: {
    ...base,
    reset_url: 'https://id.example/password/forgot',
    account_url: 'https://id.example/account',
    accounts: ['Google (ada@gmail.example)', 'GitHub'],
  },
  account_linked: { ...base, provider: 'Google', provider_email: 'ada@gmail.example', account_url: 'https://id.example/account' },
  primary_domain: {
    ...base,
    address: 'https://login.example.com',
    by: 'root@example.com',
    domains_url: 'https://id.example/dashboard/custom_domains',
  },
  new_sign_in: { ...base, account_url: 'https://id.example/account' },
  sign_in_code: { ...base, code: '771204', expires_in: 600, second: true },
  sign_in_methods: {
    ...base,
    headline: 'A passkey was removed',
    happening: 'The passkey “Laptop” was removed from your account.',
    advice: 'If it wasn’t you, change your password, and remove whatever of your sign-in methods isn’t yours:',
    account_url: 'https://id.example/account',
  },
  domain_record_missing: { ...base, domain_url: 'https://id.example/dashboard/custom_domains/1', failed: false, days: 7 },
};
const names = Object.keys(models) as (keyof MailModels)[];
/** Mails that the service writes of its own accord: nobody asked for them. */
const unasked: readonly (keyof MailModels)[] = ['domain_record_missing'];

const render = (name: keyof MailModels, change: Partial<MailModels['register_code']> = {}) =>
  renderMail(name, { ...models[name], ...change } as MailModels[typeof name]);

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#34;': '"', '&#39;': "'" };

/** The words of an HTML mail, as a reader sees them. */
function words(html: string): string {
  const body = html.slice(html.indexOf('<body'));
  return body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/&[#\w]+;/g, (entity) => entities[entity] ?? entity);
}

const squeezed = (text: string) =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ([.,)])/g, '$1')
    .trim();

describe.each(names.filter((name) => !unasked.includes(name)))('the mail %s', (name) => {
  test('says who asked, from where and when, and what to do otherwise', () => {
    const { text } = render(name);
    expect(text).toContain('on 21 November 2026 at 09:05 UTC, from Chrome on macOS at the address 203.0.113.5');
    expect(text).toContain('If it wasn’t you');
    expect(text).toContain('Acme & Sons');
    expect(text).toContain('help@acme.example');
  });
});

describe.each(names)('the mail %s', (name) => {
  test('has the same words as text and as HTML', () => {
    const { text, html } = render(name);
    expect(squeezed(words(html))).toBe(squeezed(text));
  });

  test('loads nothing from anywhere and tells nobody that it was read', () => {
    expect(render(name).html).not.toMatch(/<(img|script|link|iframe|object)|url\(|@import| src=/i);
  });

  test('escapes what people may choose, and keeps the subject on one line', () => {
    const hostile = '<script>alert(1)</script>\r\nBcc: all@example.com';
    const { subject, html, text } = render(name, {
      environment: { name: hostile, support_email: null },
      request: { ...request, device: '<b>x</b>' },
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

describe.each(names)('whatever somebody calls themselves, the mail %s', (name) => {
  test.each([
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
  ])('holds no link but our own: %j (attack 12.268)', (hostile) => {
    const hostileModel = {
      ...models[name],
      ...(name === 'account_linked' ? { provider: hostile, provider_email: 'ada@evil.example' } : {}),
      environment: { name: hostile, support_email: null },
      request: { ip_address: hostile, device: hostile, at: request.at },
    };
    const { subject, text, html } = renderMail(name, hostileModel as never);
    const own = Object.values(models[name]).filter((value) => typeof value === 'string' && value.startsWith('https://id.example'));
    const shown = (whole: string) => own.reduce<string>((rest, link) => rest.replaceAll(link as string, ''), whole);
    for (const body of [subject, shown(text), shown(words(html))]) expect(body.match(linkable) ?? []).toEqual([]);
    const links = [...html.matchAll(/href="([^"]*)"/g)].map((match) => match[1]?.replaceAll('&amp;', '&'));
    expect(links.every((link) => own.includes(link as never))).toBe(true);
  });
});

describe('codes', () => {
  test.each(['register_code', 'password_reset_code'] as const)('of %s stand once, whole, in each body', (name) => {
    const model = models[name];
    const { text, html } = renderMail(name, model as never);
    expect(text.split('\n')).toContain(model.code);
    expect(html).toContain(`>${model.code}</p>`);
  });

  test('stay out of subjects, which locked screens show and relays log (attack 12.258)', () => {
    for (const name of names) expect(render(name).subject).not.toMatch(/\d{6}/);
  });

  test.each([
    [600, '10 minutes'],
    [60, '1 minute'],
    [30, '30 seconds'],
    [3600, '60 minutes'],
    [86400, '24 hours'],
  ])('that live %d s are said to be valid for %s', (expires_in, phrase) => {
    expect(renderMail('register_code', { ...models['register_code'], expires_in }).text).toContain(`valid for ${phrase}.`);
  });
});

test.each([
  [{ ip_address: null, device: null }, 'on 21 November 2026 at 09:05 UTC.'],
  [{ ip_address: '203.0.113.5', device: null }, 'on 21 November 2026 at 09:05 UTC, from the address 203.0.113.5.'],
  [{ ip_address: null, device: 'Firefox on Linux' }, 'on 21 November 2026 at 09:05 UTC, from Firefox on Linux.'],
])('what is unknown about a request is left out: %j', (known, phrase) => {
  expect(renderMail('register_code', { ...models['register_code'], request: { ...request, ...known } }).text).toContain(
    `Somebody asked for this ${phrase}`,
  );
});

test('a reset that an administrator started says so', () => {
  expect(renderMail('password_reset_code', { ...models['password_reset_code'], administrator: true }).text).toContain(
    'An administrator asked for this on',
  );
});

test('the link of the reset mail survives as HTML', async () => {
  const { html } = renderMail('password_reset_code', models['password_reset_code']);
  const mail = await PostalMime.parse(`Content-Type: text/html; charset=utf-8\r\n\r\n${html}`);
  expect(mail.html).toContain('href="https://id.example/password/reset?reset_id=1&amp;code=482913"');
});

test('links are of the environment’s colour, as far as it can be read', () => {
  const html = (primary_color: string | null) =>
    renderMail('password_changed', {
      ...models['password_changed'],
      environment: { ...models['password_changed'].environment, primary_color },
    }).html;
  expect(html('#0f6b4f')).toContain('a { color: #0f6b4f; }');
  expect(html('#f2c230')).not.toContain('a { color: #f2c230; }\n.quiet');
  for (const none of [null, 'red; } body { display: none', '']) expect(html(none)).toContain('a { color: #2b5fc7; }');
});
