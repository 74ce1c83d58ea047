import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTemplates } from '../../src/lib/templates.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const viewsDir = directoryOfFile();
const put = (name: string, text: string) => writeFile(join(viewsDir, `${name}.ejs`), text);

test('data are escaped in HTML, and read as page.<name>', async () => {
  await put('page', '<p title="<%= page.name %>"><%= page.name %></p>');
  const escaped = '&lt;b&gt;&#34;&#39;&amp;';
  expect(createTemplates({ viewsDir }).render('page', { name: `<b>"'&` })).toBe(`<p title="${escaped}">${escaped}</p>`);
});

test('plain text escapes nothing', async () => {
  await put('mail.txt', 'Hello <%= page.name %>');
  expect(createTemplates({ viewsDir }).render('mail.txt', { name: `<b>"'&` })).toBe(`Hello <b>"'&`);
});

test('includes are found from the root, and escape too', async () => {
  await put('part', '<i><%= page.text %></i>');
  await put('whole', "<%- include('/part', { text: page.text }) %>");
  expect(createTemplates({ viewsDir }).render('whole', { text: '<' })).toBe('<i>&lt;</i>');
});

test('locals have no other names: a word that is misspelt is an error, not an empty place', async () => {
  await put('bare', '<%= name %>');
  await put('missing', '<%= page.user.name %>');
  const templates = createTemplates({ viewsDir });
  expect(() => templates.render('bare', { name: 'Ada' })).toThrow(ReferenceError);
  expect(() => templates.render('missing', {})).toThrow(TypeError);
});

test('what locals inherit is not found, in includes neither', async () => {
  await put('inherits', '[<%= page.toString %><%= page.constructor %><%= page.hidden %>]');
  await put('outer', "<%- include('/inherits', { text: '' }) %><%- include('/inherits') %>");
  const templates = createTemplates({ viewsDir });
  const locals: object = Object.create({ hidden: 'inherited' }) as object;
  expect([templates.render('inherits', locals), templates.render('outer', locals)]).toEqual(['[]', '[][]']);
});

test('an include changes nothing for what includes it', async () => {
  await put('changes', '<% page.text = "theirs" -%>');
  await put('keeps', "<%- include('/changes') %><%= page.text %>");
  const locals = { text: 'ours' };
  expect(createTemplates({ viewsDir }).render('keeps', locals)).toBe('ours');
  expect(locals.text).toBe('ours');
});

test('an include finds what surrounds it behind its own data, however deep', async () => {
  await put('inner', '<%= page.own %> <%= page.outer %>');
  await put('middle', "<%- include('/inner', { own: page.own + 1 }) %> <%= page.own %>");
  await put('around', "<%- include('/middle', { own: 1 }) %> <%= page.own ?? 'none' %>");
  expect(createTemplates({ viewsDir }).render('around', { outer: 'all' })).toBe('2 all 1 none');
});

test('what is rendered once for a value reads nothing but its data, and is kept by path and value', async () => {
  await put('kept', '<%= page.text %><%= page.around %>');
  await put('keeper', "<%- include('/kept', { text: page.text }, page.text[0]) %>");
  const [cached, designing] = [createTemplates({ viewsDir }), createTemplates({ viewsDir, cache: false })];
  const texts = (templates: typeof cached) => ['a1', 'a2', 'b1'].map((text) => templates.render('keeper', { text, around: 'x' }));
  expect([texts(cached), texts(designing)]).toEqual([['a1', 'a1', 'b1'], ['a1', 'a2', 'b1']]); // prettier-ignore
});

test('a template is read once; without the cache on every call', async () => {
  await put('changing', 'one');
  const [cached, designing] = [createTemplates({ viewsDir }), createTemplates({ viewsDir, cache: false })];
  expect([cached.render('changing', {}), designing.render('changing', {})]).toEqual(['one', 'one']);
  await put('changing', 'two');
  expect([cached.render('changing', {}), designing.render('changing', {})]).toEqual(['one', 'two']);
});

test('a view that is not there is an error', () => expect(() => createTemplates({ viewsDir }).render('nowhere', {})).toThrow(/ENOENT/));
