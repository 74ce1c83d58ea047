import type { LinkTable } from './list.js';
import { beginsOf, boundedBy, type Condition, type TimeRange } from './list-source.js';

/** The column holds one of the values. */
export function isOneOf(column: string, values: readonly unknown[]): Condition {
  return (query, source) => void query.whereIn(`${source.table}.${column}`, [...values] as string[]);
}

/**
 * The column compares with the value; `gte` and `lt` make half-open ranges that tile. Where the column is null it compares with nothing, whatever the expression
 * is in its place.
 */
export function compares(range: TimeRange): Condition {
  const operators = { gte: '>=', gt: '>', lt: '<', lte: '<=' } as const;
  const condition: Condition = (query, source) =>
    void query.whereRaw(`${boundedBy(range, source)} ${operators[range.comparison]} ?${beginsOf(range)}`, [range.value]);
  return Object.assign(condition, { range, isRange: true });
}

/** The condition, of which it is known that no row outside the range fulfils it. */
export const within = (condition: Condition, range: TimeRange): Condition =>
  Object.assign<Condition, Pick<Condition, 'range'>>((query, source) => condition(query, source), { ...condition, range });

/** An array column shares an element with the values. */
export function holdsOneOf(column: string, values: readonly string[]): Condition {
  return (query, source) => void query.whereRaw(`?? && ?::text[]`, [`${source.table}.${column}`, [...values]]);
}

const mostRare = () => '30000';
/**
 * The more rows a table has, the more of them lie in the order's index between two that were searched for: 140,000 of ten million, 14,000 of a hundred thousand
 * are sorted in the time that it takes to meet a page's worth of as many.
 */
const mostBeginning = (table: string) =>
  `select ceil(45 * sqrt(greatest(reltuples, 0)))::bigint from pg_class where oid = '${table}'::regclass`;

const likePrefix = (text: string) => `${text.toLowerCase().replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;

/** One of the expressions begins with the text, whatever its case. `columns`, where each expression has an index (`text_pattern_ops`): what these include. */
export function beginsWith(expressions: readonly string[], text: string, columns?: readonly string[]): Condition {
  const prefix = likePrefix(text);
  const any: Condition = (query) =>
    void query.whereRaw(
      `(${expressions.map((one) => `${one} like ?`).join(' or ')})`,
      expressions.map(() => prefix),
    );
  if (!columns) return any;
  // By the first expression that begins so: a row is in one part alone.
  const parts = expressions.map((one, index): Condition => {
    const others = expressions.slice(0, index).map((earlier) => ` and (${earlier} like ?) is not true`);
    return matches(`${one} like ?${others.join('')}`, [prefix, ...others.map(() => prefix)]);
  });
  return Object.assign(any, { rare: { columns, most: mostBeginning, parts } });
}

/** The row's own column is linked, through a link table, to one of the far ids. */
export function linkedTo(link: LinkTable, far: readonly string[]): Condition {
  return (query, source) => {
    const { table: own, key } = source;
    void query.whereRaw(
      `exists (select 1 from ${link.table} l where l.environment_id = ${own}.environment_id and l.${link.near} = ${own}.${key} and l.${link.far} = any (?::uuid[]))`,
      [[...far]],
    );
  };
}

/** A condition as SQL with a `?` for each value. Columns are qualified with their table. */
export function matches(sql: string, values: readonly unknown[] = []): Condition {
  return (query) => void query.whereRaw(sql, values as string[]);
}

/** One of the conditions, which are ranges of the time when rows were made; a row fulfils at most one. See {@link Condition}. */
export function oneOf(either: readonly Condition[]): Condition {
  const any: Condition = (query, source) =>
    void query.where((all) => {
      for (const one of either) void all.orWhere((own) => one(own, source));
    });
  return Object.assign(any, { either });
}

/** A condition that few rows fulfil as a rule; `columns` are those of the index that has them all, see {@link Condition}. */
export const rarely = (condition: Condition, columns: readonly string[]): Condition =>
  Object.assign<Condition, Pick<Condition, 'rare'>>((query, source) => condition(query, source), {
    ...condition,
    rare: { columns, most: mostRare },
  });
