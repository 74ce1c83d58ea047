import type { Call } from './call.js';
import { apiRoot } from './call.js';
import { encodeCursor } from './cursor.js';
import { compound, documentOf, etagOf, identifier, selfLink } from './documents.js';
import { requirePermissions } from './operations.js';
import { notFound } from './problems.js';
import type { Query } from './query.js';
import { findRecord, findRecords, listRecords } from './records.js';
import { relatedTo } from './related.js';
import { documentReply, type Reply } from './reply.js';
import { permissionFor, targetOf, versionOf, type Resource, type Row, type ToMany, type ToOne } from './resource.js';
import type { Condition } from '../db/list.js';

const withQuery = (address: string, query: Query, extra: readonly (readonly [string, string])[] = []) => {
  const parameters = new URLSearchParams([...query.kept, ...extra].map(([name, value]): [string, string] => [name, value])).toString();
  return parameters === '' ? address : `${address}?${parameters}`;
};

const withEtag = (reply: Reply, version: number | null): Reply => ({
  ...reply,
  headers: { ...reply.headers, ETag: etagOf(reply.body, version) },
});

/** The page and the links around it (JSON:API 1.1 "Pagination", cursor pagination profile). */
async function page(
  call: Call,
  resource: Resource,
  address: string,
  list: string,
  query: Query,
  self: string,
  within: readonly Condition[],
) {
  const found = await listRecords(call.ctx, resource, query, within);
  const { rows, more } = found;
  const [first, last] = [rows[0], rows.at(-1)];
  const cursor = (position: { values: readonly string[]; id: string }) => encodeCursor(call.ctx, list, query.sortText, position);
  const backwards = query.before !== null && query.after === null;
  const hasNext = backwards || more;
  const hasPrevious = backwards ? more : query.after !== null;
  const links = {
    self,
    first: withQuery(address, query),
    prev: hasPrevious && first ? withQuery(address, query, [['page[before]', cursor(first.position)]]) : null,
    next: hasNext && last ? withQuery(address, query, [['page[after]', cursor(last.position)]]) : null,
  };
  return { rows: rows.map(({ row }) => row), links, meta: { page: { size: query.size } } };
}

/** `GET /api/{path}`, and the records of a to-many relationship. `raw` is the query as it was sent, for `links.self`. */
export async function readList(
  call: Call,
  resource: Resource,
  address: string,
  list: string,
  query: Query,
  raw: string,
  within: readonly Condition[] = [],
): Promise<Reply> {
  const { rows, links, meta } = await page(call, resource, address, list, query, `${address}${raw}`, within);
  const { data, included } = await compound(call, resource, rows, query);
  return withEtag(documentReply(200, documentOf(call, { links, data, included, meta })), null);
}

/** One record as an answer, also after a write (`status` and what only this answer shows). */
export async function recordReply(
  call: Call,
  resource: Resource,
  row: Row,
  query: Pick<Query, 'include' | 'fields'>,
  answer: {
    status?: number;
    self: string;
    once?: Record<string, unknown> | undefined;
    meta?: Record<string, unknown> | undefined;
    headers?: Record<string, string>;
  },
): Promise<Reply> {
  const { data, included } = await compound(call, resource, [row], query, answer.once ?? {});
  const document = documentOf(call, { links: { self: answer.self }, data: data[0], included, meta: answer.meta });
  return withEtag(documentReply(answer.status ?? 200, document, answer.headers), versionOf(row));
}

/** `GET /api/{path}/{id}`. */
export async function readOne(call: Call, resource: Resource, id: string, query: Query, raw: string): Promise<Reply> {
  const row = await findRecord(call.ctx, resource, id);
  if (!row) throw notFound();
  return recordReply(call, resource, row, query, { self: `${selfLink(call, resource, id)}${raw}` });
}

async function targetOfOne(call: Call, relationship: ToOne, target: Resource, row: Row): Promise<Row | null> {
  const id = row[relationship.column];
  if (id === null || id === undefined) return null;
  return (await findRecords(call.ctx, target, [String(id as string)]))[0] ?? null;
}

/** `GET /api/{path}/{id}/{relationship}`: the related records themselves. */
export async function readRelated(call: Call, resource: Resource, id: string, name: string, query: Query, raw: string): Promise<Reply> {
  const row = await findRecord(call.ctx, resource, id);
  const relationship = resource.relationships[name];
  if (!row || !relationship) throw notFound();
  const target = targetOf(call.registry, relationship);
  requirePermissions(call, permissionFor(target, 'read'));
  const address = `${selfLink(call, resource, id)}/${name}`;
  if (relationship.kind === 'many') {
    return readList(call, target, address, `${resource.path}/${id}/${name}`, query, raw, [relatedTo(resource, row, relationship, target)]);
  }
  const one = await targetOfOne(call, relationship, target, row);
  if (one) return recordReply(call, target, one, query, { self: `${address}${raw}` });
  const empty = { links: { self: `${address}${raw}` }, data: null, included: query.include ? [] : undefined };
  return withEtag(documentReply(200, documentOf(call, empty)), null);
}

/** `GET /api/{path}/{id}/relationships/{relationship}`: linkage alone. */
export async function readLinkage(call: Call, resource: Resource, id: string, name: string, query: Query, raw: string): Promise<Reply> {
  const row = await findRecord(call.ctx, resource, id);
  const relationship = resource.relationships[name];
  if (!row || !relationship) throw notFound();
  const target = targetOf(call.registry, relationship);
  const self = selfLink(call, resource, id);
  const address = `${self}/relationships/${name}`;
  const related = `${self}/${name}`;
  if (relationship.kind === 'one') {
    const targetId = row[relationship.column];
    const data = targetId === null || targetId === undefined ? null : { type: target.type, id: String(targetId as string) };
    return withEtag(documentReply(200, documentOf(call, { links: { self: `${address}${raw}`, related }, data })), versionOf(row));
  }
  return linkagePage(call, resource, row, relationship, target, { address, related, list: `${resource.path}/${id}/${name}` }, query, raw);
}

async function linkagePage(
  call: Call,
  resource: Resource,
  row: Row,
  relationship: ToMany,
  target: Resource,
  at: { address: string; related: string; list: string },
  query: Query,
  raw: string,
): Promise<Reply> {
  const within = [relatedTo(resource, row, relationship, target)];
  const { rows, links, meta } = await page(call, target, at.address, at.list, query, `${at.address}${raw}`, within);
  const data = rows.map((one) => identifier(target, one));
  return withEtag(documentReply(200, documentOf(call, { links: { ...links, related: at.related }, data, meta })), versionOf(row));
}

/** `Location` and `links.self` of a created record: the same bytes (JSON:API 1.1, "Creating Resources"). */
export const locationOf = (call: Call, resource: Resource, id: string): string =>
  resource.routed === false ? apiRoot(call) : selfLink(call, resource, id);
