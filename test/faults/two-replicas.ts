// 10,000 queued deliveries, two replicas: each sent once, none lost.
import assert from 'node:assert/strict';
import { startReceiver } from '../support/receiver.js';
import { startReplica } from '../support/replica.js';
import { addWebhook, emitRoles, settledDeliveries } from '../support/webhooks.js';
import { bodiesByDelivery, countFailedAttempts } from './kill-in-flight.js';
import { playDirectly, type Scenario } from './scenario.js';

export const twoReplicas =
  (deliveries: number): Scenario =>
  async ({ url, secretKey, ctx }) => {
    const webhooks = 20;
    const receiver = await startReceiver();
    const ids: string[] = [];
    for (let i = 0; i < webhooks; i++) ids.push((await addWebhook(ctx, `${receiver.url}/${i}`)).webhook.id);
    for (let left = deliveries / webhooks; left > 0; left -= 250) await emitRoles(ctx, Math.min(250, left));
    const replicas = await Promise.all([startReplica(url, secretKey), startReplica(url, secretKey)]);
    await receiver.received(deliveries, 120_000);
    const [first, last] = [receiver.posts[0]?.at ?? 0, receiver.posts[deliveries - 1]?.at ?? 0];
    for (const id of ids) await settledDeliveries(ctx, id, deliveries / webhooks, 60_000);
    const counts = await Promise.all(replicas.map((replica) => countSucceeded(replica.url)));
    const codes = await Promise.all(replicas.map((replica) => replica.end('SIGTERM')));
    const statuses = await ctx.db.knex('webhook_deliveries').select('status').count('* as count').groupBy('status');
    const [attempts] = (await ctx.db.knex('webhook_delivery_attempts').count('* as count')) as unknown as { count: number }[];
    await receiver.close();
    assert.deepEqual(statuses, [{ status: 'succeeded', count: deliveries }]);
    assert.equal(bodiesByDelivery(receiver.posts).size, deliveries);
    // Each sent once; on a machine too busy to answer in time, once more for each attempt that the log shows as failed.
    const failures = await countFailedAttempts(ctx);
    assert.equal(attempts?.count, deliveries + failures);
    assert.ok(receiver.posts.length <= deliveries + failures, `${receiver.posts.length} posts, ${failures} failed attempts`);
    assert.deepEqual(codes, [0, 0]);
    return {
      deliveries,
      seconds: (last - first) / 1000,
      per_second: Math.round((deliveries / (last - first)) * 1000),
      by_replica: counts.join(' + '),
    };
  };

async function countSucceeded(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/outbox_attempts_total\{queue="webhook",outcome="succeeded"\} (\d+)/.exec(text)?.[1] ?? 0);
}

await playDirectly(import.meta.url, twoReplicas(10_000));
