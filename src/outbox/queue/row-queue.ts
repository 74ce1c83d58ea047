import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import type { ClaimedRow, QueueRows } from '../../db/queue-rows.js';
import type { Job, AttemptOutcome, Queue } from './queue.js';

/** A claimed row of a table that is worked off as a queue. */
export type RowJob<Row> = Job & { readonly row: ClaimedRow<Row> };

const scanLimit = 1000;

/** The half of a queue that is the same for every such table: what is due, claims, and giving back. */
export const rowQueue = <Row extends { readonly id: string; readonly environment_id: string }>(
  rows: QueueRows<Row>,
  knex: Knex,
  leaseMs: number,
): Pick<Queue<RowJob<Row>, AttemptOutcome>, 'leaseMs' | 'recent' | 'fullScan' | 'nextDueIn' | 'claim' | 'release'> => ({
  leaseMs,
  recent: () => rows.findDue(knex, scanLimit),
  fullScan: () => rows.findAllDue(knex, scanLimit),
  nextDueIn: () => rows.millisecondsToNextDue(knex),
  async claim(claims) {
    const lease_id = randomUUID();
    const claimedAt = performance.now();
    const claimed = await rows.claim(knex, claims, { lease_id, leaseMs });
    return claimed.map((row) => ({
      destination: { environment_id: row.environment_id, id: row.destination_id },
      due_at: row.due_at,
      lease_id,
      claimedAt,
      row,
    }));
  },
  release: (jobs) =>
    rows.release(
      knex,
      jobs.map(({ row: { environment_id, id }, lease_id, due_at }) => ({ environment_id, id, lease_id, due_at })),
    ),
});
