import { authorizeRead } from './authorize.js';
import { apiRoot, type Call } from './call.js';
import { encodeCursor } from './cursor.js';
import { feedCursor, nextPage, type Followed } from './feed.js';
import { compound, documentOf, identifier, selfLink, type Composed, type Identifier, type ResourceObject } from './documents.js';
import { requireSortable } from './list-order.js';
import { notFound } from './problems.js';
import { readQuery, type Query, type QueryParameters } from './query.js';
import { countRecords, findRecord, findRecords, listRecords } from './records.js';
import { relatedTo } from './related.js';
import { reported } from './reported.js';
import { permissionsToFollow, requireFollowed } from './within-organization.js';
import { targetOf, versionOf, type Relationship, type Resource, type ResourceRow, type ToOne } from './resource.js';
import type { Condition } from '../db/lists/list-source.js';

/** What a read is asked for beside its address. */
export type ReadRequest = {
  /** The query parameters, read once the permissions are there. */
  parameters(): QueryParameters;
  /** The query as it was sent, for `links.self`. */
  readonly sent: string;
};

/** Where the pages around a list begin; null at its ends. */
export type Cursors = { readonly previous: string | null; readonly next: string | null };

export type ComposedList<Data = ResourceObject> = Composed<readonly Data[]> & { readonly cursors: Cursors };

/** A list that is read: whose records, at which address, and the name that its cursors are bound to. */
type List = { readonly target: Resource; readonly address: string; readonly name: string; readonly conditions: readonly Condition[] };

const withQuery = (address: string, query: Query, extra: readonly (readonly [string, string])[] = []) => {
  const parameters = new URLSearchParams(
    [...query.parameters, ...extra].map(([name, value]): [string, string] => [name, value]),
  ).toString();
  return parameters === '' ? address : `${address}?${parameters}`;
};

const seen = ({ actor }: Call, { seenBy }: Resource): Condition[] => (seenBy ? [seenBy(actor)] : []);

/** A page of the events feed: it always goes on. */
async function feedOf(call: Call, address: string, query: Query, followed: Followed, sent: string) {
  const { events, position, more } = await nextPage(call, followed, query.size);
  const next = withQuery(address, query, [['page[after]', feedCursor(call.ctx, position)]]);
  const links = { self: `${address}${sent}`, first: withQuery(address, query, [['page[after]', 'oldest']]), prev: null, next };
  return {
    rows: events as readonly ResourceRow[],
    cursors: { previous: null, next: null },
    links,
    meta: { page: { size: query.size }, more },
  };
}

const page = (call: Call, list: List, query: Query, sent: string) =>
  query.followed ? feedOf(call, list.address, query, query.followed, sent) : reported(call, (there) => pageOf(there, list, query, sent));

/** The page, its cursors and the links around it (JSON:API 1.1 "Pagination", cursor pagination profile). */
async function pageOf(call: Call, { target, address, name, conditions }: List, query: Query, sent: string) {
  if (query.sorted) await requireSortable(call.ctx, target, [...conditions, ...query.sorted]);
  const { rows, more } = await listRecords(call.ctx, target, query, [...conditions, ...seen(call, target)]);
  const [first, last] = [rows[0], rows.at(-1)];
  const cursor = (position: { values: readonly string[]; id: string }) => encodeCursor(call.ctx, name, query.sortText, position);
  const backwards = query.before !== null && query.after === null;
  const hasNext = backwards || more;
  const hasPrevious = backwards ? more : query.after !== null;
  const cursors: Cursors = {
    previous: hasPrevious && first ? cursor(first.position) : null,
    next: hasNext && last ? cursor(last.position) : null,
  };
  const links = {
    self: `${address}${sent}`,
    first: withQuery(address, query),
    prev: cursors.previous === null ? null : withQuery(address, query, [['page[before]', cursors.previous]]),
    next: cursors.next === null ? null : withQuery(address, query, [['page[after]', cursors.next]]),
  };
  return { rows: rows.map(({ row }) => row), cursors, links, meta: { page: { size: query.size } } };
}

const listQuery = (call: Call, target: Resource, name: string, request: ReadRequest) =>
  readQuery(call, request.parameters(), { resource: target, list: true }, name);

async function composeList(call: Call, list: List, query: Query, sent: string): Promise<ComposedList> {
  const { rows, cursors, links, meta } = await page(call, list, query, sent);
  const { data, included } = await compound(call, list.target, rows, query);
  return { document: documentOf(call, { links, data, included, meta }), version: null, cursors };
}

/** `GET /api/{path}`. @throws {ApiError} 400, 403 */
export async function readList(call: Call, resource: Resource, request: ReadRequest): Promise<ComposedList> {
  await authorizeRead(call, resource, null);
  const { path } = resource;
  const list: List = { target: resource, address: `${apiRoot(call)}/${path}`, name: path, conditions: [] };
  return composeList(call, list, listQuery(call, resource, path, request), request.sent);
}

/** How many records `GET /api/{path}` has under the same filters, counted up to `most`; null where that can't be told in time. @throws {ApiError} 400, 403 */
export async function countList(call: Call, resource: Resource, request: ReadRequest, most: number): Promise<number | null> {
  await authorizeRead(call, resource, null);
  const query = listQuery(call, resource, resource.path, request);
  const counted = { ...query, conditions: [...query.conditions, ...seen(call, resource)] };
  return reported(call, ({ ctx }) => countRecords(ctx, resource, counted, most));
}

