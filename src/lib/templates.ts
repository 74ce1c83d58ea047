import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ejs from 'ejs';
import { packageRoot } from './package-root.js';

const defaultViewsDir = join(packageRoot, 'views');

export type Templates = {
  /**
   * The text of `<view>.ejs` for the given locals (of one name the last), which the template reads as `page.<name>`. Templates whose name ends in `.txt`
   * are plain text and escape nothing; in all others `<%= %>` escapes HTML.
   */
  render(view: string, ...locals: readonly object[]): string;
};

/**
 * `path` from the root of the views. With `once` the template reads `data` alone, and what it made is kept for good under that word, which has to tell
 * `data` apart and may take few values: none that a request chooses.
 */
type Include = (path: string, data?: object, once?: string) => string;
type Locals = { include: Include };
type Render = (locals: Locals) => string;

/**
 * EJS copies all locals for every template, lest a name be found in what they inherit: those handed to it here inherit nothing but other locals.
 * `include` of a template is the one that its locals bring, which takes the place of EJS's.
 */
const asTheyAre: object = { unsafePrototypeLocals: true, destructuredLocals: ['include'] };

/** A set of compiled templates, each read and compiled once; with `cache: false` (while designing) on every call. */
export function createTemplates(options: { viewsDir?: string; cache?: boolean } = {}): Templates {
  const { viewsDir = defaultViewsDir, cache = true } = options;
  const compiled = new Map<string, Render>();
  const texts = new Map<string, string>();

  function compile(view: string): Render {
    const filename = join(viewsDir, `${view}.ejs`);
    return ejs.compile(readFileSync(filename, 'utf8'), {
      filename,
      root: viewsDir,
      strict: true,
      _with: false,
      localsName: 'page',
      ...asTheyAre,
      ...(view.endsWith('.txt') ? { escape: String } : {}),
    });
  }

  function templateOf(view: string): Render {
    const known = cache ? compiled.get(view) : undefined;
    if (known) return known;
    const made = compile(view);
    compiled.set(view, made);
    return made;
  }

  /**
   * What an include reads: its own data, and behind those all that the template around it reads, which it can't change. EJS copies those for every include, and
   * looks its file up anew: together two fifths of what the sign-in page takes to render.
   */
  function inheritedLocals(around: object | null, ...data: readonly (object | undefined)[]): Locals {
    const locals = Object.assign(Object.create(around) as object, ...data) as Locals;
    locals.include = (path, own, once) => {
      if (once !== undefined) return renderOnce(path, own, once);
      return templateOf(path.slice(1))(inheritedLocals(locals, own));
    };
    return locals;
  }

  function renderOnce(path: string, data: object | undefined, once: string): string {
    const name = `${path} ${once}`;
    const known = cache ? texts.get(name) : undefined;
    if (known !== undefined) return known;
    const text = templateOf(path.slice(1))(inheritedLocals(null, data));
    texts.set(name, text);
    return text;
  }

  return { render: (view, ...locals) => templateOf(view)(inheritedLocals(null, ...locals)) };
}
