import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lexer, type Token } from 'marked';
import type { Guide } from './page-models.js';

const defaultDocsDir = fileURLToPath(new URL('../../../docs/', import.meta.url));

/** The guides of `docs/*.md`, read once. An installation without that folder has none. */
export type Guides = {
  readonly list: readonly Guide[];
  find(name: string): { readonly guide: Guide; readonly blocks: readonly Token[] } | null;
};

export function readGuides(docsDir = defaultDocsDir): Guides {
  const names = existsSync(docsDir)
    ? readdirSync(docsDir)
        .filter((name) => name.endsWith('.md'))
        .sort()
    : [];
  const guides = names.map((file) => {
    const tokens = lexer(readFileSync(join(docsDir, file), 'utf8'));
    const heading = tokens.find((token) => token.type === 'heading');
    const name = file.replace(/\.md$/, '');
    const blocks = tokens.filter((token) => token !== heading && token.type !== 'html' && token.type !== 'space');
    return { guide: { name, title: (heading as { text?: string } | undefined)?.text ?? name }, blocks };
  });
  return { list: guides.map(({ guide }) => guide), find: (name) => guides.find(({ guide }) => guide.name === name) ?? null };
}

/** The id of a heading, as the links of the files expect it. */
export const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** Where a link of a guide leads on this site: another guide, a heading, an https address; anything else is shown as text. */
export function addressOf(guides: Guides, href: string): string | null {
  if (/^#[\w-]+$/.test(href) || /^https?:\/\//.test(href) || /^\/(docs|api|dashboard|account|\.well-known)\b/.test(href)) return href;
  const [, name = '', anchor = ''] = /^([\w-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  return guides.list.some((guide) => guide.name === name) ? `/docs/${name}${anchor}` : null;
}
