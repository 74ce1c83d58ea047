import type { Knex } from 'knex';
import { visibleRows, type Condition, type ListedRow, type SortKey, type Source } from './list-source.js';
import { readOnly } from '../connection/read-only.js';
import { tookTooLong } from '../connection/sqlstate.js';
import { table, type Scope } from '../scope.js';

/** Where a page ends: the sort values of its last row as text, and its id. */
export type ListPosition = { readonly values: readonly string[]; readonly id: string };

export type ListRequest = {
  readonly conditions: readonly Condition[];
  readonly sort: readonly SortKey[];
  readonly size: number;
  readonly after: ListPosition | null;
  readonly before: ListPosition | null;
};

export type ListPage = {
  readonly rows: readonly { readonly row: ListedRow; readonly position: ListPosition }[];
  /** Whether rows follow in the direction that was read. */
  readonly more: boolean;
};

const operator = (descending: boolean) => (descending ? '<' : '>');

/**
 * Rows beyond a position. In one direction a row comparison does it, which an index on the same columns answers; mixed directions
 * are spelled out column by column.
 */
function beyond(query: Knex.QueryBuilder, keys: readonly (SortKey & { readonly cast: string })[], values: readonly string[]): void {
  const same = keys.every((key) => key.descending === keys[0]?.descending);
  const placeholder = (key: { cast: string }) => `?::${key.cast}`;
  if (same) {
    const left = keys.map((key) => key.expression).join(', ');
    void query.whereRaw(`(${left}) ${operator(keys[0]?.descending ?? false)} (${keys.map(placeholder).join(', ')})`, [...values]);
    return;
  }
  const bindings: string[] = [];
  const alternatives = keys.map((key, index) => {
    const equal = keys.slice(0, index).map((earlier, at) => {
      bindings.push(values[at] as string);
      return `${earlier.expression} = ${placeholder(earlier)}`;
    });
    bindings.push(values[index] as string);
    return `(${[...equal, `${key.expression} ${operator(key.descending)} ${placeholder(key)}`].join(' and ')})`;
  });
  void query.whereRaw(`(${alternatives.join(' or ')})`, bindings);
}

/** The rows that the scope may see and the conditions leave; in an object, for a query that is awaited runs. */
async function narrowed(scope: Scope, source: Source, conditions: readonly Condition[]): Promise<{ readonly query: Knex.QueryBuilder }> {
  const query = visibleRows(scope, source);
  for (const condition of conditions) ((await condition.narrow?.(scope)) ?? condition)(query, source);
  return { query };
}

export async function areMoreThan(scope: Scope, source: Source, conditions: readonly Condition[], most: number): Promise<boolean> {
  const { query } = await narrowed(scope, source, conditions);
  return (await query.offset(most).limit(1).select(`${source.table}.${source.key}`)).length > 0;
}

/** How many rows the scope may see and the conditions leave, counted up to `most`; null where PostgreSQL can't tell within `timeoutMs`. */
export async function countUpTo(
  { environment_id, organization_id, touched, deadline, knex }: Scope,
  source: Source,
  conditions: readonly Condition[],
  most: number,
  timeoutMs: number,
): Promise<number | null> {
  try {
    return await readOnly(knex, timeoutMs, async (trx) => {
      const { query } = await narrowed({ environment_id, organization_id, touched, deadline, knex: trx }, source, conditions);
      const found = query.limit(most).select(`${source.table}.${source.key}`).as('found');
      const [row] = (await trx.from(found).count({ count: '*' })) as { count: string }[];
      return Number(row?.count ?? 0);
    });
  } catch (error) {
    if (tookTooLong(error)) return null;
    throw error;
  }
}

/**
 * One page by keyset: it costs the same wherever it lies, and rows inserted meanwhile shift nothing. With `before` the page
 * is read backwards and turned around.
 */
export async function listRows(scope: Scope, source: Source, request: ListRequest): Promise<ListPage> {
  const backwards = request.before !== null && request.after === null;
  const last = request.sort.at(-1);
  const id = {
    expression: `${source.table}.${source.key}`,
    type: 'text' as const,
    descending: last?.descending ?? true,
    cast: source.keyType,
  };
  const keys = [...request.sort.map((key) => ({ ...key, cast: key.type as string })), id];
  const turned = keys.map((key) => ({ ...key, descending: !key.descending }));
  const order = (backwards ? turned : keys).map((key) => `${key.expression} ${key.descending ? 'desc' : 'asc'}`).join(', ');
  // First of the conditions: of two bounds of one column PostgreSQL begins at the first.
  const position: Condition = (query) => {
    if (request.after) beyond(query, keys, [...request.after.values, request.after.id]);
    if (request.before) beyond(query, turned, [...request.before.values, request.before.id]);
  };
  const { query } = await narrowed(scope, source, [position, ...request.conditions]);
  void query
    .select(`${source.table}.*`)
    .select(scope.knex.raw(`array[${keys.map((key) => `(${key.expression})::text`).join(', ')}] as cursor_values`))
    .orderByRaw(order)
    .limit(request.size + 1);
  const found = (await query) as (ListedRow & { cursor_values: string[] })[];
  const more = found.length > request.size;
  const page = found.slice(0, request.size);
  if (backwards) page.reverse();
  return {
    more,
    rows: page.map(({ cursor_values, ...row }) => ({
      row,
      position: { values: cursor_values.slice(0, -1), id: cursor_values.at(-1) as string },
    })),
  };
}

/** The rows of the given keys, in no particular order. `lock` holds them until the transaction ends. */
export async function findRows(
  scope: Scope,
  source: Source,
  column: string,
  values: readonly string[],
  lock = false,
): Promise<ListedRow[]> {
  if (values.length === 0) return [];
  const query = visibleRows(scope, source)
    .whereIn(`${source.table}.${column}`, [...values])
    .orderBy(`${source.table}.${source.key}`)
    .select(`${source.table}.*`);
  if (lock) void query.forUpdate();
  return (await query) as ListedRow[];
}

/** All rows that the scope may see and the conditions leave, by key; at most `limit` of them. */
export async function listAll(scope: Scope, source: Source, conditions: readonly Condition[], limit: number): Promise<ListedRow[]> {
  const { query } = await narrowed(scope, source, conditions);
  return (await query.orderBy(`${source.table}.${source.key}`).limit(limit).select(`${source.table}.*`)) as ListedRow[];
}

export type LinkTable = { readonly table: string; readonly near: string; readonly far: string };

/** Which of the far rows hang on which of the near ones, in the order of the far ids. */
export async function findLinks(scope: Scope, link: LinkTable, near: readonly string[]): Promise<{ near: string; far: string }[]> {
  if (near.length === 0) return [];
  return (await table<ListedRow>(scope, link.table)
    .whereIn(`${link.table}.${link.near}` as never, [...near])
    .orderBy(`${link.table}.${link.far}`)
    .select({ near: `${link.table}.${link.near}`, far: `${link.table}.${link.far}` } as never)) as unknown as {
    near: string;
    far: string;
  }[];
}
