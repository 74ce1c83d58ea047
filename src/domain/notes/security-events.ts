import type { CountedAuditLogRow } from '../../db/tables/audit_logs.js';

const minuteMs = 60_000;
/** Rows of collected events that one process may make for an environment in a minute; further ones share one row per event. */
const rowsPerMinute = 100;
/** Rows that wait to be written at most, all environments together. */
const maxWaiting = 1_000;

/** Rows of collected events between two writes. */
export type SecurityTrail = {
  add(row: CountedAuditLogRow, many: () => CountedAuditLogRow): void;
  /** The rows collected since the last call, and how many events were dropped for want of room. */
  take(now: Date): { rows: CountedAuditLogRow[]; dropped: number };
  /** Rows that were taken and couldn't be written. They count for the minute in which they were added, as far as there is room. */
  putBack(rows: readonly CountedAuditLogRow[]): void;
  /** Runs one write after the other: whose write has ended knows that all that happened before it is written. */
  inTurn(write: () => Promise<void>): Promise<void>;
};

export function createSecurityTrail(): SecurityTrail {
  let waiting = new Map<string, CountedAuditLogRow>();
  let dropped = 0;
  let last: Promise<void> = Promise.resolve();
  const minutes = new Map<string, { readonly minute: number; readonly ids: Set<string> }>();

  function idsOf({ environment_id, occurred_at }: CountedAuditLogRow): Set<string> {
    const minute = minuteOf(occurred_at);
    let known = minutes.get(environment_id);
    if (!known || known.minute < minute) minutes.set(environment_id, (known = { minute, ids: new Set() }));
    return known.ids;
  }

  function put(row: CountedAuditLogRow): void {
    const there = waiting.get(row.id);
    if (there) waiting.set(row.id, { ...there, count: there.count + row.count });
    else if (waiting.size < maxWaiting) waiting.set(row.id, row);
    else dropped += row.count;
  }

  return {
    add(row, many) {
      const ids = idsOf(row);
      if (!ids.has(row.id) && ids.size >= rowsPerMinute) return put(many());
      ids.add(row.id);
      put(row);
    },
    take(now) {
      const taken = { rows: [...waiting.values()], dropped };
      waiting = new Map();
      dropped = 0;
      for (const [environment_id, { minute }] of minutes) if (minute < minuteOf(now)) minutes.delete(environment_id);
      return taken;
    },
    putBack(rows) {
      for (const row of rows) put(row);
    },
    inTurn: (write) => (last = last.then(write, write)),
  };
}

/** The start of the minute, in milliseconds. */
export const minuteOf = (at: Date) => Math.floor(at.getTime() / minuteMs) * minuteMs;
