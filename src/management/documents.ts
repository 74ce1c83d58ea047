import { createHash } from 'node:crypto';
import { apiRoot, type Call } from './call.js';
import type { IncludeTree, Query } from './query.js';
import { shownTo } from './within-organization.js';
import { loadRelated } from './related.js';
import { idOf, targetOf, versionOf, type Resource, type ResourceRow } from './resource.js';

type Json = Record<string, unknown>;

export type Identifier = { readonly type: string; readonly id: string };

/** A resource object as answers show a record; `data` of a to-many relationship is there when it was included. */
export type ResourceObject = Identifier & {
  readonly attributes: Readonly<Json>;
  readonly relationships?: Readonly<Record<string, { readonly data?: Identifier | null | readonly Identifier[] }>>;
  readonly links?: { readonly self: string };
  readonly meta?: { readonly version: number };
};

/** The top-level object of an answer (JSON:API 1.1, "Top Level"). */
export type Document<Data = unknown> = {
  readonly jsonapi: { readonly version: '1.1' };
  readonly links: Readonly<Json>;
  readonly data: Data;
  readonly included?: readonly ResourceObject[];
  readonly meta?: Readonly<Json>;
};

/** A document before it is sent, with the version of the record that it is about; null when it is about a list. */
export type Composed<Data = unknown> = { readonly document: Document<Data>; readonly version: number | null };

export const identifier = (resource: Resource, row: ResourceRow): Identifier => ({ type: resource.type, id: idOf(resource, row) });

/** `/api/{path}/{id}` of a record, for resources that have an address. */
export const selfLink = (call: Pick<Call, 'ctx'>, resource: Resource, id: string) =>
  `${apiRoot(call)}/${resource.path}/${encodeURIComponent(id)}`;

const wire = (value: unknown): unknown => {
  if (value instanceof Date) return value.toISOString();
  return value === undefined ? null : value;
};

/** The attributes of a record as answers show them; nothing that isn't listed leaves the process. */
export function attributesOf(call: Pick<Call, 'ctx' | 'actor'>, resource: Resource, row: ResourceRow): Json {
  const attributes: Json = {};
  for (const name of shownTo(call, resource)) {
    const compute = resource.computed?.[name];
    attributes[name] = wire(compute ? compute(row, call.ctx, call.actor) : row[name]);
  }
  return attributes;
}

/** What the relationships of a record link to, known for those that were loaded. */
type Linkage = ReadonlyMap<string, readonly ResourceRow[]>;

function relationshipsOf(call: Call, resource: Resource, row: ResourceRow, linkage: Linkage): NonNullable<ResourceObject['relationships']> {
  const self = selfLink(call, resource, idOf(resource, row));
  const relationships: Record<string, { data?: Identifier | null | readonly Identifier[] }> = {};
  for (const [name, relationship] of Object.entries(resource.relationships)) {
    const target = targetOf(call.registry, relationship);
    const links = resource.routed === false ? {} : { links: { self: `${self}/relationships/${name}`, related: `${self}/${name}` } };
    const loaded = linkage.get(name);
    let data: { data?: Identifier | null | readonly Identifier[] } = {};
    if (relationship.kind === 'one') {
      const id = row[relationship.column];
      data = { data: id === null || id === undefined ? null : { type: target.type, id: String(id as string) } };
    } else if (loaded) data = { data: loaded.map((one) => identifier(target, one)) };
    relationships[name] = { ...links, ...data };
  }
  return relationships;
}

const onlyNamed = <T>(members: Readonly<Record<string, T>>, fields: ReadonlySet<string> | undefined): Readonly<Record<string, T>> =>
  fields ? Object.fromEntries(Object.entries(members).filter(([name]) => fields.has(name))) : members;

function resourceObject(
  call: Call,
  resource: Resource,
  row: ResourceRow,
  fields: Query['fields'],
  linkage: Linkage = new Map(),
  once: Json = {},
): ResourceObject {
  const named = fields.get(resource.type);
  const attributes = { ...onlyNamed(attributesOf(call, resource, row), named), ...once };
  const relationships = onlyNamed(relationshipsOf(call, resource, row, linkage), named);
  return {
    ...identifier(resource, row),
    attributes,
    ...(Object.keys(relationships).length > 0 ? { relationships } : {}),
    ...(resource.routed === false ? {} : { links: { self: selfLink(call, resource, idOf(resource, row)) } }),
    meta: { version: versionOf(row) },
  };
}

