// What a claim reads of the queue while the statistics are those of before a burst.
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { claimDeliveries } from '../../src/db/tables/webhook_queue.js';
import { sharedContext } from '../support/shared-context.js';

const ctx = sharedContext();
const waiting = 3_000;

/** Due deliveries, each of a webhook of its own. */
const insert = () =>
  ctx.db.knex.raw(
    `insert into webhook_deliveries (environment_id, id, webhook_id, event_id, event_type, payload, next_attempt_at, created_at, updated_at)
     select ?::uuid, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'role.created', '{}', now() - interval '1 minute', now(), now()
     from generate_series(1, ?::integer)`,
    [ctx.environment.id, waiting],
  );

beforeAll(async () => {
  // As autovacuum leaves them after a burst: pages, and nothing on them.
  await insert();
  await ctx.db.knex('webhook_deliveries').delete();
  await ctx.db.knex.raw('vacuum (truncate off, analyze) webhook_queue');
  await insert();
});

test('a claim for some of many webhooks reads what is due of these alone', async () => {
  const wanted = (await ctx.db.knex('webhook_queue').select('environment_id', 'webhook_id', 'next_attempt_at').limit(50)) as {
    environment_id: string;
    webhook_id: string;
    next_attempt_at: Date;
  }[];
  const trx = await ctx.db.knex.transaction();
  try {
    const readSoFar = async () => {
      const { rows } = await trx.raw<{ rows: { read: string }[] }>(
        `select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables where relname = 'webhook_queue'`,
      );
      return Number(rows[0]?.read ?? 0);
    };
    const before = await readSoFar();
    const claimed = await claimDeliveries(
      trx,
      wanted.map(({ next_attempt_at, ...webhook }) => ({ ...webhook, due_at: next_attempt_at, limit: 5 })),
      { lease_id: randomUUID(), leaseMs: 60_000 },
    );
    expect(new Set(claimed.map(({ webhook }) => webhook.id))).toEqual(new Set(wanted.map(({ webhook_id }) => webhook_id)));
    // Each is found, and locked, once.
    expect((await readSoFar()) - before).toBeLessThanOrEqual(2 * wanted.length);
  } finally {
    await trx.rollback();
  }
});
