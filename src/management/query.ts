import { ApiError } from '../errors.js';
import type { ListPosition } from '../db/lists/list.js';
import type { Condition, SortKey } from '../db/lists/list-source.js';
import { parseParameters } from '../lib/parameters.js';
import type { Call } from './call.js';
import { decodeCursor } from './cursor.js';
import { feedPosition, type Followed } from './feed.js';
import { cursorProfile } from './media-type.js';
import { isIndexedOrder, unsupportedSort } from './list-order.js';
import { badParameter, insufficientScope, problem, refuse } from './problems.js';
import { targetOf, type Filter, type Resource } from './resource.js';
import { permissionsToFollow } from './within-organization.js';
import { named } from '../lib/named.js';

/** What a request may ask of an endpoint beside its path. */
export type QueryRules = {
  /** The resource whose records the answer bears; null for answers without records. */
  readonly resource: Resource | null;
  readonly list: boolean;
  /** Linkage can be paged, but has no fields and no included records. */
  readonly linkage?: boolean;
};

/** `include`, as a tree: relationship name to what is included below it. */
export type IncludeTree = { readonly [relationship: string]: IncludeTree };

export type Query = {
  /** Null when `include` was not asked for: then the answer has no `included`. */
  readonly include: IncludeTree | null;
  /** Fields by type; types that aren't named show all. */
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
  readonly conditions: readonly Condition[];
  /** Null where an index has the order; else the conditions that an index finds records by, which must leave few enough to be sorted. */
  readonly sorted: readonly Condition[] | null;
  readonly sort: readonly SortKey[];
  /** The order as text, which cursors are bound to. */
  readonly sortText: string;
  readonly size: number;
  readonly after: ListPosition | null;
  readonly before: ListPosition | null;
  /** Of a feed: where it goes on, and which event types; null of any other list. */
  readonly followed: Followed | null;
  /** Every parameter but the cursors, for the links of pages. */
  readonly parameters: readonly (readonly [string, string])[];
};

export const defaultSize = 25;
const maxSize = 100;
export const maxSorts = 4;
export const maxIncludePaths = 20;
/** Each further level multiplies what is read: a user's roles' permissions' API resources' clients would be everything. */
export const maxIncludeDepth = 3;
export const maxFilterValues = 50;

/** Query parameters by name. Flat names only: `a[b][c]` is one name (JSON:API 1.1, "Query Parameter Families"). */
export type QueryParameters = Readonly<Record<string, string>>;

/** The parameters of a query as it was sent, with or without its question mark. @throws {ApiError} 400 */
export function queryParametersOf(query: string): QueryParameters {
  const parsed = parseParameters(query.replace(/^\?/, ''));
  if (!parsed)
    throw refuse(400, 'invalid_query', 'The query holds too many parameters, or text that is not valid UTF-8.', { parameter: '' });
  const [repeated] = parsed.repeated;
  if (repeated !== undefined) throw badParameter(repeated.slice(0, 200), 'repeated_parameter', 'A parameter must not be sent twice.');
  return parsed.all;
}

/** Names with commas between them; an empty text is none (JSON:API 1.1, "Inclusion of Related Resources", "Sparse Fieldsets"). */
const namesIn = (text: string): readonly string[] => (text === '' ? [] : text.split(','));

function readInclude(call: Call, resource: Resource, text: string): IncludeTree {
  const paths = namesIn(text);
  if (paths.length > maxIncludePaths) throw badParameter('include', 'invalid_include', `At most ${maxIncludePaths} paths can be included.`);
  const tree: Record<string, IncludeTree> = named();
  for (const path of paths) {
    const names = path.split('.');
    if (names.length > maxIncludeDepth)
      throw badParameter('include', 'invalid_include', `"${path.slice(0, 100)}" goes deeper than ${maxIncludeDepth} relationships.`);
    let at: Record<string, IncludeTree> = tree;
    let current = resource;
    for (const name of names) {
      const relationship = Object.hasOwn(current.relationships, name) ? current.relationships[name] : undefined;
      if (!relationship?.include) {
        throw badParameter('include', 'invalid_include', `"${path.slice(0, 100)}" can not be included with a ${resource.type}.`);
      }
      current = targetOf(call.registry, relationship);
      const lacked = permissionsToFollow(call, relationship, current).filter((one) => !call.actor.permissions.has(one));
      if (lacked.length > 0) throw insufficientScope(lacked, 'include');
      at = (at[name] ??= {}) as Record<string, IncludeTree>;
    }
  }
  return tree;
}

