// What the triggers of webhook_deliveries read of the queue, while the statistics are those of before a burst.
import type { Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { sharedContext } from '../support/shared-context.js';

const ctx = sharedContext();
const waiting = 5_000;

/** Deliveries that wait and were refused before, or have succeeded. */
const insert = (count: number, waits: boolean) =>
  ctx.db.knex.raw(
    `insert into webhook_deliveries (environment_id, id, webhook_id, event_id, event_type, payload, status, last_response_status, next_attempt_at,
       completed_at, created_at, updated_at)
     select :environment::uuid, gen_random_uuid(), :webhook::uuid, gen_random_uuid(), 'role.created', '{}', case when w then 'retrying' else 'succeeded' end,
       case when w then 500 end, case when w then timestamptz '2100-01-01' end, case when not w then now() end, now(), now()
     from (select :waits::boolean as w from generate_series(1, :count::integer)) as rows`,
    { environment: ctx.environment.id, webhook: randomUUID(), waits, count },
  );

beforeAll(async () => {
  // As autovacuum leaves them after a burst: pages, and nothing on them.
  await insert(waiting, true);
  await ctx.db.knex('webhook_deliveries').delete();
  await ctx.db.knex.raw('vacuum (truncate off, analyze) webhook_queue, troubled_deliveries');
  await insert(waiting, true);
  await insert(200, false);
});

/** How many rows of the queue, and of what is in trouble, the transaction has read so far. */
async function readBy(trx: Knex.Transaction): Promise<number[]> {
  const { rows } = await trx.raw<{ rows: { read: string }[] }>(
    `select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables
     where relname in ('webhook_queue', 'troubled_deliveries') order by relname`,
  );
  return rows.map(({ read }) => Number(read));
}

const some = 'id in (select id from webhook_deliveries where next_attempt_at is not null limit 100)';

test.each([
  ['that have ended are deleted', 200, 'delete from webhook_deliveries where completed_at is not null'],
  ['that wait are deleted', 100, `delete from webhook_deliveries where ${some}`],
  ['are recorded', 100, `update webhook_deliveries set next_attempt_at = null, status = 'succeeded', completed_at = now() where ${some}`],
])('when deliveries %s, only their own rows of the queue are read', async (_, count, change) => {
  const trx = await ctx.db.knex.transaction();
  try {
    const before = await readBy(trx);
    const { rowCount } = await trx.raw<{ rowCount: number }>(change);
    const read = (await readBy(trx)).map((rows, index) => rows - (before[index] as number));
    expect([rowCount, read.length]).toEqual([count, 2]);
    expect(Math.max(...read)).toBeLessThanOrEqual(count);
  } finally {
    await trx.rollback();
  }
});
