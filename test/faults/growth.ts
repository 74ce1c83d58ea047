// Fault F28, and growth: the claim stays fast behind a million finished deliveries, and while a long transaction keeps every dead row.
// Smaller: npx tsx test/faults/growth.ts <finished rows> <events>
import assert from 'node:assert/strict';
import pg from 'pg';
import { startWebhookLoop } from '../../src/outbox/webhooks/loop.js';
import { startReceiver } from '../support/receiver.js';
import { addWebhook, emitRoles, eventually } from '../support/webhooks.js';
import { playDirectly, type Scenario } from './scenario.js';

export const growth =
  (options: { finished: number; events: number }): Scenario =>
  async ({ url, ctx }) => {
    const receiver = await startReceiver();
    const { webhook } = await addWebhook(ctx, receiver.url);
    const sql = new pg.Client({ connectionString: url });
    await sql.connect();
    await sql.query(
      `insert into webhook_deliveries (environment_id, id, webhook_id, event_id, event_type, payload, status, attempt_count, completed_at, created_at, updated_at)
       select $1, uuid_v7(now()), $2, gen_random_uuid(), 'role.created', '{}', 'succeeded', 1, now(), now(), now() from generate_series(1, $3)`,
      [ctx.environment.id, webhook.id, options.finished],
    );
    // From here on nothing that dies can be removed.
    await sql.query('set idle_in_transaction_session_timeout = 0');
    await sql.query('begin isolation level repeatable read');
    await sql.query('select count(*) from webhooks');
    const loop = startWebhookLoop(ctx);
    const delays: number[] = [];
    for (let sent = 0; sent < options.events; sent += 50) {
      const started = performance.now();
      await emitRoles(ctx, 50);
      loop.wake();
      await receiver.received(sent + 50, 60_000);
      delays.push(performance.now() - started);
    }
    await eventually(async () => !(await ctx.db.knex('webhook_deliveries').whereNotNull('next_attempt_at').first('id')));
    const claims = await claimPercentiles(ctx.metrics.claimSeconds);
    await loop.stop();
    await sql.query('rollback');
    await sql.end();
    await receiver.close();
    assert.equal(receiver.posts.length, options.events);
    const tail = delays.slice(-Math.ceil(delays.length / 5)).sort((one, other) => one - other);
    return {
      finished_rows: options.finished,
      events_during_long_transaction: options.events,
      claims: claims.count,
      claims_within_50_ms: `${((claims.within50 / claims.count) * 100).toFixed(2)} %`,
      last_fifth_batch_of_50_median_ms: Math.round(tail[Math.floor(tail.length / 2)] ?? 0),
    };
  };

async function claimPercentiles(histogram: { get(): Promise<{ values: { metricName?: string; value: number; labels: object }[] }> }) {
  const { values } = await histogram.get();
  const count = values.find((one) => one.metricName?.endsWith('_count'))?.value ?? 0;
  const within50 = values.find((one) => 'le' in one.labels && one.labels.le === 0.05)?.value ?? 0;
  return { count, within50 };
}

const [finished = 1_000_000, events = 20_000] = process.argv.slice(2).map(Number);
await playDirectly(import.meta.url, growth({ finished, events }));
