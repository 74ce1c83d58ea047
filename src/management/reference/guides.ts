import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { lexer, type Token } from 'marked';
import { named } from '../../lib/named.js';
import { packageRoot } from '../../lib/package-root.js';
import type { Guide } from './page-models.js';

const docsDir = join(packageRoot, 'docs');

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

/** The Markdown files of a folder, as paths from `docs`. */
function filesIn(folder: string): string[] {
  const directory = join(docsDir, folder);
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.md')) : [];
  return names.sort().map((name) => posix.join(folder, name));
}

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

/** A guide's Markdown with this installation's own addresses: the Management API's is the base URL's, all others the issuer's. */
const localized = (markdown: string, { issuer, base_url }: Addresses): string =>
  markdown.replaceAll(placeholder, (_all, api?: string) => (api === undefined ? issuer : `${base_url}${api}`));

/** A line of a page that is a link to an example alone: the page shows that file. */
const exampleLink = /^\[(`[^`\n]+`)\]\((?:\.\.\/)+(examples\/[^\s()]+)\)$/gm;

/** How the language of a file is called in Markdown, where its ending isn't its name. */
const languages: Readonly<Record<string, string>> = named({
  '.conf': 'apache',
  '.mod': 'text',
  '.py': 'python',
  '.rb': 'ruby',
  '.rs': 'rust',
  '.shtml': 'text',
  '.txt': 'text',
});

/** The Markdown with the examples that it shows below their names. An installation without `examples` has the links. */
const withExamples = (markdown: string): string =>
  markdown.replaceAll(exampleLink, (link: string, name: string, path: string) => {
    const file = join(docsDir, '..', path);
    if (!existsSync(file)) return link;
    const language = languages[extname(path)] ?? extname(path).slice(1);
    return `${name}\n\n<!-- file: ${path} -->\n\n\`\`\`${language}\n${readFileSync(file, 'utf8')}\`\`\``;
  });

/** The Markdown of a page. @param file as a path from `docs` */
const readPage = (file: string): string => withExamples(readFileSync(join(docsDir, file), 'utf8'));

/** @param addresses left out: the examples stay as they stand in the files */
export function readGuides(addresses: Addresses | null = null): Guides {
  const read = (file: string): ReadGuide => {
    const markdown = readPage(file);
    const tokens = lexer(addresses ? localized(markdown, addresses) : markdown);
    const heading = tokens.find((token) => token.type === 'heading');
    const name = nameOf(file);
    const blocks = tokens.filter((token) => token !== heading && token.type !== 'html' && token.type !== 'space');
    return { guide: { name, file, title: (heading as { text?: string } | undefined)?.text ?? name }, blocks };
  };
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

/** The Markdown of the guides of a folder, by name, with the examples that they show; without the folder's README.md. */
export function readGuideFiles(folder: string): Readonly<Record<string, string>> {
  const files = filesIn(folder).filter((file) => posix.basename(file) !== 'README.md');
  return Object.fromEntries(files.map((file) => [posix.basename(file, '.md'), readPage(file)]));
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
