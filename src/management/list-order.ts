import { areMoreThan } from '../db/lists/list.js';
import type { Condition } from '../db/lists/list-source.js';
import type { Context } from '../domain/context.js';
import { ApiError } from '../errors.js';
import { cursorProfile } from './media-type.js';
import { problem } from './problems.js';
import type { Resource } from './resource.js';

/** The most records that are sorted in an order that no index has. */
export const mostSorted = 100_000;

/** 400 for an order, as the profile of cursor paging has it. */
export const unsupportedSort = (detail: string) =>
  new ApiError({
    ...problem(400, 'unsupported_sort', detail, { parameter: 'sort' }),
    links: { type: `${cursorProfile}/unsupported-sort` },
  });

const fieldOf = (sort: string): string => sort.replace(/^-/, '');

/** The order that any filter may be combined with: that in which records were made, unless the resource tells of another. */
const ownOrder = (resource: Resource): string => fieldOf(resource.defaultSort ?? '-created_at');

/**
 * Whether the list may be as long as it likes in this order: by when the records were made, with any filters; by another field that has an index, without
 * filters or with ranges of that field.
 * @param filters the names of the filters that are set
 */
export function isIndexedOrder(resource: Resource, filters: readonly string[], sort: string): boolean {
  const field = fieldOf(sort);
  return field === ownOrder(resource) || (resource.sorts[field]?.indexed === true && filters.every((name) => name === field));
}

/** Whether the conditions leave more records than are sorted. Of a whole list that is long it is remembered for a while: counting so many takes some milliseconds. */
export async function areTooMany(ctx: Context, resource: Resource, conditions: readonly Condition[] = []): Promise<boolean> {
  if (resource.entries) return false;
  const count = () => areMoreThan(ctx.scope, resource.source, conditions, mostSorted);
  // What is remembered is of the environment: an organization's list is its own.
  if (conditions.length > 0 || ctx.scope.organization_id !== undefined) return count();
  return (await ctx.cache.get(ctx.environment.id, 'long_lists', resource.path, async () => (await count()) || null)) ?? false;
}

/** What a list that is longer may be sorted by, as a sentence. */
export function longListOrders(resource: Resource): string {
  const own = ownOrder(resource);
  const others = Object.keys(resource.sorts).filter((name) => name !== own && resource.sorts[name]?.indexed);
  const finding = Object.keys(resource.filters).filter((name) => resource.filters[name]?.byIndex);
  return [
    `Sort by ${own}, with any filters`,
    ...(others.length > 0 ? [`or by one of ${others.join(', ')} without filters, or with a range of that field alone`] : []),
    ...(finding.length > 0 ? [`or narrow the list by ${finding.map((name) => `filter[${name}]`).join(' or ')}`] : []),
  ].join('; ');
}

/** Refuses an order that no index has of a list that is too long for it. @throws {ApiError} 400 `unsupported_sort` */
export async function requireSortable(ctx: Context, resource: Resource, conditions: readonly Condition[]): Promise<void> {
  if (!(await areTooMany(ctx, resource, conditions))) return;
  const most = `${mostSorted.toLocaleString('en')} ${resource.title.toLowerCase()}`;
  throw unsupportedSort(`This order takes at most ${most}, and the list has more. ${longListOrders(resource)}.`);
}
