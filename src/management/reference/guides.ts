import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { lexer, type Token } from 'marked';
import { packageRoot } from '../../lib/package-root.js';
import type { Guide } from './page-models.js';

const defaultDocsDir = join(packageRoot, 'docs');

/** Addresses of an environment, which replace the example addresses of the files. */
export type Addresses = { readonly issuer: string; readonly base_url: string };

/** A guide and its Markdown as tokens. */
export type ReadGuide = { readonly guide: Guide; readonly blocks: readonly Token[] };

/** The folders of `docs` that hold guides; one's README.md is the guide that bears its name. */
const folders = ['', 'guides'];

/** The Markdown files of the folders, as paths from `docs`. */
const filesIn = (docsDir: string): string[] =>
  folders.flatMap((folder) => {
    const directory = join(docsDir, folder);
    const names = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.md')) : [];
    return names.sort().map((name) => posix.join(folder, name));
  });

const nameOf = (file: string) => file.replace(/(?:\/README)?\.md$/, '');

/** The guides of `docs/*.md` and `docs/guides/*.md`, read once. An installation without that folder has none. */
export type Guides = {
  /** Those that the navigation names: not the pages of a folder, which its README.md names. */
  readonly list: readonly Guide[];
  readonly all: readonly ReadGuide[];
  find(name: string): ReadGuide | null;
};

const placeholder = /(?:https:\/\/id\.example\.com|http:\/\/localhost:3000)(\/api)?(?![\w.:-])/g;

/** A guide's Markdown with this installation's own addresses: the Management API's is the base URL's, all others the issuer's. */
const localized = (markdown: string, { issuer, base_url }: Addresses): string =>
  markdown.replaceAll(placeholder, (_all, api?: string) => (api === undefined ? issuer : `${base_url}${api}`));

/** @param addresses left out: the examples stay as they stand in the files */
export function readGuides(addresses: Addresses | null = null, docsDir = defaultDocsDir): Guides {
  const guides = filesIn(docsDir).map((file) => {
    const markdown = readFileSync(join(docsDir, file), 'utf8');
    const tokens = lexer(addresses ? localized(markdown, addresses) : markdown);
    const heading = tokens.find((token) => token.type === 'heading');
    const name = nameOf(file);
    const blocks = tokens.filter((token) => token !== heading && token.type !== 'html' && token.type !== 'space');
    return { guide: { name, title: (heading as { text?: string } | undefined)?.text ?? name }, blocks };
  });
  return {
    list: guides.map(({ guide }) => guide).filter(({ name }) => !name.includes('/')),
    all: guides,
    find: (name) => guides.find(({ guide }) => guide.name === name) ?? null,
  };
}

/** The Markdown of the guides of a folder, by name, as it stands in the files; without the folder's README.md. */
export function readGuideFiles(folder: string, docsDir = defaultDocsDir): Readonly<Record<string, string>> {
  const files = filesIn(docsDir).filter((file) => posix.dirname(file) === folder && posix.basename(file) !== 'README.md');
  return Object.fromEntries(files.map((file) => [posix.basename(file, '.md'), readFileSync(join(docsDir, file), 'utf8')]));
}

/** The id of a heading, as the links of the files expect it. */
export const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/**
 * Where a link of a guide leads on this site: another guide, a heading, an https address; anything else is shown as text.
 * @param from the name of the guide that has the link
 */
export function linkTarget(guides: Guides, href: string, from = ''): string | null {
  if (/^#[\w-]+$/.test(href) || /^https?:\/\//.test(href) || /^\/(docs|api|dashboard|account|\.well-known)\b/.test(href)) return href;
  const [, file = '', anchor = ''] = /^((?:\.\.\/|[\w-]+\/)*[\w-]+\.md)(#[\w-]+)?$/.exec(href) ?? [];
  const folder = folders.includes(from) ? from : posix.dirname(from);
  const name = file === '' ? '' : nameOf(posix.join(folder, file));
  return guides.find(name) ? `/docs/${name}${anchor}` : null;
}
