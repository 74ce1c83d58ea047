import type { LinkTable } from './list.js';
import type { Condition, TimeRange } from './list-source.js';

/** The column holds one of the values. */
export function isOneOf(column: string, values: readonly unknown[]): Condition {
  return (query, source) => void query.whereIn(`${source.table}.${column}`, [...values] as string[]);
}

/**
 * The column compares with the value; `gte` and `lt` make half-open ranges that tile. Where the column is null it compares with nothing, whatever the expression
 * is in its place: a bound of the same expression, not `is not null`, for the index begins behind these rows and PostgreSQL knows how few lie between the two.
 */
export function compares({ column, comparison, value, expression }: TimeRange): Condition {
  const operator = { gte: '>=', gt: '>', lt: '<', lte: '<=' }[comparison];
  const begins = expression === undefined || comparison.startsWith('g') ? '' : ` and ${expression} > '-infinity'::timestamptz`;
  return (query, source) => void query.whereRaw(`${expression ?? `${source.table}.${column}`} ${operator} ?${begins}`, [value]);
}

/** An array column shares an element with the values. */
export function holdsOneOf(column: string, values: readonly string[]): Condition {
  return (query, source) => void query.whereRaw(`?? && ?::text[]`, [`${source.table}.${column}`, [...values]]);
}

const likePrefix = (text: string) => `${text.toLowerCase().replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;

/** One of the expressions begins with the text, whatever its case. */
export function beginsWith(expressions: readonly string[], text: string): Condition {
  const prefix = likePrefix(text);
  const any = expressions.map((one) => `${one} like ?`).join(' or ');
  return matches(
    `(${any})`,
    expressions.map(() => prefix),
  );
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
