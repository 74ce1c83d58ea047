// What is due stands in a queue of its own; triggers of the history keep it, whoever writes there.
import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { beforeEach, expect, test } from 'vitest';
import { transaction } from '../../../src/domain/context.js';
import { redeliver } from '../../../src/domain/webhooks/webhooks.js';
import { claimDeliveries, releaseDeliveries, type ClaimedDelivery } from '../../../src/db/tables/webhook_queue.js';
import { recordWebhookAttempts, type AttemptResult } from '../../../src/db/tables/webhook_recording.js';
import { sharedContext } from '../../support/shared-context.js';
import { addWebhook, emitRoles } from '../../support/webhooks.js';

const ctx = sharedContext();
let webhook_id: string;
const environment_id = () => ctx.environment.id;

beforeEach(async () => {
  webhook_id = (await addWebhook(ctx, 'http://127.0.0.1:9/')).webhook.id;
});

const waiting = async (knex: Knex = ctx.db.knex) =>
  (await knex('webhook_queue').where({ webhook_id }).orderBy('next_attempt_at')) as {
    delivery_id: string;
    lease_id: string | null;
    next_attempt_at: Date;
    by_event: boolean;
  }[];
const history = (knex: Knex = ctx.db.knex) => knex('webhook_deliveries').where({ webhook_id });
const claim = (knex: Knex, lease_id: string, limit = 10) =>
  claimDeliveries(knex, [{ environment_id: environment_id(), webhook_id, due_at: new Date(0), limit }], { lease_id, leaseMs: 60_000 });

const outcome = ({ id }: ClaimedDelivery, lease_id: string, more: Partial<AttemptResult> = {}): AttemptResult => ({
  environment_id: environment_id(), id, webhook_id, lease_id, by_event: true, attempt_id: randomUUID(), started_at: new Date(), ended_at: new Date(), duration_ms: 3,
  response_status: 200, response_body: 'ok', response_truncated: false, failure_reason: null, retry_in_ms: null, ...more,
}); // prettier-ignore

test('a delivery is in the queue as long as it is due, and leaves nothing behind when it is deleted', async () => {
  await emitRoles(ctx, 3);
  const [first, second] = await waiting();
  expect(await waiting()).toMatchObject([{ by_event: true }, { by_event: true }, { by_event: true }]);
  await history().where({ id: first?.delivery_id }).update({ next_attempt_at: null, status: 'failed' });
  expect(await waiting()).toHaveLength(2);
  const later = new Date(Date.now() + 60_000);
  await history().where({ id: second?.delivery_id }).update({ next_attempt_at: later });
  expect((await waiting()).map((row) => row.next_attempt_at.getTime())).toContain(later.getTime());
  const again = await transaction(ctx, (tx) => redeliver(tx, first?.delivery_id ?? ''));
  expect((await waiting()).find((row) => row.delivery_id === again?.id)).toMatchObject({ by_event: false });
  expect(await ctx.db.knex('troubled_deliveries').where({ webhook_id })).toMatchObject([{ delivery_id: first?.delivery_id }]);
  await history().delete();
  expect([await waiting(), await ctx.db.knex('troubled_deliveries').where({ webhook_id })]).toEqual([[], []]);
});

/** Updates, updates in place and deletions of the history, then of the queue, as the connection has counted them by now. */
const changes = async (trx: Knex.Transaction): Promise<number[]> => {
  const { rows } = await trx.raw<{ rows: { counts: number[] }[] }>(
    `select array[n_tup_upd, n_tup_hot_upd, n_tup_del]::int[] as counts from pg_stat_xact_user_tables
     where relname in ('webhook_deliveries_first', 'webhook_queue') order by relname`,
  );
  return rows.flatMap(({ counts }) => counts);
};

test('claiming and recording change the history once, without an entry in any index', async () => {
  await emitRoles(ctx, 5);
  await ctx.db.knex.transaction(async (trx) => {
    const before = await changes(trx);
    const claimed = await claim(trx, webhook_id);
    expect(claimed).toHaveLength(5);
    const recorded = await recordWebhookAttempts(
      trx,
      claimed.map((one) => outcome(one, webhook_id)),
    );
    expect(recorded).toEqual([]);
    // One change of each delivery, one of its row in the queue (the lease), and that gone: all on their pages.
    expect((await changes(trx)).map((count, i) => count - (before[i] ?? 0))).toEqual([5, 5, 0, 5, 5, 5]);
  });
  expect(await history().select('status', 'attempt_count')).toEqual(
    Array.from({ length: 5 }, () => ({ status: 'succeeded', attempt_count: 1 })),
  );
  expect(await waiting()).toEqual([]);
});

test('an attempt that failed moves its delivery in the queue, free for anybody', async () => {
  await emitRoles(ctx, 1);
  const [one] = await claim(ctx.db.knex, webhook_id);
  if (!one) throw new Error('nothing was claimed');
  const failure = outcome(one, webhook_id, { response_status: 503, failure_reason: 'non_2xx', retry_in_ms: 3_600_000 });
  expect(await recordWebhookAttempts(ctx.db.knex, [failure])).toMatchObject([{ id: one.id, is_lost: false, failed_event_count: 0 }]);
  const [row] = await waiting();
  expect(row).toMatchObject({ lease_id: null, next_attempt_at: (await history().first('next_attempt_at'))?.next_attempt_at });
  expect(row?.next_attempt_at.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
  expect(await ctx.db.knex('troubled_deliveries').where({ webhook_id })).toHaveLength(1);
});

test('what was taken over, or given back, is not recorded', async () => {
  await emitRoles(ctx, 2);
  const [lease_id, other] = [randomUUID(), randomUUID()];
  const [taken, given] = await claim(ctx.db.knex, lease_id);
  if (!taken || !given) throw new Error('nothing was claimed');
  await ctx.db
    .knex('webhook_queue')
    .where({ delivery_id: taken.id })
    .update({ leased_until: new Date(0) });
  expect((await claim(ctx.db.knex, other)).map(({ id }) => id)).toEqual([taken.id]);
  await releaseDeliveries(ctx.db.knex, [{ environment_id: environment_id(), id: given.id, lease_id }]);
  const notable = await recordWebhookAttempts(ctx.db.knex, [outcome(taken, lease_id), outcome(given, lease_id)]);
  expect(notable.map(({ id, is_lost }) => [id, is_lost]).sort()).toEqual([taken, given].map(({ id }) => [id, true]).sort());
  expect(await history().select('status', 'attempt_count')).toEqual(
    Array.from({ length: 2 }, () => ({ status: 'pending', attempt_count: 0 })),
  );
  expect((await waiting()).map((row) => row.lease_id).sort()).toEqual([other, null].sort());
});
