import type { Knex } from 'knex';
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
export type TimeRange = {
  readonly column: string;
  readonly comparison: 'gte' | 'gt' | 'lt' | 'lte';
  readonly value: Date;
  /** What lists are sorted by instead of the column, where that may be null: SQL, `-infinity` where it is. */
  readonly expression?: string;
};

/**
 * SQL that leaves out of a range to a time what has none. A bound of the same expression, not `is not null`: an index begins behind these rows, and
 * PostgreSQL knows how few lie between the two.
 */
export const beginsOf = ({ comparison, expression }: TimeRange): string =>
  expression === undefined || comparison.startsWith('g') ? '' : ` and ${expression} > '-infinity'::timestamptz`;

/** The SQL that a range bounds. */
export const boundedBy = ({ column, expression }: TimeRange, source: Source): string => expression ?? `${source.table}.${column}`;

/** One column of an order. `expression` never yields null, lest rows fall out of every page. */
export type SortKey = { readonly expression: string; readonly type: 'timestamptz' | 'text' | 'integer'; readonly descending: boolean };

/** How the rows of a condition are read that few fulfil. */
export type Rare = {
  /** What lists are sorted by: an index of these rows has all of it. */
  readonly columns: readonly string[];
  /** SQL of the table's name: so many are sorted; when there are more, they aren't rare, and the order's own index meets enough of them. */
  readonly most: (table: string) => string;
  /** What the condition consists of where each part has an index of its own: a row that fulfils it fulfils exactly one. Without, the one index is in the order in which rows were made. */
  readonly parts?: readonly Condition[];
};

/** A condition that narrows a list. */
export type Condition = {
  (query: Knex.QueryBuilder, source: Source): void;
  /**
   * What it consists of, where these are ranges of the time when rows were made: a row fulfils at most one, and the condition if one. A list in that order looks
   * for each by itself.
   */
  readonly either?: readonly Condition[];
  /** Set when few rows fulfil it as a rule: then all of them are read, and sorted, before the rows of the page are. */
  readonly rare?: Rare;
  /** A range of a time that it leaves no row out of. */
  readonly range?: TimeRange;
  /** Whether the range is all that it says. */
  readonly isRange?: boolean;
};

export type ListedRow = Record<string, unknown>;

/** The rows of the source that the scope may see. */
export function rowsOf(scope: Scope, source: Source): Knex.QueryBuilder {
  return source.visible ? source.visible(scope) : (table<ListedRow>(scope, source.table) as unknown as Knex.QueryBuilder);
}
