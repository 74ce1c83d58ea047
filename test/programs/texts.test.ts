// `npm run texts`: a new text needs English alone; a release has it in every language.
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { languageTags } from '../../src/lib/languages/languages.js';
import { programArguments } from '../support/compiled.js';
import { directoryOfTest } from '../support/temporary-directory.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let folder: string;
let command: string[];

beforeEach(async () => {
  folder = directoryOfTest();
  cpSync('data/languages', join(folder, 'data/languages'), { recursive: true });
  command = await programArguments('programs/texts');
});

const fileOf = (name: string) => join(folder, 'data/languages', `${name}.json`);
const read = (name: string) => readFileSync(fileOf(name), 'utf8');
const change = (name: string, from: string, to: string) => {
  expect(read(name)).toContain(from);
  writeFileSync(fileOf(name), read(name).replace(from, to));
};

function run(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...command, ...words], { cwd: folder, encoding: 'utf8' });
  return { status, lines: stdout.split('\n').filter(Boolean), stderr };
}

const others = languageTags.filter((tag) => tag !== 'en');
const marks = () => JSON.parse(read('untranslated')) as Record<string, Record<string, string>>;

/** A text behind that of the button. */
const add = (text: string) => change('en', '  "common.continue"', `  "common.added": "${text}",\n  "common.continue"`);

test('leaves languages alone that have every key', () => {
  const before = others.map(read);
  expect(run()).toEqual({ status: 0, lines: Object.entries(marks()).flatMap(([tag, texts]) => Object.keys(texts).map((key) => `untranslated: ${tag} ${key}`)), stderr: '' }); // prettier-ignore
  expect(others.map(read)).toEqual(before);
});

test('puts a new key into every language, in its place, as English and marked', () => {
  add('Only {count, plural, one {a day} other {# days}} “left”');
  expect(run('--check')).toMatchObject({ status: 1, lines: expect.arrayContaining(['data/languages/de.json is outdated: npm run texts']) });
  expect(run().status).toBe(0);
  expect(
    others.filter((tag) => /": "[^"]*",\n {2}"common\.added": "Only \{count,.*“left”",\n {2}"common\.continue"/.test(read(tag))),
  ).toEqual(others);
  expect(Object.keys(marks())).toEqual(others);
  expect(run('--check')).toMatchObject({ status: 1, lines: expect.arrayContaining(['untranslated: uk common.added']) });
});

test('a translated text loses its mark; one that stays English follows it', () => {
  add('One text');
  run();
  change('de', 'One text', 'Ein Text');
  change('en', 'One text', 'Another text');
  run();
  expect(read('de')).toContain('"common.added": "Ein Text"');
  expect(read('fr')).toContain('"common.added": "Another text"');
  expect(marks()['de']?.['common.added']).toBeUndefined();
  expect(marks()['fr']?.['common.added']).toBe('Another text');
});

test('a text that is the same in a language is done once its mark is taken away; a key that English has lost goes everywhere', () => {
  add('Code');
  run();
  writeFileSync(fileOf('untranslated'), '{}\n');
  expect(run('--check')).toEqual({ status: 0, lines: [], stderr: '' });
  change('en', '  "common.added": "Code",\n', '');
  expect(run().status).toBe(0);
  expect(others.filter((tag) => read(tag).includes('common.added'))).toEqual([]);
});
