import type { Value } from '../page-parts.js';
import { terms } from '../words.js';
import { named } from '../../../lib/named.js';
import type { Call } from '../../../management/call.js';
import type { Identifier, ResourceObject } from '../../../management/documents.js';
import { notFound } from '../../../management/problems.js';
import { countList, readList, readOne, readRelatedList, type ReadRequest, type ComposedList } from '../../../management/read.js';
import { permissionFor, type Resource, type ResourceRow } from '../../../management/resource.js';

/** One page of a list; the cursors are null at its ends. */
export type Listing = {
  readonly records: readonly ResourceObject[];
  readonly included: readonly ResourceObject[];
  readonly previous: string | null;
  readonly next: string | null;
  /** Values that columns show beside the records, by record id. */
  readonly extras?: ReadonlyMap<string, Value>;
  /** Ids of those that a configuration document manages. */
  readonly managed?: ReadonlySet<string>;
};

/** What a page asks of a list, in the words of the API: `filter[status]` is `filters.status`, `filter[created_at][gte]` `filters['created_at][gte']`. */
export type ListQuery = {
  readonly filters?: Readonly<Record<string, string | undefined>>;
  readonly sort?: string | undefined;
  readonly include?: string | undefined;
  readonly size?: number | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
};

export function may(call: Call, path: string, verb: 'read' | 'write'): boolean {
  const resource = call.registry.byPath.get(path) ?? [...call.registry.byType.values()].find((one) => one.path === path);
  return resource !== undefined && call.actor.permissions.has(permissionFor(resource, verb));
}

/** The resource of a collection. @throws {ApiError} 404 */
export function resourceOf(call: Call, path: string): Resource {
  const resource = call.registry.byPath.get(path);
  if (!resource) throw notFound(terms.nothing_here);
  return resource;
}

function parametersOf(listQuery: ListQuery): ReadRequest {
  const parameters = Object.entries({
    ...Object.fromEntries(Object.entries(listQuery.filters ?? {}).map(([name, value]) => [`filter[${name}]`, value])),
    sort: listQuery.sort,
    include: listQuery.include,
    'page[size]': listQuery.size?.toString(),
    'page[after]': listQuery.after,
    'page[before]': listQuery.before,
  }).filter((one): one is [string, string] => Boolean(one[1]));
  return { parameters: () => named(Object.fromEntries(parameters)), sent: '' };
}

const listingOf = ({ document: { data, included = [] }, cursors }: ComposedList): Listing => ({ records: data, included, ...cursors });

/** One page of a collection. @throws {ApiError} 400, 403 */
export const listOf = async (call: Call, path: string, listQuery: ListQuery = {}): Promise<Listing> =>
  listingOf(await readList(call, resourceOf(call, path), parametersOf(listQuery)));

/** The most records that are counted for a list's total. */
export const maxListed = 10_000;

/** How many records the list has under its filters, up to one beyond {@link maxListed}; null where that can't be told in time. @throws {ApiError} 400, 403 */
export const totalOf = (call: Call, path: string, { filters }: ListQuery): Promise<number | null> =>
  countList(call, resourceOf(call, path), parametersOf(filters === undefined ? {} : { filters }), maxListed + 1);

/** One record, with what it includes and, for a write that follows, its row. @throws {ApiError} 403, 404 */
export async function recordOf(
  call: Call,
  path: string,
  id: string,
  include?: string,
): Promise<{ record: ResourceObject; included: readonly ResourceObject[]; row: ResourceRow }> {
  const { document, row } = await readOne(call, resourceOf(call, path), id, parametersOf({ include }));
  return { record: document.data, included: document.included ?? [], row };
}

/** One page of what a to-many relationship of a record links to. @throws {ApiError} 400, 403, 404 */
export const relatedOf = async (call: Call, path: string, id: string, name: string, listQuery: ListQuery = {}): Promise<Listing> =>
  listingOf(await readRelatedList(call, resourceOf(call, path), id, name, parametersOf(listQuery)));

/** The record that a to-one relationship links to, among those that came along. */
export function includedRecord(record: ResourceObject, name: string, included: readonly ResourceObject[]): ResourceObject | null {
  const data = record.relationships?.[name]?.data;
  if (!data || Array.isArray(data)) return null;
  const { type, id } = data as Identifier;
  return included.find((one) => one.type === type && one.id === id) ?? null;
}

export function relatedId(record: ResourceObject, name: string): string | null {
  const data = record.relationships?.[name]?.data;
  return data && !Array.isArray(data) ? (data as Identifier).id : null;
}

export function relatedIds(record: ResourceObject, name: string): string[] {
  const data = record.relationships?.[name]?.data;
  return Array.isArray(data) ? (data as readonly Identifier[]).map((one) => one.id) : [];
}

/** The version of a record, for a form that must not overwrite somebody else's change. */
export const recordVersion = (record: ResourceObject): number => record.meta?.version ?? 1;
