import { areTooMany, isIndexedOrder } from '../../../management/list-order.js';
import type { Resource } from '../../../management/resource.js';
import type { ColumnSpec, ViewContext } from '../records/presentation.js';

/** Whether a list is offered in an order; null: in all of them. */
export type Orders = ((sort: string) => boolean) | null;

/**
 * The orders that the list can be shown in with its filters: all while it is short, then those that the API doesn't refuse.
 * @param filters the filters that are set, in the words of the API
 */
export async function offeredOrders(
  view: ViewContext,
  resource: Resource,
  columns: readonly ColumnSpec[],
  sort: string,
  filters: object,
): Promise<Orders> {
  const set = Object.entries(filters).flatMap(([name, value]) => (value ? [name.replace(/\].*/, '')] : []));
  const isOffered = (sort: string) => isIndexedOrder(resource, set, sort);
  // The form for filters takes the order of the list along, whichever filter is set next.
  const isEach = isIndexedOrder(resource, ['any'], sort) && columns.every((column) => column.sort === undefined || isOffered(column.sort));
  return isEach || !(await areTooMany(view.req.call.ctx, resource)) ? null : isOffered;
}
