import type { Context } from '../domain/context.js';
import { countUpTo, findRows, listRows, type ListPage, type ListRequest } from '../db/lists/list.js';
import type { Condition, ListedRow } from '../db/lists/list-source.js';
import { tookTooLong } from '../db/connection/sqlstate.js';
import { ApiError } from '../errors.js';
import { isUuid } from '../lib/random.js';
import type { Resource, ResourceRow } from './resource.js';

/** Whether the text could be an id of the resource at all; nothing else reaches the database. */
export function couldBeId(resource: Resource, id: string): boolean {
  if (resource.source.keyType === 'uuid') return isUuid(id);
  return id.length <= 255 && /^[\x21-\x7e]+$/.test(id);
}

/** The record of the id that the environment may see, or null. `lock` holds it until the transaction ends. */
export async function findRecord(ctx: Context, resource: Resource, id: string, lock = false): Promise<ResourceRow | null> {
  if (!couldBeId(resource, id)) return null;
  if (resource.entries) return resource.entries().find((entry) => entry[resource.source.key] === id) ?? null;
  const [row] = await findRows(ctx.scope, resource.source, resource.source.key, [id], lock);
  return row ?? null;
}

/** The records of the ids, as far as they exist. */
export async function findRecords(ctx: Context, resource: Resource, ids: readonly string[]): Promise<ResourceRow[]> {
  const possible = [...new Set(ids)].filter((id) => couldBeId(resource, id));
  if (resource.entries) return resource.entries().filter((entry) => possible.includes(String(entry[resource.source.key])));
  return findRows(ctx.scope, resource.source, resource.source.key, possible);
}

/** Among millions of rows some filters in some orders find a page's worth only after reading most of them. */
const listTookTooLong = () =>
  new ApiError(
    {
      status: 503,
      code: 'list_took_too_long',
      title: 'List took too long',
      detail:
        'the list was not ready in time; narrow it with another filter, or sort it by the time that it is filtered by; if that does not help, try again shortly',
    },
    { 'Retry-After': '5' },
  );

/**
 * One page of the resource, narrowed by `within` when it is a list of related records.
 * @throws {ApiError} 503 when the database took too long
 */
export async function listRecords(
  ctx: Context,
  resource: Resource,
  request: ListRequest,
  conditions: readonly Condition[] = [],
): Promise<ListPage> {
  if (resource.entries) return listEntries(resource, request);
  return listRows(ctx.scope, resource.source, { ...request, conditions: [...conditions, ...request.conditions] }).catch(
    (error: unknown) => {
      throw tookTooLong(error) ? listTookTooLong() : error;
    },
  );
}

/** Time enough to count ten thousand of a million where an index finds them; a list does not wait longer for its total. */
const countingMs = 120;

/** How many records the list has, counted up to `most`; null where that can't be told in time. */
export async function countRecords(ctx: Context, resource: Resource, request: ListRequest, most: number): Promise<number | null> {
  if (resource.entries) return listEntries(resource, { ...request, after: null, before: null, size: most }).rows.length;
  return countUpTo(ctx.scope, resource.source, request.conditions, most, countingMs);
}

/** The same over a list that the code holds, which is short and sorted by id alone. */
function listEntries(resource: Resource, { conditions, sort, size, after, before }: ListRequest): ListPage {
  const isListed = (row: ResourceRow) =>
    conditions.length === 0 ? !resource.isHidden?.(row) : conditions.every(({ fits }) => fits?.(row) ?? false);
  const descending = sort[0]?.descending ?? false;
  const id = (row: ResourceRow) => String(row[resource.source.key]);
  const beyond = (row: ResourceRow, mark: string, forward: boolean) => (forward === descending ? id(row) < mark : id(row) > mark);
  const ordered = [...(resource.entries?.() ?? [])]
    .filter(isListed)
    .sort((one, other) => (id(one) < id(other) ? -1 : 1) * (descending ? -1 : 1))
    .filter((row) => (after ? beyond(row, after.id, true) : true) && (before ? beyond(row, before.id, false) : true));
  const backwards = before !== null && after === null;
  const rows = backwards ? ordered.slice(-size) : ordered.slice(0, size);
  return { more: ordered.length > size, rows: rows.map((row: ListedRow) => ({ row, position: { values: [id(row)], id: id(row) } })) };
}
