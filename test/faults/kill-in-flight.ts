// Fault F01: SIGKILL of a process with 200 deliveries in flight. All arrive; twice at most those that were in flight, with the same event_id and bytes.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { startReceiver, type ReceivedPost } from '../support/receiver.js';
import { startReplica } from '../support/replica.js';
import { addWebhook, emitRoles, settledDeliveries } from '../support/webhooks.js';
import { playDirectly, type Scenario, type Stage } from './scenario.js';

const perWebhook = 5;
const timeoutMs = 3000;
const leaseMs = timeoutMs * 3.5;

/** What came for each webhook and event: the bodies, in order. */
export function bodiesByDelivery(posts: readonly ReceivedPost[]): Map<string, string[]> {
  const bodies = new Map<string, string[]>();
  for (const { path, event_id, body } of posts) {
    const key = `${path} ${event_id}`;
    bodies.set(key, [...(bodies.get(key) ?? []), body]);
  }
  return bodies;
}

export async function countFailedAttempts(ctx: Stage['ctx']): Promise<number> {
  const [row] = (await ctx.db.knex('webhook_delivery_attempts').whereNotNull('failure_reason').count('* as count')) as unknown as {
    count: number;
  }[];
  return row?.count ?? 0;
}

export const killInFlight =
  (options: { inFlight: number; replicas: 1 | 2 }): Scenario =>
  async ({ url, secretKey, ctx }) => {
    const settings = { WEBHOOK_TIMEOUT_MS: String(timeoutMs), WEBHOOK_RETRY_BASE_MS: '100', WEBHOOK_RETRY_FACTOR: '1' };
    const held: ServerResponse[] = [];
    let holding = true;
    const receiver = await startReceiver((_post, res) => (holding ? held.push(res) : res.end()));
    const webhooks = options.inFlight / perWebhook;
    const ids: string[] = [];
    for (let i = 0; i < webhooks; i++) ids.push((await addWebhook(ctx, `${receiver.url}/${i}`)).webhook.id);
    const started = await Promise.all(Array.from({ length: options.replicas }, () => startReplica(url, secretKey, settings)));
    await emitRoles(ctx, perWebhook * options.replicas);
    await receiver.until(() => held.length >= options.inFlight, 15_000);
    const [victim, ...others] = started;
    await victim?.end('SIGKILL');
    const killedAt = performance.now();
    const before = receiver.posts.length;
    holding = false;
    for (const res of held) res.end();
    if (options.replicas === 1) others.push(await startReplica(url, secretKey, settings));
    for (const id of ids) await settledDeliveries(ctx, id, perWebhook * options.replicas, 60_000);
    const doneMs = performance.now() - killedAt;
    const statuses = await ctx.db.knex('webhook_deliveries').select('status').count('* as count').groupBy('status');
    const bodies = bodiesByDelivery(receiver.posts);
    const duplicates = [...bodies.values()].reduce((sum, list) => sum + list.length - 1, 0);
    const again = receiver.posts.slice(before).find((post) => (bodies.get(`${post.path} ${post.event_id}`)?.length ?? 0) > 1);
    for (const other of others) await other.end('SIGTERM');
    await receiver.close();
    const expected = webhooks * perWebhook * options.replicas;
    assert.deepEqual(statuses, [{ status: 'succeeded', count: expected }]);
    assert.equal(bodies.size, expected);
    for (const list of bodies.values()) assert.equal(new Set(list).size, 1);
    // On a machine too busy to answer in time some attempts fail and are repeated: those are in the log.
    const failures = await countFailedAttempts(ctx);
    assert.ok(duplicates <= before + failures, `${duplicates} duplicates, ${before} in flight at most, ${failures} failed attempts`);
    assert.ok(doneMs < leaseMs + 20_000, `took ${doneMs} ms`);
    return {
      deliveries: expected,
      in_flight_at_kill: before,
      duplicates,
      failed_attempts: failures,
      all_done_ms_after_kill: Math.round(doneMs),
      first_redelivery_ms_after_kill: again ? Math.round(again.at - killedAt) : 'none',
      lease_ms: leaseMs,
    };
  };

await playDirectly(import.meta.url, killInFlight({ inFlight: 200, replicas: 1 }));
