import type { Condition, LinkTable, TimeRange } from './list.js';

/** The column holds one of the values. */
export function isOneOf(column: string, values: readonly unknown[]): Condition {
  return (query, source) => void query.whereIn(`${source.table}.${column}`, [...values] as string[]);
}

/** The column compares with the value; `gte` and `lt` make half-open ranges that tile. */
export function compares(column: string, comparison: TimeRange['comparison'], value: Date): Condition {
  const operators = { gte: '>=', gt: '>', lt: '<', lte: '<=' } as const;
  const condition: Condition = (query, source) => void query.where(`${source.table}.${column}`, operators[comparison], value);
  return within(condition, { column, comparison, value });
}

/** The condition, of which it is known that no row outside the range fulfils it. */
export const within = (condition: Condition, range: TimeRange): Condition =>
  Object.assign<Condition, Pick<Condition, 'range'>>((query, source) => condition(query, source), { ...condition, range });

/** An array column shares an element with the values. */
export function holdsOneOf(column: string, values: readonly string[]): Condition {
  return (query, source) => void query.whereRaw(`?? && ?::text[]`, [`${source.table}.${column}`, [...values]]);
}

const likePrefix = (text: string) => `${text.toLowerCase().replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;

/**
 * One of the expressions begins with the text, whatever its case. The ids are found first, each expression by its own index, so
 * that a rare prefix isn't looked for along the sort order.
 */
export function beginsWith(expressions: readonly string[], text: string): Condition {
  const prefix = likePrefix(text);
  return (query, source) => {
    const alternatives = expressions.map((expression) => `${expression} like ?`).join(' or ');
    const owner = source.visible ? '' : `found.environment_id = ${source.table}.environment_id and `;
    void query.whereRaw(
      `exists (select 1 from ${source.table} found where ${owner}found.${source.key} = ${source.table}.${source.key} and (${alternatives}))`,
      expressions.map(() => prefix),
    );
  };
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
  Object.assign<Condition, Pick<Condition, 'rare'>>((query, source) => condition(query, source), { ...condition, rare: columns });
