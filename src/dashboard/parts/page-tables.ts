import type { Column, LinkButton, TablePart } from './page-parts.js';
import type { Listing } from './records/objects.js';
import { recordPath, type Presentation, type ViewContext } from './records/presentation.js';

type PageTable = Pick<TablePart, 'id' | 'caption' | 'rows'> &
  Partial<Pick<TablePart, 'heading' | 'files' | 'pager'>> & {
    readonly columns: readonly (string | Column)[];
    /** What stands in the place of no rows, where there may be none; the button leads to a first one. */
    readonly nothing?: readonly [title: string, text: string, button?: LinkButton | null];
  };

/** A table within a page: without the orders, filters and pages of a list, unless given. */
export const pageTable = ({ columns, nothing: [title, text, button = null] = ['', ''], ...part }: PageTable): TablePart => ({
  kind: 'table',
  heading: true,
  pager: null,
  columns: columns.map((one) => (typeof one === 'string' ? { label: one } : one)),
  empty: { title, text, button },
  ...part,
});

/** Records within a page in the columns of their list, `without` the one that would say the same in each row. */
export function recordsTable(
  view: ViewContext,
  { path, columns }: Pick<Presentation, 'path' | 'columns'>,
  listing: Listing,
  { without, ...part }: Omit<PageTable, 'columns' | 'rows'> & { readonly without?: string },
): TablePart {
  const shown = columns.filter(({ label }) => label !== without);
  const rows = listing.records.map((one) => ({
    path: recordPath(path, one.id),
    cells: shown.map((column) => column.value(one, view, listing)),
  }));
  return pageTable({ ...part, columns: shown.map(({ label, numeric }) => ({ label, numeric })), rows });
}
