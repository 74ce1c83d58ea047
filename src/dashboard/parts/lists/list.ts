import type { Request, Response } from 'express';
import { queryOf } from '../../../http/request/form.js';
import type { Resource } from '../../../management/resource.js';
import { z } from 'zod';
import { offeredOrders, type Orders } from './orders.js';
import { rememberList } from '../list-address.js';
import type { Render } from '../render.js';
import { managedIds } from '../records/managed-notice.js';
import { readableIncludes } from '../records/record.js';
import type { Choice, Column, FilterField, LinkButton, Part, TablePart } from '../page-parts.js';
import { recordPath, type ColumnSpec, type FilterSpec, type ViewContext, type Presentation } from '../records/presentation.js';
import { listingOf } from './listing.js';
import { shownRowsOf, firstRowsAround, shownRowsWords, type ShownRows } from './shown-rows.js';
import { defaultSize } from '../../../management/query.js';
import { may, resourceOf, type Listing } from '../records/objects.js';
import { inWords } from '../values.js';
import { named } from '../../../lib/named.js';
import { terms } from '../words.js';

/** Lengths of time that lists can be narrowed to, in seconds. */
const periods: readonly (Choice & { readonly seconds: number })[] = [
  { value: '1h', label: 'Last hour', seconds: 3600 },
  { value: '24h', label: terms.last_24_hours, seconds: 86_400 },
  { value: '7d', label: 'Last 7 days', seconds: 604_800 },
  { value: '30d', label: terms.last_30_days, seconds: 2_592_000 },
];

const all: Choice = { value: '', label: terms.all };

async function choicesOf(view: ViewContext, resource: Resource, spec: FilterSpec): Promise<readonly Choice[] | null> {
  if (spec.kind === 'search' || spec.kind === 'text') return null;
  if (spec.kind === 'period')
    return [spec.initial === undefined ? { value: '', label: 'Any time' } : { value: 'all', label: 'Any time' }, ...periods];
  if (spec.choices) return [all, ...(await spec.choices(view))];
  const schema = resource.filters[spec.filter ?? spec.name]?.schema;
  if (!(schema instanceof z.ZodEnum)) return null;
  const words: Record<string, string> = named({ true: terms.yes, false: terms.no });
  return [all, ...schema.options.map(String).map((value) => ({ value, label: words[value] ?? inWords(value) }))];
}

/** A list's state, all of it from the address. */
export type ListState = {
  readonly values: Readonly<Record<string, string>>;
  readonly sort: string;
  readonly after: string | undefined;
  readonly before: string | undefined;
};

export function listState(req: Request, filters: readonly FilterSpec[], defaultSort: string): ListState {
  const query = queryOf(req);
  const values = Object.fromEntries(filters.map((spec) => [spec.name, query.all[spec.name] ?? spec.initial ?? '']));
  return { values, sort: query.get('sort') ?? defaultSort, after: query.get('after'), before: query.get('before') };
}

/** What the state means to the list of the API. */
export function filtersOf(state: ListState, filters: readonly FilterSpec[], now: Date): Record<string, string> {
  const query: Record<string, string> = named();
  for (const spec of filters) {
    const value = state.values[spec.name]?.trim() ?? '';
    const name = spec.filter ?? spec.name;
    if (spec.kind !== 'period') query[name] = value || (spec.blank ?? '');
    else {
      const period = periods.find((one) => one.value === value);
      if (period) query[`${name}][gte`] = new Date(now.getTime() - period.seconds * 1000).toISOString();
    }
  }
  return query;
}

/** The same with what people enter in other words: names instead of ids. */
export async function readFilters(view: ViewContext, state: ListState, filters: readonly FilterSpec[]): Promise<Record<string, string>> {
  const query = filtersOf(state, filters, view.now);
  for (const { name, filter = name, read } of filters) if (read) query[filter] = await read(view, query[filter] ?? '');
  return query;
}

const address = (path: string, state: ListState, changes: Readonly<Record<string, string | undefined>>, defaultSort: string): string => {
  const sort = state.sort === defaultSort ? undefined : state.sort;
  const members = Object.entries({ ...state.values, sort, ...changes }).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(members).toString();
  return query === '' ? path : `${path}?${query}`;
};

function columnsOf(specs: readonly ColumnSpec[], path: string, state: ListState, defaultSort: string, orders: Orders): Column[] {
  return specs.map(({ label, sort, numeric }) => {
    if (sort === undefined || orders?.(sort) === false) return { label, numeric };
    const descending = state.sort === `-${sort}`;
    const direction = descending ? ('descending' as const) : state.sort === sort ? ('ascending' as const) : null;
    const next = direction === null ? (sort.endsWith('_at') ? `-${sort}` : sort) : descending ? sort : `-${sort}`;
    return { label, numeric, sort: { path: address(path, state, { sort: next }, defaultSort), direction } };
  });
}

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
};

