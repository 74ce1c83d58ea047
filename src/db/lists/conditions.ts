import type { Knex } from 'knex';
import type { LinkTable } from './list.js';
import { isUuid } from '../../lib/random.js';
import { table, type Scope } from '../scope.js';
import type { Condition, ListedRow, Source, TimeRange } from './list-source.js';

export function isOneOf(column: string, values: readonly unknown[]): Condition {
  const narrow = (query: Knex.QueryBuilder, source: Source) => void query.whereIn(`${source.table}.${column}`, [...values] as string[]);
  return Object.assign(narrow, { fits: (row: ListedRow) => values.includes(row[column]) });
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

/** Texts in small letters with a space before each: of the row itself as an expression, or in a table of its own. */
export type Searched = string | { readonly table: string; readonly key: string };

/** The most rows of a table of texts that are looked up by themselves; where more fit, a page's worth of them comes soon in any order. */
const mostLookedUp = 1_000;

const letter = String.raw`[\p{L}\p{N}]`;
const other = String.raw`[^\p{L}\p{N}]`;
/** What makes a trigram that pg_trgm finds in the middle of a word: three letters, or fewer where a word begins or ends. */
const trigram = new RegExp(`${letter}{3}|${other}${letter}|${letter}{2}${other}`, 'u');

/** For each word of a search a pattern: any part of a text, or the beginning of one where the word is too short for an index. Null for a search without a letter or figure. */
function patternsOf(text: string): readonly string[] | null {
  const words = [...new Set(text.split(/[\s,]+/).filter(Boolean))];
  if (!words.some((word) => new RegExp(letter, 'u').test(word))) return null;
  return words.map((word) => `%${trigram.test(word) ? '' : ' '}${word.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`);
}

/** Each word of the text is somewhere in what is searched, whatever its case; or the text is the row's id. */
export function searches(searched: Searched, text: string): Condition {
  const patterns = patternsOf(text);
  const like = (expression: string) => patterns?.map(() => `${expression} like lower(?)`).join(' and ') ?? 'false';
  const id = [text.trim().toLowerCase()].filter(isUuid);
  if (typeof searched === 'string')
    return (query, { table: own, key, keyType }) => {
      const isId = keyType === 'uuid' && id.length > 0;
      void query.whereRaw(`((${like(searched)})${isId ? ` or ${own}.${key} = ?` : ''})`, [...(patterns ?? []), ...(isId ? id : [])]);
    };
  const { table: texts, key: near } = searched;
  const condition: Condition = (query, { table: own, key }) => {
    const sql = `exists (select 1 from ${texts} s where s.environment_id = ${own}.environment_id and s.${near} = ${own}.${key} and ${like('s.text')})`;
    void query.whereRaw(sql, [...(patterns ?? [])]);
  };
  /** Few are read by their keys, in whatever order: PostgreSQL takes words that are frequent, but seldom together, for frequent, and would look at everybody. */
  const narrow = async (scope: Scope): Promise<Condition> => {
    const found = (await table<ListedRow>(scope, texts)
      .whereRaw(like(`${texts}.text`), [...(patterns ?? [])])
      .limit(mostLookedUp + 1)
      .select({ id: `${texts}.${near}` } as never)) as unknown as { id: string }[];
    if (found.length > mostLookedUp) return condition;
    return (query, { table: own, key }) => void query.whereRaw(`${own}.${key} = any (?::uuid[])`, [[...found.map((row) => row.id), ...id]]);
  };
  return Object.assign(condition, { narrow });
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
