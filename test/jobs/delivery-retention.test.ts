import { expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { sharedContext } from '../support/shared-context.js';
import { janitorPass } from '../../src/jobs/janitor.js';

const ctx = sharedContext();

/** `count` deliveries with an attempt each, of a webhook that doesn't matter; `completed` days ago, or not at all. */
async function insertDeliveries(count: number, status: string, completed: number | null, created = completed ?? 0): Promise<void> {
  await ctx.db.knex.raw(
    `with rows as (
       insert into webhook_deliveries (environment_id, id, webhook_id, event_id, event_type, payload, status, attempt_count, next_attempt_at,
         completed_at, created_at, updated_at)
       select :environment::uuid, gen_random_uuid(), :webhook::uuid, gen_random_uuid(), 'role.created', '{}', :status, 1,
         case when :completed::float8 is null then now() + interval '1 day' end, now() - :completed::float8 * interval '1 day',
         now() - :created::float8 * interval '1 day', now()
       from generate_series(1, :count::integer) returning environment_id, id, created_at)
     insert into webhook_delivery_attempts (environment_id, id, delivery_id, attempt_number, started_at, duration_ms)
     select environment_id, gen_random_uuid(), id, 1, created_at, 3 from rows`,
    { environment: ctx.environment.id, webhook: randomUUID(), status, completed, created, count },
  );
}

const left = async () =>
  Object.fromEntries(
    (
      (await ctx.db
        .knex('webhook_deliveries as d')
        .leftJoin('webhook_delivery_attempts as a', 'a.delivery_id', 'd.id')
        .select('d.status')
        .count('d.id as rows')
        .count('a.id as attempts')
        .groupBy('d.status')) as unknown as { status: string; rows: number; attempts: number }[]
    ).map(({ status, rows, attempts }) => [status, [rows, attempts]]),
  );

test('delivered and exhausted deliveries go 30 days after they ended, in batches of a thousand, their attempts with them', async () => {
  await insertDeliveries(2_300, 'succeeded', 30.1);
  await insertDeliveries(200, 'failed', 45);
  await insertDeliveries(3, 'succeeded', 29.9);
  await insertDeliveries(2, 'failed', 1, 40);
  await insertDeliveries(4, 'pending', null, 60);
  await insertDeliveries(5, 'retrying', null, 60);
  await ctx.db.knex.raw(
    `insert into events (environment_id, id, event_type, occurred_at, body)
     select ?, gen_random_uuid(), 'role.created', now() - days * interval '1 day', '{}' from unnest(array[20, 40]) days`,
    [ctx.environment.id],
  );
  const batches: number[] = [];
  ctx.db.knex.on('query-response', (response: { rowCount: number }, { sql }: { sql: string }) => {
    if (sql.startsWith('delete from "webhook_deliveries_first"')) batches.push(response.rowCount);
  });
  expect(await janitorPass(ctx)).toMatchObject({ webhook_deliveries: 2_500, events: 1 });
  expect(batches).toEqual([1000, 1000, 500]);
  // What ended lately stays however old it is, and what hasn't ended stays in any case.
  expect(await left()).toEqual({ succeeded: [3, 3], failed: [2, 2], pending: [4, 4], retrying: [5, 5] });
  expect(await janitorPass(ctx)).toMatchObject({ webhook_deliveries: 0 });
  const [attempts] = (await ctx.db.knex('webhook_delivery_attempts').count('* as count')) as unknown as { count: number }[];
  expect(attempts?.count).toBe(14);
});

test('a delivery that is held by somebody else is left for the next pass', async () => {
  await insertDeliveries(2, 'succeeded', 31);
  await ctx.db.knex.transaction(async (trx) => {
    await trx('webhook_deliveries')
      .where('completed_at', '<', ctx.db.knex.raw(`now() - interval '30 days'`))
      .limit(1)
      .forUpdate()
      .first('id');
    expect(await janitorPass(ctx)).toMatchObject({ webhook_deliveries: 1 });
  });
  expect(await janitorPass(ctx)).toMatchObject({ webhook_deliveries: 1 });
});
