import type { Request, Response } from 'express';
import { offeredOrders, type Orders } from './orders.js';
import { rememberList } from '../list-address.js';
import type { Render } from '../render.js';
import { managedIds } from '../records/managed-notice.js';
import { readableIncludes } from '../records/record.js';
import type { Column, LinkButton, Selection, TablePart } from '../page-parts.js';
import { withExtras } from './extras.js';
import { recordPath, type ColumnSpec, type ViewContext, type Presentation } from '../records/presentation.js';
import { defaultSortOf, filterPart, listState, readFilters, type ListState } from './filters.js';
import { layoutForm, layoutOf, shownColumns } from './layout.js';
import { listingOf } from './listing.js';
import { selectedName, selectionOf } from './selection.js';
import { shownRowsOf, firstRowsAround, shownRowsWords, type ShownRows } from './shown-rows.js';
import { defaultSize } from '../../../management/query.js';
import type { Call } from '../../../management/call.js';
import { may, resourceOf, type Listing } from '../records/objects.js';
import { named } from '../../../lib/named.js';
import { terms } from '../words.js';

const address = (path: string, state: ListState, changes: Readonly<Record<string, string | undefined>>, defaultSort: string): string => {
  const sort = state.sort === defaultSort ? undefined : state.sort;
  const members = Object.entries({ ...state.values, sort, ...changes }).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(members).toString();
  return query === '' ? path : `${path}?${query}`;
};

const columnsOf = (specs: readonly ColumnSpec[], path: string, state: ListState, defaultSort: string, orders: Orders): Column[] =>
  specs.map(({ label, sort, numeric }) => {
    if (sort === undefined || orders?.(sort) === false) return { label, numeric };
    const descending = state.sort === `-${sort}`;
    const direction = descending ? ('descending' as const) : state.sort === sort ? ('ascending' as const) : null;
    const next = direction === null ? (sort.endsWith('_at') ? `-${sort}` : sort) : descending ? sort : `-${sort}`;
    return { label, numeric, sort: { path: address(path, state, { sort: next }, defaultSort), direction } };
  });

export type TableSpec = {
  readonly id: string;
  readonly caption: string;
  readonly heading: boolean;
  readonly path: string;
  readonly state: ListState;
  readonly defaultSort: string;
  readonly empty: TablePart['empty'];
  readonly columns: readonly ColumnSpec[];
  readonly orders?: Orders;
  readonly shownRows?: ShownRows;
  /** The rows of a full page; the API's own number unless given. */
  readonly size?: number;
  readonly layout?: TablePart['layout'];
  readonly selection?: Selection | null;
  readonly files?: Presentation['downloads'];
  readonly live?: string | null;
};

export function tableOf(view: ViewContext, presentation: Presentation, listing: Listing, spec: TableSpec): TablePart {
  const { path, state, defaultSort, shownRows, size = defaultSize } = spec;
  const around = shownRows ? firstRowsAround(shownRows, listing.records.length, size) : {};
  const readable = may(view.req.call, presentation.path, 'read');
  return {
    kind: 'table',
    id: spec.id,
    caption: spec.caption,
    heading: spec.heading,
    columns: columnsOf(spec.columns, path, state, defaultSort, spec.orders ?? null),
    rows: listing.records.map((record) => ({
      path: readable ? recordPath(presentation.path, record.id) : null,
      cells: spec.columns.map((column) => column.value(record, view, listing)),
      mark: listing.managed?.has(record.id) ? 'managed' : null,
      select: spec.selection ? { name: selectedName(record.id), about: presentation.name(record, listing.included) } : null,
    })),
    empty: spec.empty,
    live: spec.live ?? null,
    selection: spec.selection ?? null,
    files: (spec.files ?? []).map(({ label, path: at, query }) => ({ label, path: address(at, state, query, defaultSort) })),
    shown: shownRows ? shownRowsWords(shownRows, listing.records.length) : null,
    layout: spec.layout ?? null,
    pager: {
      previous: listing.previous && address(path, state, { before: listing.previous, from: around.previous }, defaultSort),
      next: listing.next && address(path, state, { after: listing.next, from: around.next }, defaultSort),
    },
  };
}

