// What the dashboard says stands in one file, in the words of the field.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import words from '../../src/dashboard/words.json' with { type: 'json' };

async function read(directory: string, pattern: RegExp): Promise<{ path: string; text: string }[]> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => pattern.test(name));
  return Promise.all(names.map(async (name) => ({ path: join(directory, name), text: await readFile(join(directory, name), 'utf8') })));
}

const sources = (await read('src/dashboard', /\.ts$/)).filter(({ path }) => !path.endsWith('/words.ts'));
const views = [...(await read('views/dashboard', /\.ejs$/)), ...(await read('views/partials', /^dashboard-.*\.ejs$/))];
const groups = Object.entries(words) as [string, Record<string, string>][];
const everyText = groups.flatMap(([group, texts]) => Object.entries(texts).map(([key, text]) => ({ name: `${group}.${key}`, text })));

/** Where code says something itself: a text as a label, a title, a hint, a value of a cell. */
const said = [
  /\b(?:label|title|hint|lead|caption|one|note|wrong|text|word): (?:[\w.?!= []]+ \? )?['"`][^'"`]*[A-Za-z]{2}/,
  /\b(?:text|quiet)\((?:[^()'"`]*\? )?['"`][^'"`]*[A-Za-z]{2}/,
  /\bstate\('\w+', ['"`][^'"`]*[A-Za-z]{2}/,
  /\b(?:paragraphs|confirm): \[\s*['"`]/,
  /\[(?:'[A-Z][\w ]*'(?:, )?)+\]\.map\(\(label\)/,
];
/** What isn't a word of ours: requests and addresses, names of products, values of protocols. */
const names = /(?:GET|POST) \/|'(?:GitHub Actions|GitLab|curl)'|\bcode: |label: 'new_users'/;

/** Without what placeholders stand for, and without addresses. */
const bare = (line: string) => line.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '').replaceAll(/`\/[\w./-]*`/g, '``');

test('every text of the dashboard comes from words.json', () => {
  const strays = sources.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const code = bare(line);
      return said.some((pattern) => pattern.test(code)) && !names.test(code) ? [`${path}:${index + 1} ${line.trim()}`] : [];
    }),
  );
  expect(strays, 'Name the text in src/dashboard/words.json and say it as terms.x, hints.x or sentences.x.').toEqual([]);
});

test('views of the dashboard have no text of their own', () => {
  const strays = views.flatMap(({ path, text }) => {
    const left = text.replaceAll(/<%[\s\S]*?%>/g, '').replaceAll(/<[^>]*>/g, '\n');
    const inTags = [...text.matchAll(/(?:aria-label|title|placeholder)="([A-Z][^"<]*)"/g)].map(([, value]) => value);
    return [...left.split('\n').filter((line) => /[A-Za-z]{2}/.test(line)), ...inTags].map((line) => `${path}: ${line}`);
  });
  expect(strays, 'Say it as page.terms.x.').toEqual([]);
});

test('no text is there in vain, and each stands once', () => {
  const code = [...sources, ...views].map(({ text }) => text).join('\n');
  expect(everyText.filter(({ name }) => !new RegExp(`\\b${name}\\b`).test(code)).map(({ name }) => name)).toEqual([]);
  for (const [, texts] of groups) expect(Object.values(texts).filter((text, index, all) => all.indexOf(text) !== index)).toEqual([]);
});

/** What things were called before, in words that no other provider uses. */
const old =
  /proves? itself|skip the consent page|Careful|Shortest password|Wrong passwords until|Registration tokens?\b|Arrivals|Two-step|two-step|Signs since|Made$|Try it out|word about new people|Whoever administers|Who may come so|So many at most|Tries for each|Resend|Request id|Client id/;

test('no word that only this service had comes back', () => {
  const found = everyText.filter(({ name, text }) => old.test(text) && !['hints.lockout_threshold'].includes(name));
  expect(found.map(({ name, text }) => `${name}: ${text}`)).toEqual([]);
});

test('labels begin with a capital letter and end without a full stop', () => {
  const { label } = { label: /\blabel: terms\.(\w+)/g };
  const used = new Set(sources.flatMap(({ text }) => [...text.matchAll(label)].map(([, key]) => key ?? '')));
  const terms = words.terms as Record<string, string>;
  expect([...used].map((key) => terms[key] ?? key).filter((text) => /^[a-z](?![a-z]*[\d+])|[.]$/.test(text))).toEqual([]);
});
