import type { Request, Response } from 'express';
import { z } from 'zod';
import { clearCookie, cookieName, readCookie, setCookie } from '../../../http/request/cookies.js';
import { safeReturnTo } from '../../../http/request/return-to.js';
import { defaultSize } from '../../../management/query.js';
import type { ListLayoutForm } from '../page-parts.js';
import type { ColumnSpec, Presentation } from '../records/presentation.js';

const cookie = 'dashboard_layouts';
/** A year. */
const remembered = 365 * 86_400;
/** The longest value that is kept; the lists that were laid out longest ago go first. */
const longest = 2000;

const pageSizes: readonly number[] = [defaultSize, 50, 100];

/** How somebody wants a list: the rows of a page, and the columns that are left out, by label. */
type Layout = { readonly size: number; readonly hidden: readonly string[] };

const plain: Layout = { size: defaultSize, hidden: [] };

const layoutsSchema = z.array(
  z.tuple([
    z.string().max(50),
    z.strictObject({ size: z.number().refine((size) => pageSizes.includes(size)), hidden: z.array(z.string().max(50)).max(20) }),
  ]),
);

/** The layouts of this browser by list; whatever else the cookie holds is none. */
function layoutsIn(req: Request): Map<string, Layout> {
  try {
    return new Map(layoutsSchema.parse(JSON.parse(decodeURIComponent(readCookie(req, cookieName(req, cookie)) ?? ''))));
  } catch {
    return new Map();
  }
}

export const layoutOf = (req: Request, path: string): Layout => layoutsIn(req).get(path) ?? plain;

/** The columns that are shown; the first one says what a row is, and always is. */
export const shownColumns = (columns: readonly ColumnSpec[], { hidden }: Layout): readonly ColumnSpec[] =>
  columns.filter(({ label }, index) => index === 0 || !hidden.includes(label));

export const layoutForm = (path: string, columns: readonly ColumnSpec[], { size, hidden }: Layout): ListLayoutForm => ({
  list: path,
  sizes: pageSizes.map((value) => ({ value, selected: value === size })),
  columns: columns.slice(1).map(({ label }) => ({ label, shown: !hidden.includes(label) })),
});

/** POST /dashboard/preferences/list: how this browser shows a list from now on; goes back to it. */
export const chooseLayout = (presentations: readonly Presentation[]) => (req: Request, res: Response) => {
  const presentation = presentations.find(({ path }) => path === req.form.get('list'));
  if (presentation) {
    const size = Number(req.form.get('size'));
    const hidden = presentation.columns.slice(1).flatMap(({ label }) => (req.form.get(`column:${label}`) === undefined ? [label] : []));
    const layouts = layoutsIn(req);
    layouts.delete(presentation.path);
    if (size !== defaultSize || hidden.length > 0)
      layouts.set(presentation.path, { size: pageSizes.includes(size) ? size : defaultSize, hidden });
    const entries = [...layouts];
    const text = () => encodeURIComponent(JSON.stringify(entries));
    while (text().length > longest) entries.shift();
    if (entries.length > 0) setCookie(req, res, cookie, text(), remembered);
    else clearCookie(req, res, cookie);
  }
  res.redirect(303, safeReturnTo(req.form.get('return_to')) ?? '/dashboard');
};