function readFields(call: Call, parameter: string, type: string, text: string): ReadonlySet<string> {
  const target = call.registry.byType.get(type);
  if (!target) throw badParameter(parameter, 'unknown_type', `There is no type "${type.slice(0, 100)}".`);
  const names = namesIn(text);
  for (const name of names) {
    if (!Object.hasOwn(target.attributes.shape, name) && !Object.hasOwn(target.relationships, name)) {
      throw badParameter(parameter, 'unknown_field', `A ${type} has no field "${name.slice(0, 100)}".`);
    }
  }
  return new Set(names);
}

function readSort(resource: Resource, text: string): SortKey[] {
  const names = text.split(',');
  if (names.length > maxSorts) throw unsupportedSort(`At most ${maxSorts} fields can be sorted by.`);
  const seen = new Set<string>();
  return names.flatMap((name) => {
    const descending = name.startsWith('-');
    const field = descending ? name.slice(1) : name;
    const key = Object.hasOwn(resource.sorts, field) ? resource.sorts[field] : undefined;
    if (!key) throw unsupportedSort(`A list of ${resource.path} can be sorted by ${Object.keys(resource.sorts).join(', ')}.`);
    // Records that are equal by a field stay equal by it: a second time changes nothing.
    if (seen.has(field)) return [];
    seen.add(field);
    return [{ ...key, descending }];
  });
}

function readSize(text: string): number {
  const parameter = 'page[size]';
  if (!/^[0-9]+$/.test(text) || /^0*$/.test(text))
    throw badParameter(parameter, 'invalid_page_size', 'The page size must be a positive whole number.');
  if (Number(text) > maxSize) {
    const error = problem(400, 'page_too_large', `A page holds at most ${maxSize} records.`, { parameter }, { page: { maxSize } });
    throw new ApiError({ ...error, links: { type: `${cursorProfile}/max-size-exceeded` } });
  }
  return Number(text);
}

function readCursor(call: Call, list: string, sortText: string, parameter: string, text: string | undefined): ListPosition | null {
  if (text === undefined) return null;
  const position = decodeCursor(call.ctx, list, sortText, text);
  if (!position)
    throw badParameter(
      parameter,
      'invalid_cursor',
      'This is not a cursor of this list in this order; take it from a link of an earlier page.',
    );
  return position;
}

const filterName = /^filter\[([a-z_]+)\](?:\[([a-z]+)\])?$/;

type ReadFilter = { readonly name: string; readonly values: readonly unknown[]; readonly byIndex: boolean; readonly condition: Condition };

function readFilter(call: Call, resource: Resource, parameter: string, text: string): ReadFilter {
  const [, name = '', comparison = null] = filterName.exec(parameter) ?? [];
  const filter: Filter | undefined = Object.hasOwn(resource.filters, name) ? resource.filters[name] : undefined;
  const wellFormed =
    filter && (filter.comparisons ? comparison !== null && filter.comparisons.includes(comparison as 'gte') : comparison === null);
  if (!wellFormed) throw badParameter(parameter.slice(0, 200), 'unknown_filter', `A list of ${resource.path} can not be filtered by this.`);
  const values = filter.list === false ? [text] : text.split(',');
  if (values.length > maxFilterValues) throw badParameter(parameter, 'invalid_filter', `At most ${maxFilterValues} values can be given.`);
  const parsed = values.map((value) => filter.schema.safeParse(value));
  const failed = parsed.find((result) => !result.success);
  if (failed && !failed.success)
    throw badParameter(parameter, 'invalid_filter', `The value does not fit this filter: ${failed.error.issues[0]?.message ?? 'invalid'}.`);
  const known = parsed.map((result) => result.data);
  const lacked = (filter.needs?.(known) ?? []).filter((one) => !call.actor.permissions.has(one));
  if (lacked.length > 0) throw insufficientScope([...new Set(lacked)], parameter);
  const condition = filter.condition(call.ctx, known, comparison as 'gte' | null);
  return { name, values: known, byIndex: filter.byIndex === true, condition };
}