export function tableOf(view: ViewContext, presentation: Presentation, listing: Listing, spec: TableSpec): TablePart {
  const { path, state, defaultSort, shownRows } = spec;
  const around = shownRows ? firstRowsAround(shownRows, listing.records.length, defaultSize) : {};
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
    })),
    empty: spec.empty,
    shown: shownRows ? shownRowsWords(shownRows, listing.records.length) : null,
    pager: {
      previous: listing.previous && address(path, state, { before: listing.previous, from: around.previous }, defaultSort),
      next: listing.next && address(path, state, { after: listing.next, from: around.next }, defaultSort),
    },
  };
}

export async function filterPart(
  view: ViewContext,
  resource: Resource,
  specs: readonly FilterSpec[],
  path: string,
  state: ListState,
  defaultSort: string,
  orders: Orders = null,
): Promise<Part> {
  const fields = await Promise.all(
    specs.map(async (spec): Promise<FilterField> => {
      const value = state.values[spec.name] ?? '';
      const choices = await choicesOf(view, resource, spec);
      const isOther = choices?.every((choice) => choice.value !== value) ?? false;
      return {
        name: spec.name,
        label: spec.label,
        value,
        choices: isOther && choices ? [...choices, { value, label: value }] : choices,
        kind: choices ? 'select' : spec.kind === 'search' ? 'search' : 'text',
      };
    }),
  );
  const filtered = specs.some((spec) => (state.values[spec.name] ?? '') !== (spec.initial ?? ''));
  // Of a long list the form leads to the order that any filter takes.
  const hidden: Record<string, string> = state.sort === defaultSort || orders ? {} : { sort: state.sort };
  return { kind: 'filters', action: path, fields, hidden, clear: filtered ? path : null };
}

function emptyOf(presentation: Presentation, filtered: boolean, path: string, button: LinkButton | null): TablePart['empty'] {
  if (!filtered) return { ...presentation.empty, button };
  return {
    title: terms.nothing_matches,
    text: 'No results match these filters. Remove some to see more.',
    button: { label: terms.clear_filters, path, variant: 'quiet' },
  };
}

function listLinks(
  presentation: Presentation,
  listing: Listing,
  state: ListState,
  defaultSort: string,
  button: LinkButton | null,
): LinkButton[] {
  const some = listing.records.length > 0;
  const files = some ? (presentation.downloads ?? []) : [];
  return [
    ...(button && presentation.create?.other ? [presentation.create.other] : []),
    ...(button && some ? [button] : []),
    ...files.map(({ label, path, query }): LinkButton => ({ label, path: address(path, state, query, defaultSort) })),
  ];
}

/** GET /dashboard/{collection} */
export function listPage(render: Render, presentation: Presentation) {
  return async (req: Request, res: Response): Promise<void> => {
    const { call } = req;
    const resource = resourceOf(call, presentation.path);
    const view: ViewContext = { req, now: call.ctx.clock.now() };
    const defaultSort = resource.defaultSort ?? '-created_at';
    const path = `/dashboard/${presentation.path}`;
    const state = listState(req, presentation.filters, defaultSort);
    const listQuery = {
      filters: await readFilters(view, state, presentation.filters),
      sort: state.sort,
      include: readableIncludes(req, { path: presentation.path, recordInclude: presentation.include }),
      after: state.after,
      before: state.before,
    };
    const { listing, mistake, status } = await listingOf(req, res, presentation.path, listQuery);
    const shownRows = status === 200 ? await shownRowsOf(req, presentation.path, listQuery, listing) : undefined;
    const extras = await presentation.extras?.(view, listing.records);
    const managed = await managedIds(
      call,
      resource.type,
      listing.records.map(({ id }) => id),
    );
    const shown: Listing = { ...listing, ...(extras && { extras }), managed };
    const orders = await offeredOrders(view, resource, presentation.columns, state.sort, listQuery.filters);
    const creatable = presentation.create !== undefined && resource.create !== undefined && may(call, presentation.path, 'write');
    const button: LinkButton | null =
      creatable && presentation.create ? { label: presentation.create.label, path: `${path}/new`, variant: 'primary' } : null;
    const filtered = Object.entries(state.values).some(
      ([name, value]) => value !== (presentation.filters.find((spec) => spec.name === name)?.initial ?? ''),
    );
    const spec = {
      id: presentation.path,
      caption: presentation.title,
      heading: false,
      path,
      state,
      defaultSort,
      columns: presentation.columns,
      orders,
      ...(shownRows && { shownRows }),
    };
    const table = tableOf(view, presentation, shown, {
      ...spec,
      empty: emptyOf(presentation, filtered || state.after !== undefined || state.before !== undefined, path, button),
    });
    const filters =
      presentation.filters.length > 0 ? [await filterPart(view, resource, presentation.filters, path, state, defaultSort, orders)] : [];
    const page = {
      title: presentation.title,
      lead: presentation.lead,
      links: listLinks(presentation, listing, state, defaultSort, button),
      errors: named(mistake === null ? {} : { form: mistake }),
      parts: [...filters, table],
    };
    if (status === 200) rememberList(req, res);
    render(req, res, page, status);
  };
}
