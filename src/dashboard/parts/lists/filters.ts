import type { Request } from 'express';
import { z } from 'zod';
import { queryOf } from '../../../http/request/form.js';
import { named } from '../../../lib/named.js';
import type { Resource } from '../../../management/resource.js';
import type { Choice, FilterField, Part } from '../page-parts.js';
import type { FilterSpec, Presentation, ViewContext } from '../records/presentation.js';
import { inWords } from '../values.js';
import { terms } from '../words.js';
import type { Orders } from './orders.js';

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

export type ListState = {
  readonly values: Readonly<Record<string, string>>;
  readonly sort: string;
  readonly after: string | undefined;
  readonly before: string | undefined;
};

export const defaultSortOf = (presentation: Presentation, resource: Resource): string =>
  presentation.defaultSort ?? resource.defaultSort ?? '-created_at';

export function listState(req: Request, filters: readonly FilterSpec[], defaultSort: string): ListState {
  const query = queryOf(req);
  const values = Object.fromEntries(filters.map((spec) => [spec.name, query.all[spec.name] ?? spec.initial ?? '']));
  return { values, sort: query.get('sort') ?? defaultSort, after: query.get('after'), before: query.get('before') };
}

export function filtersOf(state: ListState, filters: readonly FilterSpec[], now: Date): Record<string, string> {
  const query: Record<string, string> = named();
  for (const spec of filters) {
    const value = state.values[spec.name]?.trim() ?? '';
    const name = spec.filter ?? spec.name;
    Object.assign(query, spec.implied?.(value));
    if (spec.kind !== 'period') query[name] = value || (spec.blank ?? '');
    else {
      const period = periods.find((one) => one.value === value);
      if (period) query[`${name}][gte`] = new Date(now.getTime() - period.seconds * 1000).toISOString();
    }
  }
  return query;
}

/** What was found for the names that somebody entered, by filter. */
type Found = ReadonlyMap<string, readonly Choice[]>;

/** The same with names that people enter instead of ids; an id means itself alone. */
export async function readFilters(
  view: ViewContext,
  state: ListState,
  filters: readonly FilterSpec[],
): Promise<{ query: Record<string, string>; found: Found }> {
  const query = filtersOf(state, filters, view.now);
  const found = new Map<string, readonly Choice[]>();
  for (const { name, filter = name, lookUp } of filters) {
    const typed = (query[filter] ?? '').replaceAll(',', ' ').trim();
    if (!lookUp || typed === '') continue;
    const choices = await lookUp(view, typed);
    const meant = choices.filter(({ value }) => value === typed);
    found.set(name, meant.length > 0 ? meant : choices);
    query[filter] = meant.length > 0 ? typed : [typed, ...choices.map(({ value }) => value)].join(',');
  }
  return { query, found };
}

/** A field that looks up names: who was chosen as a choice, else what was typed with those whom it may mean. */
function lookedUp(path: string, state: ListState, { name, label }: FilterSpec, found: readonly Choice[]): FilterField {
  const value = state.values[name] ?? '';
  if (found.length === 1 && found[0]?.value === value) return { name, label, value, choices: [all, ...found], kind: 'select' };
  const others = Object.entries(state.values).filter((entry) => entry[1] !== '' && entry[0] !== name);
  const links = found.map((choice) => ({
    label: choice.label,
    path: `${path}?${new URLSearchParams([...others, [name, choice.value]]).toString()}`,
  }));
  return { name, label, value, choices: null, kind: 'search', links };
}

export async function filterPart(
  view: ViewContext,
  resource: Resource,
  specs: readonly FilterSpec[],
  path: string,
  state: ListState,
  defaultSort: string,
  orders: Orders = null,
  found: Found = new Map(),
): Promise<Part> {
  const fields = await Promise.all(
    specs.map(async (spec): Promise<FilterField> => {
      if (spec.lookUp) return lookedUp(path, state, spec, found.get(spec.name) ?? []);
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
  const changed = specs.filter((spec) => (state.values[spec.name] ?? '') !== (spec.initial ?? '')).map(({ name }) => name);
  // Of a long list the form leads to the order that any filter takes.
  const hidden: Record<string, string> = state.sort === defaultSort || orders ? {} : { sort: state.sort };
  return { kind: 'filters', action: path, fields, hidden, changed, clear: changed.length > 0 ? path : null };
}
