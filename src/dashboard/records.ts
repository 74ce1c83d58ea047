import type { Value } from './page-parts.js';
import { apiRoot, type Call } from '../management/call.js';
import { requirePermissions } from '../management/operations.js';
import { notFound } from '../management/problems.js';
import { readQuery } from '../management/query.js';
import { readList, readOne, readRelated } from '../management/read.js';
import { permissionFor, targetOf, type Resource } from '../management/resource.js';

type Linkage = { readonly type: string; readonly id: string };

/** A record as the Management API shows it, which is all that pages ever see of one. */
export type Shown = {
  readonly type: string;
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, { readonly data?: Linkage | null | readonly Linkage[] }>>;
  readonly meta?: { readonly version?: number };
};

/** One page of a list; the cursors are null at its ends. */
export type Listing = {
  readonly records: readonly Shown[];
  readonly included: readonly Shown[];
  readonly previous: string | null;
  readonly next: string | null;
  /** What the rows show beside their records, by id. */
  readonly beside?: ReadonlyMap<string, Value>;
};

/** What a page asks of a list, in the words of the API: `filter[status]` is `filters.status`, `filter[created_at][gte]` `filters['created_at][gte']`. */
export type Asked = {
  readonly filters?: Readonly<Record<string, string | undefined>>;
  readonly sort?: string | undefined;
  readonly include?: string | undefined;
  readonly size?: number | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
};

type Document = { data: Shown | Shown[] | null; included?: Shown[]; links?: { prev?: string | null; next?: string | null } };

/** Whether the actor may read or write the collection. */
export function may(call: Call, path: string, verb: 'read' | 'write'): boolean {
  const resource = call.registry.byPath.get(path) ?? [...call.registry.byType.values()].find((one) => one.path === path);
  return resource !== undefined && call.actor.permissions.has(permissionFor(resource, verb));
}

/** The resource of a collection. @throws {ApiError} 404 */
export function resourceOf(call: Call, path: string): Resource {
  const resource = call.registry.byPath.get(path);
  if (!resource) throw notFound('There is nothing at this address.');
  return resource;
}

function queryText(asked: Asked): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(asked.filters ?? {})) if (value) parameters.set(`filter[${name}]`, value);
  if (asked.sort) parameters.set('sort', asked.sort);
  if (asked.include) parameters.set('include', asked.include);
  if (asked.size) parameters.set('page[size]', String(asked.size));
  if (asked.after) parameters.set('page[after]', asked.after);
  if (asked.before) parameters.set('page[before]', asked.before);
  return parameters.toString();
}

const cursorOf = (address: string | null | undefined, name: string): string | null =>
  address ? new URL(address, 'http://own.invalid').searchParams.get(name) : null;

function listingOf(body: string): Listing {
  const { data, included = [], links } = JSON.parse(body) as Document;
  return {
    records: Array.isArray(data) ? data : [],
    included,
    previous: cursorOf(links?.prev, 'page[before]'),
    next: cursorOf(links?.next, 'page[after]'),
  };
}

/** One page of a collection. @throws {ApiError} 400, 403 */
export async function listOf(call: Call, path: string, asked: Asked = {}): Promise<Listing> {
  const resource = resourceOf(call, path);
  requirePermissions(call, permissionFor(resource, 'read'));
  const text = queryText(asked);
  const query = readQuery(call, text, { resource, list: true }, path);
  return listingOf((await readList(call, resource, `${apiRoot(call)}/${path}`, path, query, `?${text}`)).body);
}

/** One record, with what it includes. @throws {ApiError} 403, 404 */
export async function recordOf(
  call: Call,
  path: string,
  id: string,
  include?: string,
): Promise<{ record: Shown; included: readonly Shown[] }> {
  const resource = resourceOf(call, path);
  requirePermissions(call, permissionFor(resource, 'read'));
  const query = readQuery(call, queryText({ include }), { resource, list: false }, '');
  const { data, included = [] } = JSON.parse((await readOne(call, resource, id, query, '')).body) as Document;
  return { record: data as Shown, included };
}

/** One page of what a to-many relationship of a record links to. @throws {ApiError} 400, 403, 404 */
export async function relatedOf(call: Call, path: string, id: string, name: string, asked: Asked = {}): Promise<Listing> {
  const resource = resourceOf(call, path);
  const relationship = resource.relationships[name];
  if (!relationship) throw notFound();
  requirePermissions(call, permissionFor(resource, 'read'));
  const list = `${path}/${id}/${name}`;
  const query = readQuery(call, queryText(asked), { resource: targetOf(call.registry, relationship), list: true }, list);
  return listingOf((await readRelated(call, resource, id, name, query, '')).body);
}

/** The record that a to-one relationship links to, among those that came along. */
export function linkedTo(record: Shown, name: string, included: readonly Shown[]): Shown | null {
  const data = record.relationships?.[name]?.data;
  if (!data || Array.isArray(data)) return null;
  const { type, id } = data as Linkage;
  return included.find((one) => one.type === type && one.id === id) ?? null;
}

/** The id that a to-one relationship holds, or null. */
export function linkedId(record: Shown, name: string): string | null {
  const data = record.relationships?.[name]?.data;
  return data && !Array.isArray(data) ? (data as Linkage).id : null;
}

/** The ids that a loaded to-many relationship holds. */
export function linkedIds(record: Shown, name: string): string[] {
  const data = record.relationships?.[name]?.data;
  return Array.isArray(data) ? (data as Linkage[]).map((one) => one.id) : [];
}

/** The version of a record, for a form that must not overwrite somebody else's change. */
export const versionOf = (record: Shown): number => record.meta?.version ?? 1;
