import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = 'docs/guides';
const block = /(<!-- file: (\S+) -->\n\n```\w+\n)[\s\S]*?(```\n)/g;

/** `docs/guides/*.md`, with the files that they show as these are: the very files that `npm run test:clients` runs. */
export function guidePages(): Readonly<Record<string, string>> {
  const names = readdirSync(directory).filter((name) => name.endsWith('.md'));
  const filled = (markdown: string) =>
    markdown.replaceAll(block, (_all, start: string, path: string, end: string) => `${start}${readFileSync(path, 'utf8')}${end}`);
  return Object.fromEntries(names.map((name) => join(directory, name)).map((path) => [path, filled(readFileSync(path, 'utf8'))]));
}
