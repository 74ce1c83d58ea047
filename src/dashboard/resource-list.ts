import type { Request, Response } from 'express';
import { queryOf } from '../http/request/form.js';
import type { Resource } from '../management/resource.js';
import { z } from 'zod';
import { offeredOrders, type Orders } from './list-orders.js';
import { keepPlace } from './list-place.js';
import type { Render } from './render.js';
import { managedIds } from './managed-notice.js';
import { readableIncludes } from './resource-record.js';
import type { Choice, Column, FilterField, LinkButton, Part, RowAction, TablePart } from './page-parts.js';
import { recordPath, type ColumnSpec, type FilterSpec, type ViewContext, type Presentation } from './presentation.js';
import type { ResourceObject } from '../management/documents.js';
import { listingOf } from './listing.js';
import { may, resourceOf, type Listing } from './resource-objects.js';
import { inWords } from './values.js';
import { named } from '../lib/named.js';
import { sentences, terms } from './words.js';

/** Lengths of time that lists can be narrowed to, in seconds. */
const periods: readonly (Choice & { readonly seconds: number })[] = [
  { value: '1h', label: terms.last_hour, seconds: 3600 },
  { value: '24h', label: terms.last_24_hours, seconds: 86_400 },
  { value: '7d', label: terms.last_7_days, seconds: 604_800 },
  { value: '30d', label: terms.last_30_days, seconds: 2_592_000 },
];

const all: Choice = { value: '', label: terms.all };

async function choicesOf(look: ViewContext, resource: Resource, spec: FilterSpec): Promise<readonly Choice[] | null> {
  if (spec.kind === 'search' || spec.kind === 'text') return null;
  if (spec.kind === 'period')
    return [spec.initial === undefined ? { value: '', label: terms.any_time } : { value: 'all', label: terms.any_time }, ...periods];
  if (spec.choices) return [all, ...(await spec.choices(look))];
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

/** Reads the state of a list from the address. */
export function listState(req: Request, filters: readonly FilterSpec[], defaultSort: string): ListState {
  const query = queryOf(req);
  const values = Object.fromEntries(filters.map((spec) => [spec.name, query.all[spec.name] ?? spec.initial ?? '']));
  return { values, sort: query.get('sort') ?? defaultSort, after: query.get('after'), before: query.get('before') };
}

/** What the state means to the list of the API. */
export function filtersOf(state: ListState, filters: readonly FilterSpec[], now: Date): Record<string, string> {
  const asked: Record<string, string> = named();
  for (const spec of filters) {
    const value = state.values[spec.name]?.trim() ?? '';
    const name = spec.filter ?? spec.name;
    if (spec.kind !== 'period') asked[name] = value;
    else {
      const period = periods.find((one) => one.value === value);
      if (period) asked[`${name}][gte`] = new Date(now.getTime() - period.seconds * 1000).toISOString();
    }
  }
  return asked;
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

/** The buttons that rows have: actions without further questions. */
function rowActionOf(look: ViewContext, presentation: Presentation, record: ResourceObject, name: string): RowAction | null {
  if (!may(look.req.call, presentation.path, 'write')) return null;
  const found = Object.entries(presentation.actions ?? {}).find(([, action]) => action.inList && (action.when?.(record) ?? true));
  if (!found) return null;
  const [verb, action] = found;
  return {
    label: action.label,
    about: name,
    action: `${recordPath(presentation.path, record.id)}/${verb}`,
    ...(action.danger ? { variant: 'danger' as const } : {}),
  };
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
};

/** A listing as a table, with links to sort and to go on. */
export function tableOf(look: ViewContext, presentation: Presentation, listing: Listing, spec: TableSpec): TablePart {
  const { path, state, defaultSort } = spec;
  const readable = may(look.req.call, presentation.path, 'read');
  return {
    kind: 'table',
    id: spec.id,
    caption: spec.caption,
    heading: spec.heading,
    columns: columnsOf(spec.columns, path, state, defaultSort, spec.orders ?? null),
    rows: listing.records.map((record) => ({
      path: readable ? recordPath(presentation.path, record.id) : null,
      cells: spec.columns.map((column) => column.value(record, look, listing)),
      mark: listing.managed?.has(record.id) ? 'managed' : null,
      action: rowActionOf(look, presentation, record, presentation.name(record, listing.included)),
    })),
    empty: spec.empty,
    pager: {
      previous: listing.previous && address(path, state, { before: listing.previous }, defaultSort),
      next: listing.next && address(path, state, { after: listing.next }, defaultSort),
    },
  };
}

/** The filters of a list as its form. */
export async function filterPart(
  look: ViewContext,
  resource: Resource,
  specs: readonly FilterSpec[],
  path: string,
  state: ListState,
  defaultSort: string,
  orders: Orders = null,
): Promise<Part> {
  const fields = await Promise.all(
    specs.map(async (spec): Promise<FilterField> => {
      const choices = await choicesOf(look, resource, spec);
      return {
        name: spec.name,
        label: spec.label,
        value: state.values[spec.name] ?? '',
        choices,
        kind: choices ? 'select' : spec.kind === 'search' ? 'search' : 'text',
      };
    }),
  );
  const filtered = specs.some((spec) => (state.values[spec.name] ?? '') !== (spec.initial ?? ''));
  // Of a long list the form leads to the order that any filter takes.
  const hidden: Record<string, string> = state.sort === defaultSort || orders ? {} : { sort: state.sort };
  return { kind: 'filters', action: path, fields, hidden, clear: filtered ? path : null };
}

/** The text of an empty list, and the button to add a record or clear the filters. */
function emptyOf(presentation: Presentation, filtered: boolean, path: string, button: LinkButton | null): TablePart['empty'] {
  if (!filtered) return { ...presentation.empty, button };
  return {
    title: terms.nothing_matches,
    text: sentences.no_record_fits_these_filters,
    button: { label: terms.clear_filters, path, variant: 'quiet' },
  };
}

/** The buttons of a list: add a record, and downloads. */
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
    const look: ViewContext = { req, now: call.ctx.clock.now() };
    const defaultSort = resource.defaultSort ?? '-created_at';
    const path = `/dashboard/${presentation.path}`;
    const state = listState(req, presentation.filters, defaultSort);
    const asked = {
      filters: filtersOf(state, presentation.filters, look.now),
      sort: state.sort,
      include: readableIncludes(req, { path: presentation.path, recordInclude: presentation.include }),
      after: state.after,
      before: state.before,
    };
    const { listing, mistake, status } = await listingOf(req, res, presentation.path, asked);
    const beside = await presentation.beside?.(look, listing.records);
    const managed = await managedIds(
      call,
      resource.type,
      listing.records.map(({ id }) => id),
    );
    const shown: Listing = { ...listing, ...(beside && { beside }), managed };
    const orders = await offeredOrders(look, resource, presentation.columns, state.sort, asked.filters);
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
    };
    const table = tableOf(look, presentation, shown, {
      ...spec,
      empty: emptyOf(presentation, filtered || state.after !== undefined || state.before !== undefined, path, button),
    });
    const filters =
      presentation.filters.length > 0 ? [await filterPart(look, resource, presentation.filters, path, state, defaultSort, orders)] : [];
    const page = {
      title: presentation.title,
      lead: presentation.lead,
      links: listLinks(presentation, listing, state, defaultSort, button),
      errors: named(mistake === null ? {} : { form: mistake }),
      parts: [...filters, table],
    };
    if (status === 200) keepPlace(req, res);
    render(req, res, page, status);
  };
}
