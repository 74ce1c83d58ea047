// What code, tests and pages cite exists in this repository: rules of the specification, attacks, faults, decisions, files.
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

type Page = { readonly path: string; readonly text: string };

const folders = ['src', 'test', 'bench', 'migrations', 'views', 'public', 'examples', 'docs', 'data'];
const single = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', '.env.example', '.ci/run', 'Dockerfile', 'docker-compose.yml'];
const here = 'test/docs/citations.test.ts';

const pages = await readPages();
const docs = pages.filter(({ path }) => path.endsWith('.md'));
const pageOf = (path: string): string => pages.find((page) => page.path === path)?.text ?? '';
const sectionsOf = (text: string): string[] => text.split(/^(?=- \*\*)/m);

async function readPages(): Promise<Page[]> {
  const inFolders = await Promise.all(
    folders.map(async (folder) => (await readdir(folder, { recursive: true })).map((name) => join(folder, name))),
  );
  const paths = [...inFolders.flat(), ...single].filter(
    (path) => /\.(ts|js|ejs|sql|md|css|cfg|conf|yml|example)$|run$|Dockerfile$/.test(path) && !path.includes('node_modules'),
  );
  return Promise.all(
    paths.filter((path) => path !== here).map(async (path) => ({ path: normalize(path), text: await readFile(path, 'utf8') })),
  );
}

/** Every `<word> <number>` in the files, also in lists such as `attacks 1.18 and 17.205`, as `path: number`. */
function cited(word: string, number: string, where: readonly Page[] = pages): { readonly path: string; readonly number: string }[] {
  const pattern = new RegExp(`\\b${word} ((?:${number})(?:(?:, | and | to )(?:${number}))*)`, 'g');
  return where.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)].flatMap((match) =>
      [...(match[1] ?? '').matchAll(new RegExp(number, 'g'))].map(([found]) => ({ path, number: found })),
    ),
  );
}

const missing = (found: readonly { readonly path: string; readonly number: string }[], known: ReadonlySet<string>): string[] =>
  found.filter(({ number }) => !known.has(number)).map(({ path, number }) => `${path}: ${number}`);

const doubled = (numbers: readonly string[]): string[] => numbers.filter((number, index) => numbers.indexOf(number) !== index);

