import type { Request } from 'express';
import { queryOf } from '../../../http/request/form.js';
import { totalOf, maxListed, type Listing, type ListQuery } from '../records/objects.js';
import { figure, figureUpTo } from '../values.js';

/** Where a page stands in its list: the number of its first row, null where the address doesn't say, and how many rows there are; null where counting takes too long. */
export type ShownRows = { readonly first: number | null; readonly total: number | null };

/** The number of a page's first row, as its address has it beside the cursor. It says where somebody stands and finds nothing. */
function firstOf(req: Request, { previous }: Listing): number | null {
  if (previous === null) return 1;
  const text = queryOf(req).get('from') ?? '';
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : null;
}

/** The place of a page of a list; a list that it shows whole is counted by looking at it. */
export async function shownRowsOf(req: Request, path: string, listQuery: ListQuery, listing: Listing): Promise<ShownRows> {
  const isWhole = listing.previous === null && listing.next === null;
  return { first: firstOf(req, listing), total: isWhole ? listing.records.length : await totalOf(req.call, path, listQuery) };
}

/** `1–25 of 12,480`; of more than are counted `1–25 of 10,000+`. Null for a page without rows. */
export function shownRowsWords({ first, total }: ShownRows, shown: number): string | null {
  if (shown === 0) return null;
  const rows = first === null ? null : shown === 1 ? figure(first) : `${figure(first)}–${figure(first + shown - 1)}`;
  const all = total === null ? null : figureUpTo(total, maxListed);
  if (rows === null) return all === null ? null : `${all} in all`;
  return all === null ? rows : `${rows} of ${all}`;
}

/** What the addresses of the pages around it say of where they begin. */
export function firstRowsAround({ first }: ShownRows, shown: number, size: number): { readonly previous?: string; readonly next?: string } {
  return first === null ? {} : { previous: String(Math.max(1, first - size)), next: String(first + shown) };
}
