import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lexer, type Token } from 'marked';
import type { Guide } from './page-models.js';

const defaultDocsDir = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** Addresses of an environment, which replace the example addresses of the files. */
export type Addresses = { readonly issuer: string; readonly base_url: string };

/** A guide and its Markdown as tokens. */
export type ReadGuide = { readonly guide: Guide; readonly blocks: readonly Token[] };

/** The guides of `docs/*.md`, read once. An installation without that folder has none. */
export type Guides = {
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
  const names = existsSync(docsDir)
    ? readdirSync(docsDir)
        .filter((name) => name.endsWith('.md'))
        .sort()
    : [];
  const guides = names.map((file) => {
    const markdown = readFileSync(join(docsDir, file), 'utf8');
    const tokens = lexer(addresses ? localized(markdown, addresses) : markdown);
    const heading = tokens.find((token) => token.type === 'heading');
    const name = file.replace(/\.md$/, '');
    const blocks = tokens.filter((token) => token !== heading && token.type !== 'html' && token.type !== 'space');
    return { guide: { name, title: (heading as { text?: string } | undefined)?.text ?? name }, blocks };
  });
  return {
    list: guides.map(({ guide }) => guide),
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

/** Where a link of a guide leads on this site: another guide, a heading, an https address; anything else is shown as text. */
export function linkTarget(guides: Guides, href: string): string | null {
  if (/^#[\w-]+$/.test(href) || /^https?:\/\//.test(href) || /^\/(docs|api|dashboard|account|\.well-known)\b/.test(href)) return href;
  const [, name = '', anchor = ''] = /^([\w-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  return guides.list.some((guide) => guide.name === name) ? `/docs/${name}${anchor}` : null;
}