const chapters = pages.filter(({ path }) => /^docs\/specification\/\d\d-/.test(path));
const rules = chapters.flatMap(({ path, text }) =>
  [...text.matchAll(/^- \*\*(\d+\.\d+\.\d+)\*\*/gm)].map((match) => ({ path, number: match[1] as string })),
);
const headings = chapters.flatMap(({ text }) => [...text.matchAll(/^#+ (\d+(?:\.\d+)?) /gm)].map((match) => match[1] as string));
/** Rules, and the sections and chapters that hold them. */
const specification = new Set([...headings, ...rules.flatMap(({ number }) => [number, number.split('.').slice(0, 2).join('.')])]);

describe('the specification', () => {
  test('numbers each rule once, in the file of its chapter', () => {
    expect(doubled(rules.map(({ number }) => number)), 'A number is for good and for one rule: take the next free one.').toEqual([]);
    const astray = rules.filter(({ path, number }) => Number(/\/(\d\d)-/.exec(path)?.[1]) !== Number(number.split('.')[0]));
    expect(astray, 'A rule stands in the file of its chapter.').toEqual([]);
  });

  test('has every rule that is cited', () => {
    const section = [...pageOf('docs/security.md').matchAll(/§(\d+\.\d+(?:\.\d+)?)/g)];
    const found = [
      ...cited('(?:S|s)pecification', String.raw`\d+(?:\.\d+){0,2}`),
      ...section.map(([, number = '']) => ({ path: 'docs/security.md', number })),
    ];
    expect(section.length).toBeGreaterThan(200);
    expect(found.length).toBeGreaterThan(60);
    expect(missing(found, specification), 'Cite a rule of docs/specification, or write it there first.').toEqual([]);
  });

  test('has every rule that it refers to itself', () => {
    const own = chapters.flatMap(({ path, text }) =>
      [
        ...text
          .replace(/\b(?:RFC \d+|NIST SP \S+|OIDC Core) [\d.]+/g, '')
          .matchAll(/(?<![\w.:])\d+\.\d+\.\d+(?!\.?\w)|(?<=\()\d+\.\d+(?=\))/g),
      ].map(([number]) => ({ path, number })),
    );
    expect(missing(own, specification), 'A rule that is referred to is gone, or has another number: correct the reference.').toEqual([]);
  });

  test('has every rule of JSON:API that a test names', () => {
    const known = new Set(
      [...pageOf('docs/specification/json-api.md').matchAll(/^- \*\*(\d+\.\d+)\*\*/gm)].map((match) => match[1] as string),
    );
    const found = cited('JSON:API rules?', String.raw`\d+\.\d+`);
    expect(found.length).toBeGreaterThan(40);
    expect(missing(found, known), 'Cite a rule of docs/specification/json-api.md.').toEqual([]);
  });
});

/** The test files that an entry of docs/faults.md names. */
const filesIn = (entry: string): string[] => [...entry.matchAll(/`(test\/[\w/-]+(?:\.test)?\.ts)`/g)].map((match) => match[1] as string);
const tests = pages.filter(({ path }) => path.startsWith('test/'));

describe('attacks', () => {
  const entries = new Map(
    sectionsOf(pageOf('docs/security.md')).flatMap((entry) => {
      const number = /^- \*\*(\d+\.\d+)\*\*/.exec(entry)?.[1];
      return number === undefined ? [] : [[number, entry] as const];
    }),
  );
  const numbers = [...pageOf('docs/security.md').matchAll(/^- \*\*(\d+)\.(\d+)\*\*/gm)];

  test('are numbered once', () => {
    expect(entries.size).toBeGreaterThan(150);
    expect(doubled(numbers.map((match) => match[2] as string)), 'The second number is unique by itself: take the next free one.').toEqual(
      [],
    );
  });

  test('that are cited are in the catalogue', () =>
    expect(missing(cited('[Aa]ttacks?', String.raw`\d+\.\d+`), new Set(entries.keys())), 'Write the attack into docs/security.md.').toEqual(
      [],
    ));

  test('each are held by a test whose title names them, or say why there is none', () => {
    const held = new Set(cited('attacks?', String.raw`\d+\.\d+`, tests).map(({ number }) => number));
    const unheld = [...entries].filter(([number, entry]) => !held.has(number) && !/\bBy construction: \S/.test(entry));
    expect(
      unheld.map(([number]) => number),
      'End the title of a test with the number, as in "(attack 4.57)", or the entry with "By construction:" and the reason.',
    ).toEqual([]);
    const reasoned = [...entries].filter(([, entry]) => /By construction:/.test(entry)).map(([number]) => number);
    expect(reasoned, 'A reason stands in for a test only where none can be written; each such attack is listed here.').toEqual([
      '4.66',
      '20.223',
    ]);
  });
});

describe('faults', () => {
  const entries = new Map(
    sectionsOf(pageOf('docs/faults.md')).flatMap((entry) => {
      const number = /^- \*\*(F\d\d)\*\*/.exec(entry)?.[1];
      return number === undefined ? [] : [[number, entry] as const];
    }),
  );

  test('that are cited are in docs/faults.md, which names the test', () => {
    const found = cited('[Ff]aults?', String.raw`F\d\d`);
    expect(found.length).toBeGreaterThan(15);
    expect(missing(found, new Set(entries.keys())), 'Write the fault into docs/faults.md, under the next free number.').toEqual([]);
    const unnamed = found
      .filter(({ path, number }) => path.startsWith('test/') && !filesIn(entries.get(number) ?? '').includes(path))
      .map(({ path, number }) => `${path}: ${number}`);
    expect(unnamed, 'Name the test in docs/faults.md.').toEqual([]);
  });
});

describe('what is stored', () => {
  test('every column that holds a digest, a sealed value or a hash is in the table of docs/security.md', () => {
    const columns = pages
      .filter(({ path }) => path.startsWith('migrations/'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/(?:^ {2}|\badd column )(\w*(?:digest|digests|sealed|fingerprint|_hash)) (?:bytea|text)/gm)].map(
          (match) => `${path}: ${match[1]}`,
        ),
      );
    expect(columns.length).toBeGreaterThan(15);
    const storage = pageOf('docs/security.md').split('## Data at rest')[1]?.split('\n## ')[0] ?? '';
    expect(
      columns.filter((column) => !storage.includes(`\`${column.split(': ')[1]}\``)),
      'Give the column its row under "Data at rest" in docs/security.md.',
    ).toEqual([]);
  });
});

describe('pages', () => {
  test('decisions that are cited exist', async () => {
    const known = new Set((await readdir('docs/decisions')).map((name) => name.slice(0, 4)));
    const found = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/docs\/decisions\/(\d{4})/g)].map((match) => ({ path, number: match[1] as string })),
    );
    expect(found.length).toBeGreaterThan(0);
    expect(missing(found, known), 'There is no docs/decisions/NNNN-*.md of this number.').toEqual([]);
  });

  test('nothing is cited that the repository does not hold', () => {
    const strange = pages.flatMap(({ path, text }) =>
      [
        ...text.matchAll(
          /(?<![\w/-])(?:interface|decisions|house|reliability|management-api)\.md\b|\b[Dd]ecisions? \d|\b(?:security|reliability) [F\d][\d.]|JSON:API 1\.\d\.\d/g,
        ),
      ].map(([found]) => `${path}: ${found}`),
    );
    expect(strange, 'Cite docs/specification, docs/security.md, docs/faults.md or docs/decisions/NNNN, or say the rule itself.').toEqual(
      [],
    );
  });

  test('links lead somewhere', async () => {
    const links = docs.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)(?:#[^)]*)?\)/g)].map((match) => ({
        path,
        to: join(dirname(path), match[1] ?? ''),
      })),
    );
    expect(links.length).toBeGreaterThan(20);
    expect(await absent(links), 'There is no such file: a link is relative to the page that it stands in.').toEqual([]);
  });

  test('files that are named exist', async () => {
    const named = docs.flatMap(({ path, text }) =>
      [...text.matchAll(/`((?:src|test|docs|bench|migrations|examples|views|public)\/[\w./-]+)`/g)].map((match) => ({
        path,
        to: match[1] ?? '',
      })),
    );
    expect(named.length).toBeGreaterThan(40);
    expect(
      await absent(named.filter(({ to }) => !/NNNN/.test(to))),
      'There is no such file: a name between back-ticks is a path from the root of the repository.',
    ).toEqual([]);
  });

  test('are there when README.md shows them: pictures for both colour schemes, each below 150 KB', async () => {
    const shown = [...pageOf('README.md').matchAll(/srcset="(\S+)-dark\.webp">\s*<img[^>]* src="(\S+)-light\.webp"/g)];
    expect(shown.map(([, dark]) => dark)).toEqual(shown.map(([, , light]) => light));
    expect(pageOf('README.md').split('<picture>')).toHaveLength(shown.length + 1);
    expect(shown).toHaveLength(3);
    for (const [, name] of shown) {
      for (const scheme of ['dark', 'light']) expect((await stat(`${name}-${scheme}.webp`)).size).toBeLessThan(150 * 1024);
    }
  });
});

/** Those whose file isn't there. A name without an ending may stand for `name.ts` or `name-*`. */
async function absent(files: readonly { readonly path: string; readonly to: string }[]): Promise<string[]> {
  const there = async (to: string) =>
    (await stat(to).catch(() => null)) !== null ||
    (await stat(`${to}.ts`).catch(() => null)) !== null ||
    (await readdir(dirname(to)).catch(() => [])).some((name) => join(dirname(to), name).startsWith(`${normalize(to)}-`));
  const checked = await Promise.all(files.map(async ({ path, to }) => ((await there(to)) ? [] : [`${path}: ${to}`])));
  return checked.flat();
}
