import type { NextFunction, Request, Response } from 'express';
import { requirePermissions } from '../../../management/authorize.js';
import { notFound } from '../../../management/problems.js';
import { catalogueOf } from '../../../lib/languages/messages.js';
import { isPageTextKey } from '../../../lib/languages/own-texts.js';
import { pageTextAreas } from './page-text-areas.js';
import type { Render } from '../../parts/render.js';
import { terms } from '../../parts/words.js';

const at = '/dashboard/page_texts';

/** GET /dashboard/page_texts/new: the pages, each with the form of all its texts; with a key in the address the form follows. @throws {ApiError} 403, 404 */
export const pageTextChooser = (render: Render) => (req: Request, res: Response, next: NextFunction) => {
  requirePermissions(req.call, 'page_texts:write');
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams;
  const key = query.get('key');
  if (key !== null) return next(isPageTextKey(key) ? undefined : notFound());
  const title = terms.change_texts;
  const crumbs = [{ label: terms.page_texts, path: at }];
  const items = pageTextAreas().map(({ title: area, keys }) => {
    const [first = 'login.title'] = keys;
    const [group = ''] = first.split('.');
    return { title: area, text: `${keys.length} texts: “${catalogueOf('en')[first]}” ...`, path: `${at}/edit?group=${group}` };
  });
  render(req, res, { title, lead: 'Choose a page.', crumbs, parts: [{ kind: 'tiles', title, items }] });
};
