import type { QueryResultRow } from 'pg';
import type { Deadline } from '../../../lib/deadline.js';
import { Unavailable } from '../failures.js';
import type { NamedQuery } from './named.js';

/** The key of the one row that a short write locks; its digest or id. */
export type RowKey = Buffer | string;

/** What a batcher must know of a statement besides its text. */
export type Terms = {
  /** Of a write: the key of the row that it locks. Null for look-ups, which lock none. */
  readonly key: RowKey | null;
  readonly deadline: Deadline;
};

/** A statement that has been asked for and not been answered. */
export type PendingStatement = Terms & {
  readonly query: NamedQuery;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly resolve: (rows: QueryResultRow[]) => void;
  readonly reject: (error: unknown) => void;
  /** How often it was run in a batch that failed because of another statement, or of the connection. */
  attempts: number;
};

/**
 * The order of the statements within a batch, everywhere the same: by the keys of the rows that they lock. So two batches, whatever statements
 * they hold, never each wait for a row of the other's.
 */
export function byKey({ key: one }: PendingStatement, { key: other }: PendingStatement): number {
  if (Buffer.isBuffer(one) && Buffer.isBuffer(other)) return one.compare(other);
  if (typeof one === 'string' && typeof other === 'string') return one < other ? -1 : one > other ? 1 : 0;
  return Number(typeof one === 'string') - Number(typeof other === 'string');
}

/** Refuses those whose time is up, for nothing is begun for them. @returns the others; the same array when there are none to refuse */
export function withoutExpired(waiting: PendingStatement[]): PendingStatement[] {
  if (waiting.every(({ deadline }) => deadline.left() > 0)) return waiting;
  return waiting.filter((one) => {
    const open = one.deadline.left() > 0;
    if (!open) one.reject(new Unavailable('the time of the request was up before its statement began', null));
    return open;
  });
}
