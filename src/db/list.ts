import type { Knex } from 'knex';
import { impliedRanges } from './chronology.js';
import { table, type Scope } from './scope.js';

/** Rows of one table as a list endpoint sees them: which table, which column is the id, and of which type. */
export type Source = {
  readonly table: string;
  readonly key: string;
  readonly keyType: 'uuid' | 'text';
  /** The rows that the scope may see; left out for tables with an environment_id. */
  readonly visible?: (scope: Scope) => Knex.QueryBuilder;
  /** Columns of times, each of which is never before those that stand before it here, but for what clocks are apart. */
  readonly chronology?: readonly string[];
};

/** Rows whose column compares so with a time. */
export type TimeRange = { readonly column: string; readonly comparison: 'gte' | 'gt' | 'lt' | 'lte'; readonly value: Date };

/** One column of an order. `expression` never yields null, lest rows fall out of every page. */
export type SortKey = { readonly expression: string; readonly type: 'timestamptz' | 'text' | 'integer'; readonly descending: boolean };

/** Where a page ends: the sort values of its last row as text, and its id. */
export type Position = { readonly values: readonly string[]; readonly id: string };

/** A condition that narrows a list. */
export type Condition = {
  (query: Knex.QueryBuilder, source: Source): void;
  /**
   * What it consists of, where these are ranges of the time when rows were made: a row fulfils at most one, and the condition if one. A list in that order looks
   * for each by itself.
   */
  readonly either?: readonly Condition[];
  /**
   * Set when few rows fulfil it as a rule, and an index of these has all that its lists are sorted by, in these columns: then all of them are read from that
   * index, and sorted, before the rows of the page are.
   */
  readonly rare?: readonly string[];
  /** A range of a time that it leaves no row out of. */
  readonly range?: TimeRange;
};

export type ListRequest = {
  readonly conditions: readonly Condition[];
  readonly sort: readonly SortKey[];
  readonly size: number;
  readonly after: Position | null;
  readonly before: Position | null;
};

export type ListedRow = Record<string, unknown>;

export type ListPage = {
  readonly rows: readonly { readonly row: ListedRow; readonly position: Position }[];
  /** Whether rows follow in the direction that was read. */
  readonly more: boolean;
};

/** The rows of the source that the scope may see. */
export function rowsOf(scope: Scope, source: Source): Knex.QueryBuilder {
  return source.visible ? source.visible(scope) : (table<ListedRow>(scope, source.table) as unknown as Knex.QueryBuilder);
}

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

/** The conditions, once for each of what the first that consists of several does. */
function alternativesOf(conditions: readonly Condition[]): readonly (readonly Condition[])[] {
  const split = conditions.find(({ either }) => either !== undefined && either.length > 1);
  return split?.either?.map((one) => conditions.map((other) => (other === split ? one : other))) ?? [conditions];
}

/** So many rare rows are sorted; when there are more, they aren't rare, and the order's own index meets enough of them. */
const mostRare = 30_000;

/** One page of a list in SQL: what it asks for, and in which order. */
type PageParts = {
  readonly scope: Scope;
  readonly source: Source;
  readonly conditions: readonly Condition[];
  readonly order: string;
  readonly limit: number;
  /** Leaves what lies beyond the position, if one is given. */
  readonly within: (query: Knex.QueryBuilder) => void;
};

function narrowed({ scope, source, conditions }: PageParts): Knex.QueryBuilder {
  const query = rowsOf(scope, source);
  for (const condition of conditions) condition(query, source);
  return query;
}

/** The page, to be read along the order. */
function unordered(parts: PageParts): Knex.QueryBuilder {
  const query = narrowed(parts);
  parts.within(query);
  return query.select(`${parts.source.table}.*`).limit(parts.limit);
}

/** The page of several, each of which is in order, to be put in order. */
function united({ scope, source, order, limit }: PageParts, pages: readonly Knex.QueryBuilder[]): Knex.QueryBuilder {
  const all = scope.knex.queryBuilder().unionAll(
    pages.map((page) => page.orderByRaw(order)),
    true,
  );
  return scope.knex.from(all.as(source.table)).select(`${source.table}.*`).limit(limit);
}

/** The same page: all that fulfil a rare condition are read from its index, and the page's own rows then; along the order after all where they are many. */
function fromRare(parts: PageParts, columns: readonly string[]): Knex.QueryBuilder {
  const { scope, source, order, limit } = parts;
  const { table: own, key } = source;
  const { knex } = scope;
  const rare = narrowed(parts)
    .select([key, ...columns].map((column) => `${own}.${column}`))
    .limit(mostRare + 1);
  const count = '(select count(*) from rare)';
  // The sorted columns go by the name of the table, as the order spells them.
  const keys = knex
    .from(knex.raw('rare as ??', [own]))
    .select(`${own}.${key}`)
    .whereRaw(`${count} <= ?`, [mostRare]);
  parts.within(keys);
  const found = rowsOf(scope, source)
    .select(`${own}.*`)
    .whereRaw(`${own}.${key} = any (array(?))`, [keys.orderByRaw(order).limit(limit)]);
  const many = unordered(parts).whereRaw(`${count} > ?`, [mostRare]);
  return united(parts, [found, many]).withMaterialized('rare', rare);
}

/** The rows of the page, to be put in order. */
function pageOf(parts: PageParts, sort: readonly SortKey[]): Knex.QueryBuilder {
  const { conditions, source } = parts;
  // In the order in which they were made the index of the rare ones has them already; and no other order has use for ranges of that.
  const asMade = sort[0]?.expression === `${source.table}.created_at`;
  const columns = asMade ? undefined : conditions.find(({ rare }) => rare !== undefined)?.rare;
  if (columns !== undefined) return fromRare(parts, columns);
  const [first, ...others] = asMade
    ? alternativesOf(conditions).map((some) => unordered({ ...parts, conditions: some }))
    : [unordered(parts)];
  return first && others.length === 0 ? first : united(parts, [first as Knex.QueryBuilder, ...others]);
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
  const within = (query: Knex.QueryBuilder) => {
    if (request.after) beyond(query, keys, [...request.after.values, request.after.id]);
    if (request.before) beyond(query, turned, [...request.before.values, request.before.id]);
  };
  const conditions = [...request.conditions, ...impliedRanges(request.conditions, source, request.sort[0])];
  const query = pageOf({ scope, source, conditions, order, limit: request.size + 1, within }, request.sort)
    .select(scope.knex.raw(`array[${keys.map((key) => `(${key.expression})::text`).join(', ')}] as cursor_values`))
    .orderByRaw(order);
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
  const query = rowsOf(scope, source)
    .whereIn(`${source.table}.${column}`, [...values])
    .orderBy(`${source.table}.${source.key}`)
    .select(`${source.table}.*`);
  if (lock) void query.forUpdate();
  return (await query) as ListedRow[];
}

/** All rows that the scope may see and the conditions leave, by key; at most `limit` of them. */
export async function listAll(scope: Scope, source: Source, conditions: readonly Condition[], limit: number): Promise<ListedRow[]> {
  const query = rowsOf(scope, source).orderBy(`${source.table}.${source.key}`).limit(limit).select(`${source.table}.*`);
  for (const condition of conditions) condition(query, source);
  return (await query) as ListedRow[];
}

/** A link table between two resources. */
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