function emptyOf(presentation: Presentation, filtered: boolean, path: string, button: LinkButton | null): TablePart['empty'] {
  if (!filtered) return { ...presentation.empty, button };
  return {
    title: terms.nothing_matches,
    text: 'No results match these filters. Remove some to see more.',
    button: { label: terms.clear_filters, path, variant: 'quiet' },
  };
}

function listLinks(presentation: Presentation, listing: Listing, button: LinkButton | null): LinkButton[] {
  const some = listing.records.length > 0;
  return [...(button && presentation.create?.other ? [presentation.create.other] : []), ...(button && some ? [button] : [])];
}

/** Whether a filter is set otherwise than at first. */
const isFiltered = ({ values }: ListState, filters: Presentation['filters']): boolean =>
  Object.entries(values).some(([name, value]) => value !== (filters.find((spec) => spec.name === name)?.initial ?? ''));

/** What a list has to make its first record. */
function createButton(call: Call, { path, create }: Presentation): LinkButton | null {
  const creatable = create !== undefined && resourceOf(call, path).create !== undefined && may(call, path, 'write');
  return creatable ? { label: create.label, path: `/dashboard/${path}/new`, variant: 'primary' } : null;
}

/** The rows as they are shown: with what columns show beside them, and marked where a document manages them. */
async function shownListing(view: ViewContext, presentation: Presentation, listing: Listing): Promise<Listing> {
  const { call } = view.req;
  const ids = listing.records.map(({ id }) => id);
  return {
    ...(await withExtras(view, presentation, listing)),
    managed: await managedIds(call, resourceOf(call, presentation.path).type, ids),
  };
}

/** GET /dashboard/{collection} */
export const listPage = (render: Render, presentation: Presentation) => async (req: Request, res: Response) => {
  const { call } = req;
  const resource = resourceOf(call, presentation.path);
  const view: ViewContext = { req, now: call.ctx.clock.now() };
  const defaultSort = defaultSortOf(presentation, resource);
  const path = `/dashboard/${presentation.path}`;
  const state = listState(req, presentation.filters, defaultSort);
  const layout = layoutOf(req, presentation.path);
  const columns = shownColumns(presentation.columns, layout);
  const { query, found } = await readFilters(view, state, presentation.filters);
  const listQuery = {
    size: layout.size,
    filters: query,
    sort: state.sort,
    include: readableIncludes(req, presentation.path, presentation.include),
    after: state.after,
    before: state.before,
  };
  const { listing, mistake, status } = await listingOf(req, res, presentation.path, listQuery);
  const shownRows = status === 200 ? await shownRowsOf(req, presentation.path, listQuery, listing) : undefined;
  const orders = await offeredOrders(view, resource, columns, state.sort, listQuery.filters);
  const button = createButton(call, presentation) ?? (await presentation.start?.(view)) ?? null;
  const filtered = isFiltered(state, presentation.filters);
  const table = tableOf(view, presentation, await shownListing(view, presentation, listing), {
    id: presentation.path,
    caption: presentation.title,
    heading: false,
    path,
    state,
    defaultSort,
    columns,
    size: layout.size,
    layout: layoutForm(presentation.path, presentation.columns, layout),
    orders,
    ...(shownRows && { shownRows }),
    selection: selectionOf(call, presentation),
    files: presentation.downloads,
    live: state.after === undefined && state.before === undefined ? (presentation.live?.(listQuery.filters) ?? null) : null,
    empty: emptyOf(presentation, filtered || state.after !== undefined || state.before !== undefined, path, button),
  });
  const filters =
    presentation.filters.length > 0
      ? [await filterPart(view, resource, presentation.filters, path, state, defaultSort, orders, found)]
      : [];
  const page = {
    title: presentation.title,
    lead: presentation.lead,
    links: listLinks(presentation, listing, button),
    errors: named(mistake === null ? {} : { form: mistake }),
    parts: [...filters, table],
  };
  if (status === 200) rememberList(req, res);
  render(req, res, page, status);
};
