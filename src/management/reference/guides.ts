import { posix } from 'node:path';
import { lexer, type Token } from 'marked';
import { named } from '../../lib/named.js';
import { filesIn, readPage } from './guide-files.js';
import type { Guide } from './page-models.js';

/** Addresses of an environment, which replace the example addresses of the files. */
export type Addresses = { readonly issuer: string; readonly base_url: string };

export type ReadGuide = { readonly guide: Guide; readonly blocks: readonly Token[] };

/** The folders of `docs` that are served, and the heading under which the navigation has their pages. */
const folders: Readonly<Record<string, string>> = named({
  '': 'Start',
  'how-to': 'How to',
  guides: 'How to',
  reference: 'Reference',
  explanation: 'Explanation',
});

/** What a page is called in its address: its file's name, behind `guides/` in that folder; the README.md of `guides` is called as the folder. */
const nameOf = (file: string): string => {
  const name = file.replace(/(?:\/README)?\.md$/, '');
  return name.startsWith('guides/') ? name : posix.basename(name);
};

/** The pages of the folders, read once. An installation without `docs` has none. */
export type Guides = {
  /** Those that the navigation names, by heading: of `docs/guides` its README.md, which names the others. */
  readonly groups: readonly { readonly title: string; readonly guides: readonly Guide[] }[];
  readonly all: readonly ReadGuide[];
  find(name: string): ReadGuide | null;
};

const placeholder = /(?:https:\/\/id\.example\.com|http:\/\/localhost:3000)(\/api)?(?![\w.:-])/g;

/** A text of a guide with this installation's own addresses: the Management API's is the base URL's, all others the issuer's. */
export const localized = (markdown: string, { issuer, base_url }: Addresses): string =>
  markdown.replaceAll(placeholder, (_all, api?: string) => (api === undefined ? issuer : `${base_url}${api}`));

/**
 * @param file as a path from `docs`
 * @param addresses null: the examples stay as they stand in the file
 */
export function readGuide(file: string, addresses: Addresses | null): ReadGuide {
  const markdown = readPage(file);
  const tokens = lexer(addresses ? localized(markdown, addresses) : markdown);
  const heading = tokens.find((token) => token.type === 'heading');
  const name = nameOf(file);
  const blocks = tokens.filter((token) => token !== heading && token.type !== 'html' && token.type !== 'space');
  return { guide: { name, file, title: (heading as { text?: string } | undefined)?.text ?? name }, blocks };
}

/** All of them, as they stand in the files. */
export function readGuides(): Guides {
  const read = (file: string) => readGuide(file, null);
  const inFolders = Object.entries(folders).map(([folder, title]) => ({ title, guides: filesIn(folder).map(read) }));
  const guides = inFolders.flatMap((folder) => folder.guides);
  const under = (title: string) =>
    inFolders
      .flatMap((folder) => (folder.title === title ? folder.guides.map(({ guide }) => guide) : []))
      .filter(({ name }) => !name.includes('/'));
  return {
    groups: [...new Set(Object.values(folders))]
      .map((title) => ({ title, guides: under(title) }))
      .filter((group) => group.guides.length > 0),
    all: guides,
    find: (name) => guides.find(({ guide }) => guide.name === name) ?? null,
  };
}

/** The id of a heading, as the links of the files expect it. */
export const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/**
 * Where a link of a guide leads on this site: another guide, a heading, an https address; anything else is shown as text.
 * @param from the file that has the link, as a path from `docs`
 */
export function linkTarget(guides: Guides, href: string, from: string): string | null {
  if (/^#[\w-]+$/.test(href) || /^https?:\/\//.test(href) || /^\/(docs|api|dashboard|account|\.well-known)\b/.test(href)) return href;
  const [, path = '', anchor = ''] = /^((?:\.\.\/|[\w-]+\/)*[\w-]+\.md)(#[\w-]+)?$/.exec(href) ?? [];
  const file = posix.join(posix.dirname(from), path);
  const target = guides.all.find(({ guide }) => guide.file === file)?.guide;
  return target ? `/docs/${target.name}${anchor}` : null;
}
