import { listActivity, type AuditLogRow } from '../db/tables/audit_logs.js';
import { authorizeRead } from './authorize.js';
import type { Call } from './call.js';
import { decodeCursor, encodeCursor } from './cursor.js';
import { compound, type ResourceObject } from './documents.js';
import type { Resource } from './resource.js';

/** So many entries of each index are read for a page, whatever of them it shows. */
const mostRead = 500;

export type ActivityQuery = {
  /** The id of whom or what it is about. */
  readonly party: string;
  /** Whether that is an organization: what is its own counts then. */
  readonly is_organization?: boolean | undefined;
  /** Which entries are shown; all unless given. */
  readonly keep?: ((row: AuditLogRow) => boolean) | undefined;
  readonly size: number;
  /** Cursors: entries older, or newer, than a page's last, or first. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
};

/** `previous` and `next` are null at the ends; `cut`: there was more to look through than one page reads. */
export type ActivityList = {
  readonly records: readonly ResourceObject[];
  readonly previous: string | null;
  readonly next: string | null;
  readonly cut: boolean;
};

/**
 * What the audit log has of one party, whether it acted or was acted on, as one list: a statement over two indexes, which reads a bounded part of each. Where
 * few entries are of the kind that is looked for, a page is short, and the next one goes on behind the last entry that was read.
 * @param resource the audit log
 * @throws {ApiError} 403
 */
export async function readActivity(
  call: Call,
  resource: Resource,
  { party, is_organization = false, keep, size, after, before }: ActivityQuery,
): Promise<ActivityList> {
  await authorizeRead(call, resource, null);
  const list = `activity ${party}`;
  const cursor = before ?? after;
  const from = cursor === undefined ? null : decodeCursor(call.ctx, list, 'occurred_at', cursor);
  const at = from === null ? null : new Date(from.values[0] ?? 0);
  const backwards = before !== undefined && from !== null;
  const limit = keep ? mostRead : size + 1;
  const rows = await listActivity(call.ctx.scope, { party, is_organization, at, id: from?.id ?? null, newer: backwards, limit });
  const fitting = keep ? rows.filter(keep) : rows;
  const shown = backwards ? fitting.slice(-size) : fitting.slice(0, size);
  const more = fitting.length > shown.length;
  const full = rows.length === limit;
  const cursorAt = (row: AuditLogRow | undefined) =>
    row ? encodeCursor(call.ctx, list, 'occurred_at', { values: [row.occurred_at.toISOString()], id: row.id }) : null;
  const oldest = backwards || more ? shown.at(-1) : full ? rows.at(-1) : undefined;
  const newest = !backwards ? (from === null ? undefined : (shown[0] ?? rows[0])) : more ? shown[0] : full ? rows[0] : undefined;
  const { data } = await compound(call, resource, shown, { include: null, fields: new Map() });
  return { records: data, previous: cursorAt(newest), next: cursorAt(oldest), cut: full && !more };
}