/** Records to be shown and what else must be known of them: a compound document in the making. */
type Shown = { readonly resource: Resource; readonly row: ResourceRow; readonly linkage: Map<string, readonly ResourceRow[]> };
type Loading = {
  /** In the order in which they were found. */
  readonly shown: Map<string, Shown>;
};

const nameOf = (resource: Resource, row: ResourceRow) => `${resource.type} ${idOf(resource, row)}`;

function note(loading: Loading, resource: Resource, row: ResourceRow): Map<string, readonly ResourceRow[]> {
  const name = nameOf(resource, row);
  const known = loading.shown.get(name);
  if (known) return known.linkage;
  const linkage = new Map<string, readonly ResourceRow[]>();
  loading.shown.set(name, { resource, row, linkage });
  return linkage;
}

async function follow(call: Call, loading: Loading, resource: Resource, rows: readonly ResourceRow[], tree: IncludeTree): Promise<void> {
  for (const [name, below] of Object.entries(tree)) {
    const relationship = resource.relationships[name];
    if (!relationship) continue;
    const target = targetOf(call.registry, relationship);
    const related = await loadRelated(call.ctx, call.registry, resource, relationship, rows);
    const next = new Map<string, ResourceRow>();
    for (const row of rows) {
      const found = related.get(idOf(resource, row)) ?? [];
      note(loading, resource, row).set(name, found);
      for (const one of found) {
        note(loading, target, one);
        next.set(idOf(target, one), one);
      }
    }
    await follow(call, loading, target, [...next.values()], below);
  }
}

/** The rows of resources that complete theirs, as they are shown. */
async function completedRows({ ctx }: Call, { shown }: Loading): Promise<ReadonlyMap<ResourceRow, ResourceRow>> {
  const all = [...shown.values()];
  const pairs = [...new Set(all.map(({ resource }) => resource))].map(async (resource) => {
    if (!resource.completed) return [];
    const rows = all.filter((one) => one.resource === resource).map(({ row }) => row);
    return (await resource.completed(ctx, rows)).map((row, index) => [rows[index] as ResourceRow, row] as const);
  });
  return new Map((await Promise.all(pairs)).flat());
}

/**
 * The `data` and, when asked for, `included` of a document: full linkage, every record once (JSON:API 1.1, "Compound Documents").
 * `once` goes into the primary record of an answer that shows something once.
 */
export async function compound(
  call: Call,
  resource: Resource,
  rows: readonly ResourceRow[],
  query: Pick<Query, 'include' | 'fields'>,
  once: Json = {},
): Promise<{ data: ResourceObject[]; included?: ResourceObject[] }> {
  const loading: Loading = { shown: new Map() };
  for (const row of rows) note(loading, resource, row);
  const primary = new Set(loading.shown.keys());
  if (query.include) await follow(call, loading, resource, rows, query.include);
  const completed = await completedRows(call, loading);
  const object = ({ resource: of, row, linkage }: Shown, shownOnce: Json = {}) =>
    resourceObject(call, of, completed.get(row) ?? row, query.fields, linkage, shownOnce);
  const data = rows.map((row) => object(loading.shown.get(nameOf(resource, row)) ?? { resource, row, linkage: new Map() }, once));
  if (!query.include) return { data };
  const others = [...loading.shown].filter(([name]) => !primary.has(name)).map(([, one]) => one);
  return { data, included: others.map((one) => object(one)) };
}

/** The top-level object with its members in their usual order. */
export function documentOf<Data>(
  call: Pick<Call, 'ctx'>,
  members: { links?: Json; data: Data; included?: readonly ResourceObject[] | undefined; meta?: Readonly<Json> | undefined },
): Document<Data> {
  const { links, data, included, meta } = members;
  return {
    jsonapi: { version: '1.1' },
    links: { ...links, describedby: `${apiRoot(call)}/openapi.json` },
    data,
    ...(included === undefined ? {} : { included }),
    ...(meta === undefined ? {} : { meta }),
  };
}

/** The document of an answer that shows no record: its `meta` says everything. */
export function metaDocument(call: Pick<Call, 'ctx'>, self: string, meta: Readonly<Json>): Omit<Document, 'data'> {
  return { jsonapi: { version: '1.1' }, links: { self, describedby: `${apiRoot(call)}/openapi.json` }, meta };
}

/** A strong ETag: the version, which If-Match compares, and a digest of the whole answer, which If-None-Match does. */
export function etagOf(text: string, version: number | null): string {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  return version === null ? `"${hash}"` : `"${version}-${hash}"`;
}
