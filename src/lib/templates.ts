import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ejs from 'ejs';

/** Where the templates lie: `views/` at the root of the project, for the sources and for `dist/` alike. */
const defaultViewsDir = fileURLToPath(new URL('../../views/', import.meta.url));

export type Templates = {
  /**
   * The text of `<view>.ejs` for the given locals, which the template reads as `page.<name>`. Templates whose name ends in `.txt`
   * are plain text and escape nothing; in all others `<%= %>` escapes HTML.
   */
  render(view: string, locals: object): string;
};

/**
 * EJS copies all locals for every template and every include, lest a name be found in what they inherit: a fifth of what a page costs. Those handed to it here inherit
 * nothing, and an include's are a copy that inherits nothing by itself.
 */
const asTheyAre: object = { unsafePrototypeLocals: true };
const inheritingNothing = (locals: object): ejs.Data => Object.assign(Object.create(null) as ejs.Data, locals);

/** A set of compiled templates, each read and compiled once; with `cache: false` (while designing) on every call. */
export function createTemplates(options: { viewsDir?: string; cache?: boolean } = {}): Templates {
  const { viewsDir = defaultViewsDir, cache = true } = options;
  const compiled = new Map<string, ejs.TemplateFunction>();

  function compile(view: string): ejs.TemplateFunction {
    const filename = join(viewsDir, `${view}.ejs`);
    return ejs.compile(readFileSync(filename, 'utf8'), {
      filename,
      root: viewsDir,
      cache,
      strict: true,
      _with: false,
      localsName: 'page',
      ...asTheyAre,
      ...(view.endsWith('.txt') ? { escape: String } : {}),
    });
  }

  return {
    render(view, locals) {
      let template = cache ? compiled.get(view) : undefined;
      if (!template) {
        template = compile(view);
        compiled.set(view, template);
      }
      return template(inheritingNothing(locals));
    },
  };
}
