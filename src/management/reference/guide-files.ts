import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { named } from '../../lib/named.js';
import { packageRoot } from '../../lib/package-root.js';

const docsDir = join(packageRoot, 'docs');

/** The Markdown files of a folder, as paths from `docs`. */
export function filesIn(folder: string): string[] {
  const directory = join(docsDir, folder);
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.md')) : [];
  return names.sort().map((name) => posix.join(folder, name));
}

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
export const readPage = (file: string): string => withExamples(readFileSync(join(docsDir, file), 'utf8'));

/** The Markdown of the guides of a folder, by name, with the examples that they show; without the folder's README.md. */
export function readGuideFiles(folder: string): Readonly<Record<string, string>> {
  const files = filesIn(folder).filter((file) => posix.basename(file) !== 'README.md');
  return Object.fromEntries(files.map((file) => [posix.basename(file, '.md'), readPage(file)]));
}