/** One record as a document, also after a write, with what only that answer shows. */
export async function composeRecord(
  call: Call,
  resource: Resource,
  row: ResourceRow,
  query: Pick<Query, 'include' | 'fields'>,
  answer: { self: string; once?: Record<string, unknown> | undefined; meta?: Record<string, unknown> | undefined },
): Promise<Composed<ResourceObject>> {
  const { data, included } = await compound(call, resource, [row], query, answer.once ?? {});
  const document = documentOf(call, { links: { self: answer.self }, data: data[0] as ResourceObject, included, meta: answer.meta });
  return { document, version: versionOf(row) };
}

/** The record of the id. @throws {ApiError} 404 */
async function requireRow(call: Call, resource: Resource, id: string): Promise<ResourceRow> {
  const row = await findRecord(call.ctx, resource, id);
  if (!row || !seen(call, resource).every(({ fits }) => fits?.(row))) throw notFound();
  return row;
}

/** `GET /api/{path}/{id}`. @throws {ApiError} 400, 403, 404 */
export async function readOne(
  call: Call,
  resource: Resource,
  id: string,
  request: ReadRequest,
): Promise<Composed<ResourceObject> & { readonly row: ResourceRow }> {
  await authorizeRead(call, resource, id);
  const query = readQuery(call, request.parameters(), { resource, list: false }, '');
  const row = await requireRow(call, resource, id);
  return { ...(await composeRecord(call, resource, row, query, { self: `${selfLink(call, resource, id)}${request.sent}` })), row };
}

function relationshipOf<Kind extends Relationship['kind']>(resource: Resource, name: string, kind: Kind) {
  const relationship = resource.relationships[name];
  if (relationship?.kind !== kind) throw notFound();
  return relationship as Extract<Relationship, { kind: Kind }>;
}

const listNameOf = (resource: Resource, id: string, name: string) => `${resource.path}/${id}/${name}`;

/** `GET /api/{path}/{id}/{relationship}` of a to-many relationship: a page of the related records. @throws {ApiError} 400, 403, 404 */
export async function readRelatedList(
  call: Call,
  resource: Resource,
  id: string,
  name: string,
  request: ReadRequest,
): Promise<ComposedList> {
  const relationship = relationshipOf(resource, name, 'many');
  const target = targetOf(call.registry, relationship);
  await authorizeRead(call, resource, id, ...permissionsToFollow(call, relationship, target));
  const listName = listNameOf(resource, id, name);
  const query = listQuery(call, target, listName, request);
  const conditions = [relatedTo(resource, await requireRow(call, resource, id), relationship, target)];
  const address = `${selfLink(call, resource, id)}/${name}`;
  return composeList(call, { target, address, name: listName, conditions }, query, request.sent);
}

async function targetOfOne(call: Call, relationship: ToOne, target: Resource, row: ResourceRow): Promise<ResourceRow | null> {
  const id = row[relationship.column];
  if (id === null || id === undefined) return null;
  return (await findRecords(call.ctx, target, [String(id as string)]))[0] ?? null;
}

/** The same of a to-one relationship: the related record, or null. @throws {ApiError} 400, 403, 404 */
export async function readRelatedOne(
  call: Call,
  resource: Resource,
  id: string,
  name: string,
  request: ReadRequest,
): Promise<Composed<ResourceObject | null>> {
  const relationship = relationshipOf(resource, name, 'one');
  const target = targetOf(call.registry, relationship);
  await authorizeRead(call, resource, id, ...permissionsToFollow(call, relationship, target));
  const query = readQuery(call, request.parameters(), { resource: target, list: false }, '');
  const one = await targetOfOne(call, relationship, target, await requireRow(call, resource, id));
  const self = `${selfLink(call, resource, id)}/${name}${request.sent}`;
  if (one) return composeRecord(call, target, one, query, { self });
  return { document: documentOf(call, { links: { self }, data: null, included: query.include ? [] : undefined }), version: null };
}

/** `GET /api/{path}/{id}/relationships/{relationship}`: linkage alone. @throws {ApiError} 400, 403, 404 */
export async function readLinkage(
  call: Call,
  resource: Resource,
  id: string,
  relationship: Relationship,
  name: string,
  request: ReadRequest,
): Promise<Composed<Identifier | null | readonly Identifier[]>> {
  const target = targetOf(call.registry, relationship);
  const isList = relationship.kind === 'many';
  // What a list of them tells takes the permission to read them; the one is a column of the record.
  await authorizeRead(call, resource, id, ...(isList ? permissionsToFollow(call, relationship, target) : []));
  if (isList) requireFollowed(call, target);
  const listName = listNameOf(resource, id, name);
  const rules = { resource: target, list: isList, linkage: true };
  const query = readQuery(call, request.parameters(), rules, listName);
  const row = await requireRow(call, resource, id);
  const related = `${selfLink(call, resource, id)}/${name}`;
  const address = `${selfLink(call, resource, id)}/relationships/${name}`;
  if (relationship.kind === 'one') {
    const targetId = row[relationship.column];
    const data = targetId === null || targetId === undefined ? null : { type: target.type, id: String(targetId as string) };
    return { document: documentOf(call, { links: { self: `${address}${request.sent}`, related }, data }), version: versionOf(row) };
  }
  const conditions = [relatedTo(resource, row, relationship, target)];
  const { rows, links, meta } = await page(call, { target, address, name: listName, conditions }, query, request.sent);
  const data = rows.map((one) => identifier(target, one));
  return { document: documentOf(call, { links: { ...links, related }, data, meta }), version: versionOf(row) };
}

/** `Location` and `links.self` of a created record: the same bytes (JSON:API 1.1, "Creating Resources"). */
export const locationOf = (call: Call, resource: Resource, id: string): string =>
  resource.routed === false ? apiRoot(call) : selfLink(call, resource, id);
