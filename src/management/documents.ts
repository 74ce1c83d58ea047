import { createHash } from 'node:crypto';
import type { Call } from './call.js';
import { apiRoot } from './call.js';
import type { IncludeTree, Query } from './query.js';
import { loadRelated } from './related.js';
import { idOf, targetOf, versionOf, type Resource, type Row } from './resource.js';

type Json = Record<string, unknown>;

/** A resource identifier object. */
export const identifier = (resource: Resource, row: Row) => ({ type: resource.type, id: idOf(resource, row) });

/** `/api/{path}/{id}` of a record, for resources that have an address. */
export const selfLink = (call: Pick<Call, 'ctx'>, resource: Resource, id: string) =>
  `${apiRoot(call)}/${resource.path}/${encodeURIComponent(id)}`;

const wire = (value: unknown): unknown => {
  if (value instanceof Date) return value.toISOString();
  return value === undefined ? null : value;
};

/** The attributes of a record as answers show them; nothing that isn't listed leaves the process. */
export function attributesOf(call: Pick<Call, 'ctx' | 'actor'>, resource: Resource, row: Row): Json {
  const attributes: Json = {};
  for (const name of Object.keys(resource.attributes.shape)) {
    const compute = resource.computed?.[name];
    attributes[name] = wire(compute ? compute(row, call.ctx, call.actor) : row[name]);
  }
  return attributes;
}

/** What the relationships of a record link to, known for those that were loaded. */
type Linkage = ReadonlyMap<string, readonly Row[]>;

function relationshipsOf(call: Call, resource: Resource, row: Row, linkage: Linkage): Json {
  const self = selfLink(call, resource, idOf(resource, row));
  const relationships: Json = {};
  for (const [name, relationship] of Object.entries(resource.relationships)) {
    const target = targetOf(call.registry, relationship);
    const links = resource.routed === false ? {} : { links: { self: `${self}/relationships/${name}`, related: `${self}/${name}` } };
    const loaded = linkage.get(name);
    let data: { data: unknown } | object = {};
    if (relationship.kind === 'one') {
      const id = row[relationship.column];
      data = { data: id === null || id === undefined ? null : { type: target.type, id: String(id as string) } };
    } else if (loaded) data = { data: loaded.map((one) => identifier(target, one)) };
    relationships[name] = { ...links, ...data };
  }
  return relationships;
}

const onlyNamed = (members: Json, fields: ReadonlySet<string> | undefined): Json =>
  fields ? Object.fromEntries(Object.entries(members).filter(([name]) => fields.has(name))) : members;

/** One resource object. */
export function resourceObject(
  call: Call,
  resource: Resource,
  row: Row,
  fields: Query['fields'],
  linkage: Linkage = new Map(),
  once: Json = {},
): Json {
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
type Loading = {
  readonly shown: Map<string, { resource: Resource; row: Row; linkage: Map<string, readonly Row[]> }>;
  readonly order: string[];
};

const nameOf = (resource: Resource, row: Row) => `${resource.type} ${idOf(resource, row)}`;

function note(loading: Loading, resource: Resource, row: Row): Map<string, readonly Row[]> {
  const name = nameOf(resource, row);
  const known = loading.shown.get(name);
  if (known) return known.linkage;
  const linkage = new Map<string, readonly Row[]>();
  loading.shown.set(name, { resource, row, linkage });
  loading.order.push(name);
  return linkage;
}

async function follow(call: Call, loading: Loading, resource: Resource, rows: readonly Row[], tree: IncludeTree): Promise<void> {
  for (const [name, below] of Object.entries(tree)) {
    const relationship = resource.relationships[name];
    if (!relationship) continue;
    const target = targetOf(call.registry, relationship);
    const related = await loadRelated(call.ctx, call.registry, resource, relationship, rows);
    const next = new Map<string, Row>();
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

/**
 * The `data` and, when asked for, `included` of a document: full linkage, every record once (JSON:API 1.1, "Compound Documents").
 * `once` goes into the primary record of an answer that shows something once.
 */
export async function compound(
  call: Call,
  resource: Resource,
  rows: readonly Row[],
  query: Pick<Query, 'include' | 'fields'>,
  once: Json = {},
): Promise<{ data: Json[]; included?: Json[] }> {
  const loading: Loading = { shown: new Map(), order: [] };
  for (const row of rows) note(loading, resource, row);
  const primary = new Set(loading.order);
  if (query.include) await follow(call, loading, resource, rows, query.include);
  const render = (name: string, extra: Json = {}) => {
    const one = loading.shown.get(name);
    return one ? resourceObject(call, one.resource, one.row, query.fields, one.linkage, extra) : {};
  };
  const data = rows.map((row) => render(nameOf(resource, row), once));
  if (!query.include) return { data };
  return { data, included: loading.order.filter((name) => !primary.has(name)).map((name) => render(name)) };
}

/** The top-level object with its members in their usual order. */
export function documentOf(
  call: Pick<Call, 'ctx'>,
  members: { links?: Json; data?: unknown; included?: Json[] | undefined; meta?: Json | undefined },
): Json {
  const { links, data, included, meta } = members;
  return {
    jsonapi: { version: '1.1' },
    links: { ...links, describedby: `${apiRoot(call)}/openapi.json` },
    ...(data === undefined ? {} : { data }),
    ...(included === undefined ? {} : { included }),
    ...(meta === undefined ? {} : { meta }),
  };
}

/** A strong ETag: the version, which If-Match compares, and a digest of the whole answer, which If-None-Match does. */
export function etagOf(text: string, version: number | null): string {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  return version === null ? `"${hash}"` : `"${version}-${hash}"`;
}
