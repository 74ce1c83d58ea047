import { readFile, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { Texts } from './texts/catalogues.js';

const { check } = new Command('texts')
  .description('Gives every language the keys of data/languages/en.json; what nobody has translated says English and is marked.')
  .option('--check', 'writes nothing; exit code 1 while a text is untranslated or a key is missing, for releases')
  .parse()
  .opts<{ check?: boolean }>();

const { languageTags } = await import('../lib/languages/languages.js');
const { named, own } = await import('../lib/named.js');
const { inLayoutOf, withKeysOf } = await import('./texts/catalogues.js');

const fileOf = (name: string) => `data/languages/${name}.json`;
const read = (name: string) => readFile(fileOf(name), 'utf8');
const parsed = (text: string) => JSON.parse(text) as Texts;

const layout = await read('en');
const english = parsed(layout);
const marks = JSON.parse(await read('untranslated')) as Record<string, Texts>;
const open = named<Texts>();
const files = named<string>();
for (const tag of languageTags.filter((one) => one !== 'en')) {
  const { texts, untranslated } = withKeysOf(english, { texts: parsed(await read(tag)), untranslated: own(marks, tag) ?? {} });
  files[tag] = inLayoutOf(layout, texts);
  if (Object.keys(untranslated).length > 0) open[tag] = untranslated;
}
files['untranslated'] = `${JSON.stringify(open, null, 2)}\n`;

for (const [tag, texts] of Object.entries(open)) for (const key of Object.keys(texts)) console.log(`untranslated: ${tag} ${key}`);
for (const [name, text] of Object.entries(files)) {
  if ((await read(name)) === text) continue;
  console.log(check ? `${fileOf(name)} is outdated: npm run texts` : `wrote ${fileOf(name)}`);
  if (check) process.exitCode = 1;
  else await writeFile(fileOf(name), text);
}
if (check && Object.keys(open).length > 0) process.exitCode = 1;
