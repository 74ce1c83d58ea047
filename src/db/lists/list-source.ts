import type { Knex } from 'knex';
import { table, type Scope } from '../scope.js';

/** Rows of one table as a list endpoint sees them: which table, which column is the id, and of which type. */
export type Source = {
  readonly table: string;
  readonly key: string;
  readonly keyType: 'uuid' | 'text';
  /** The rows that the scope may see; left out for tables with an environment_id. */
  readonly visible?: (scope: Scope) => Knex.QueryBuilder;
  /** SQL: which rows are of an organization, whose id stands for each `?`. Left out: none, and nobody of an organization may ask. */
  readonly owned?: string;
};

/** Rows whose column compares so with a time. */
export type TimeRange = {
  readonly column: string;
  readonly comparison: 'gte' | 'gt' | 'lt' | 'lte';
  readonly value: Date;
  /** What lists are sorted by instead of the column, where that may be null: SQL, `-infinity` where it is. */
  readonly expression?: string;
};

/** One column of an order. `expression` never yields null, lest rows fall out of every page. */
export type SortKey = {
  readonly expression: string;
  readonly type: 'timestamptz' | 'text' | 'integer' | 'bigint';
  readonly descending: boolean;
};

/** `fits` judges what the code itself lists, where no query does; `narrow` looks first, and answers the condition that is cheapest for what there is. */
export type Condition = ((query: Knex.QueryBuilder, source: Source) => void) & {
  readonly fits?: (row: ListedRow) => boolean;
  readonly narrow?: (scope: Scope) => Promise<Condition>;
};

export type ListedRow = Record<string, unknown>;

/** @throws {Error} for an actor of an organization, of what is never an organization's: that is refused before */
export function visibleRows(scope: Scope, source: Source): Knex.QueryBuilder {
  const rows = source.visible ? source.visible(scope) : (table<ListedRow>(scope, source.table) as unknown as Knex.QueryBuilder);
  const { organization_id } = scope;
  if (organization_id === undefined) return rows;
  if (source.owned === undefined) throw new Error(`no row of ${source.table} is an organization's`);
  return rows.whereRaw(
    `(${source.owned})`,
    [...source.owned.matchAll(/\?/g)].map(() => organization_id),
  );
}