const cursors = new Set(['page[after]', 'page[before]']);

/**
 * Reads the query of a request strictly: what the endpoint doesn't understand is refused with 400 (JSON:API 1.1, "Query Parameters").
 * @param list names the list that cursors belong to: the path of the collection
 * @throws {ApiError} 400; 403 when something is to be included that the actor may not read
 */
export function readQuery(call: Call, names: QueryParameters, rules: QueryRules, list: string): Query {
  const { resource } = rules;
  const known = { include: false, sort: false };
  const fields = new Map<string, ReadonlySet<string>>();
  const filters: ReadFilter[] = [];
  for (const [name, value] of Object.entries(names)) {
    const type = /^fields\[(.*)\]$/.exec(name)?.[1];
    if (name === 'include' && resource && !rules.linkage) known.include = true;
    else if (name === 'sort' && resource && rules.list && !rules.linkage) known.sort = true;
    else if (type !== undefined && resource && !rules.linkage) fields.set(type, readFields(call, name.slice(0, 200), type, value));
    else if (name.startsWith('filter[') && resource && rules.list && !rules.linkage) filters.push(readFilter(call, resource, name, value));
    else if ((name === 'page[size]' || cursors.has(name)) && rules.list) continue;
    else if (name === 'include') throw badParameter('include', 'invalid_include', 'This address does not support include.');
    else if (name === 'sort') throw unsupportedSort('This address can not be sorted.');
    else throw badParameter(name.slice(0, 200), 'unknown_parameter', 'This address does not know this parameter.');
  }
  const sortText = names['sort'] ?? resource?.defaultSort ?? '-created_at';
  const isIndexed =
    !resource || !rules.list || isIndexedOrder(resource, filters.map(({ name }) => name), sortText); // prettier-ignore
  const conditionsOf = (some: readonly ReadFilter[]) => some.map(({ condition }) => condition);
  const parameters = Object.entries(names).filter(([name]) => !cursors.has(name));
  const isFeed = resource?.isFeed === true && rules.list && names['sort'] === undefined && names['page[before]'] === undefined;
  return {
    include: known.include && resource ? readInclude(call, resource, names['include'] as string) : null,
    fields,
    conditions: conditionsOf(filters),
    sorted: isIndexed ? null : conditionsOf(filters.filter(({ byIndex }) => byIndex)),
    sort: resource && rules.list ? readSort(resource, sortText) : [],
    sortText,
    size: names['page[size]'] === undefined ? defaultSize : readSize(names['page[size]']),
    after: isFeed ? null : readCursor(call, list, sortText, 'page[after]', names['page[after]']),
    followed: isFeed
      ? {
          position: feedPosition(call.ctx, names['page[after]'] ?? 'oldest', { parameter: 'page[after]' }),
          named: (filters.find(({ name }) => name === 'event_type')?.values as string[] | undefined) ?? null,
        }
      : null,
    before: readCursor(call, list, sortText, 'page[before]', names['page[before]']),
    parameters,
  };
}

/** What a stream of the feed is asked for; where a reader was before wins over where it was first. @throws {ApiError} 400, 403 */
export function followedOf(call: Call, resource: Resource, names: QueryParameters, lastEventId: string | string[] | undefined): Followed {
  const unknown = Object.keys(names).find((name) => name !== 'page[after]' && name !== 'filter[event_type]');
  if (unknown !== undefined) throw badParameter(unknown.slice(0, 200), 'unknown_parameter', 'A stream does not know this parameter.');
  const given = lastEventId ? named({ ...names, 'page[after]': String(lastEventId) }) : names;
  return readQuery(call, given, { resource, list: true }, resource.path).followed as Followed;
}
