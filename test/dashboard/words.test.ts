// What the dashboard says: beside its page, once, in the words of the field.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { terms } from '../../src/dashboard/parts/words.js';
import { viewTexts } from '../../src/dashboard/parts/view-texts.js';

async function read(directory: string, pattern: RegExp): Promise<{ path: string; text: string }[]> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => pattern.test(name));
  return Promise.all(names.map(async (name) => ({ path: join(directory, name), text: await readFile(join(directory, name), 'utf8') })));
}

const sources = await read('src/dashboard', /\.ts$/);
const pages = sources.filter(({ path }) => !/words\.ts$|view-texts\.ts$/.test(path));
const views = [...(await read('views/dashboard', /\.ejs$/)), ...(await read('views/partials', /^dashboard-.*\.ejs$/))];

const quoted = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g;
const withoutComments = (code: string) => code.replaceAll(/^\s*(?:\/\*\*[\s\S]*?\*\/|\/\/.*)$/gm, '').replaceAll(/^import .*$/gm, '');

/** Every text that people read, with where it stands: what has a capital letter and a space, or names one of the shared terms. */
const said = pages.flatMap(({ path, text }) =>
  [...withoutComments(text).matchAll(quoted)]
    .map(([, single, double, template]) => single ?? double ?? template ?? '')
    .filter((one) => /^[A-Z](?!.*[\n\\]).* /.test(one) && !/^(?:GET|POST|M[\d.]|m[\d.])/.test(one))
    .map((one) => ({ path, text: one })),
);

/** Words of which each stands once for all pages. */
const shared = new Map(Object.entries(terms).map(([key, text]) => [text, key]));

test('views of the dashboard have no text of their own', () => {
  const strays = views.flatMap(({ path, text }) => {
    const left = text.replaceAll(/<%[\s\S]*?%>/g, '').replaceAll(/<[^>]*>/g, '\n');
    const inTags = [...text.matchAll(/(?:aria-label|title|placeholder)="([A-Z][^"<]*)"/g)].map(([, value]) => value);
    return [...left.split('\n').filter((line) => /[A-Za-z]{2}/.test(line)), ...inTags].map((line) => `${path}: ${line}`);
  });
  expect(strays, 'Say it in src/dashboard/parts/view-texts.ts, as page.texts.x.').toEqual([]);
});

test('views name only texts that are there, and none is there in vain', () => {
  const named = new Set(views.flatMap(({ text }) => [...text.matchAll(/page\.texts\.(\w+)/g)].map(([, key]) => key ?? '')));
  expect(named.size).toBeGreaterThan(20);
  expect([...named].toSorted(), 'src/dashboard/parts/view-texts.ts has what views name as page.texts.x, and nothing else.').toEqual(
    Object.keys(viewTexts).toSorted(),
  );
  const users = (key: string) => sources.filter(({ text }) => new RegExp(`\\bterms\\.${key}\\b`).test(text)).length;
  expect(
    Object.keys(terms).filter((key) => users(key) < 2),
    'What one page alone says stands in that page.',
  ).toEqual([]);
});

test('what several pages say stands once, among the shared terms', () => {
  expect(said.length).toBeGreaterThan(400);
  expect(
    said.filter(({ text }) => shared.has(text)).map(({ path, text }) => `${path}: say terms.${shared.get(text)} for “${text}”`),
    'It is among the shared terms already.',
  ).toEqual([]);
  const places = new Map<string, Set<string>>();
  for (const { path, text } of said) places.set(text, (places.get(text) ?? new Set()).add(path));
  const twice = [...places].filter(([, paths]) => paths.size > 1);
  expect(
    twice.map(([text, paths]) => `${text}: ${[...paths].join(', ')}`),
    'Two pages say the same: give it a name in src/dashboard/parts/words.ts, and say terms.x in both.',
  ).toEqual([]);
  expect(shared.size, 'one text, one name').toBe(Object.keys(terms).length);
});

/** What things were called before, in words that no other provider uses. */
const old =
  /proves? itself|skip the consent page|Careful|Shortest password|Wrong passwords until|Registration tokens?\b|Arrivals|Two-step|two-step|Signs since|Made$|Try it out|word about new people|Whoever administers|Who may come so|So many at most|Tries for each|Resend|Request id|Client id/;

test('no word that only this service had comes back', () => {
  const everyText = [...said, ...Object.entries({ ...terms, ...viewTexts }).map(([path, text]) => ({ path, text }))];
  expect(
    everyText
      .filter(({ text }) => old.test(text) && !text.startsWith('Wrong passwords until the account is locked'))
      .map(({ path, text }) => `${path}: ${text}`),
  ).toEqual([]);
});

test('labels begin with a capital letter and end without a full stop', () => {
  // A key of a page's texts is no label.
  const labels = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/\blabel: (?!'new_users'|'[a-z_]+\.[a-z_]+')(?:terms\.(\w+)|'([^']*)')/g)].map(([, key, own]) => ({
      path,
      label: own ?? terms[key as keyof typeof terms],
    })),
  );
  expect(labels.length).toBeGreaterThan(300);
  expect(
    labels.filter(({ label }) => /^[a-z](?![a-z]*[\d+])|[.]$/.test(label)),
    'A label is no sentence: a capital letter, and no full stop.',
  ).toEqual([]);
});
