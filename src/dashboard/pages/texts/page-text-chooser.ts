import type { NextFunction, Request, Response } from 'express';
import { requirePermissions } from '../../../management/authorize.js';
import { notFound } from '../../../management/problems.js';
import { catalogueOf } from '../../../lib/languages/messages.js';
import { isPageTextKey } from '../../../lib/languages/own-texts.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTextAreas } from './page-text-areas.js';
import type { Render } from '../../parts/render.js';
import { code, text } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const at = '/dashboard/page_texts';

function textsOf(area: ReturnType<typeof pageTextAreas>[number]): Part {
  const english = catalogueOf('en');
  return {
    kind: 'table',
    id: 'texts',
    caption: area.title,
    heading: false,
    columns: [{ label: terms.built_in_text }, { label: terms.key }],
    rows: area.keys.map((key) => ({ path: `${at}/new?key=${key}`, cells: [text(english[key]), code(key)] })),
    empty: { title: terms.no_page_texts_yet, text: '', button: null },
    pager: null,
  };
}

/** GET /dashboard/page_texts/new: the pages, then the texts of one; with a key in the address the form follows. @throws {ApiError} 403, 404 */
export function pageTextChooser(render: Render) {
  return (req: Request, res: Response, next: NextFunction): void => {
    requirePermissions(req.call, 'page_texts:write');
    const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
    const [key, page] = [query.get('key'), query.get('page')];
    if (key !== null) return next(isPageTextKey(key) ? undefined : notFound());
    const title = terms.change_a_text;
    const crumbs = [{ label: terms.page_texts, path: at }];
    if (page === null) {
      const items = pageTextAreas().map((area) => ({
        title: area.title,
        text: `${area.keys.length} texts: “${catalogueOf('en')[area.keys[0] ?? 'login.title']}” ...`,
        path: `${at}/new?page=${area.name}`,
      }));
      return render(req, res, { title, lead: 'Choose a page', crumbs, parts: [{ kind: 'tiles', title, items }] });
    }
    const area = pageTextAreas().find(({ name }) => name === page);
    if (!area) throw notFound();
    const steps = [...crumbs, { label: title, path: `${at}/new` }];
    render(req, res, { title: area.title, lead: 'Choose a text to edit.', crumbs: steps, parts: [textsOf(area)] });
  };
}
