import type { Scope } from '../scope.js';
import { fragmentOf, type DirectoryCondition } from './directory-filter.js';

/** Which rows of a list: the first is 0. */
export type RowRange = { readonly offset: number; readonly limit: number };

/** A part of what was found, and how much that is. */
export type FoundRows<Row> = { readonly rows: Row[]; readonly total: number };

/**
 * The rows of a directory that fit, oldest first. What fits is found first and put into order then: the planner knows little of how many fit a condition of JSON, and would
 * look at a whole directory in its order for one that does. A whole directory is counted and paged through in its index, which has all that either needs.
 */
export async function findIn<Row extends { id: string }>(
  scope: Scope,
  name: 'directory_users' | 'organization_groups',
  directory_id: string,
  condition: DirectoryCondition | null,
  { offset, limit }: RowRange,
): Promise<FoundRows<Row>> {
  const { sql, values } = condition ? fragmentOf(condition) : { sql: 'true', values: [] };
  const { rows } = (await scope.knex.raw(
    `with found as ${condition ? 'materialized' : 'not materialized'} (
       select d.id, d.created_at from ${name} d where d.environment_id = ? and d.directory_id = ? and ${sql}
     ), page as (select id, created_at from found order by created_at, id offset ? limit ?)
     select (select count(*)::integer from found) as total, d.* from (select) one
     left join page on true
     left join ${name} d on d.environment_id = ? and d.id = page.id
     order by page.created_at, page.id`,
    [scope.environment_id, directory_id, ...values, offset, limit, scope.environment_id] as never,
  )) as { rows: (Row & { total: number })[] };
  return { rows: rows.filter(({ id }) => (id as string | null) !== null), total: rows[0]?.total ?? 0 };
}
