// Fault F29, deliveries: SIGTERM with twenty of them in flight. What is answered in time is finished, the rest released; nothing is lost, nothing comes
// twice beyond what was in flight; the process ends with 0 within its grace, and another one need not wait for a lease.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { startReceiver } from '../support/receiver.js';
import { startReplica } from '../support/replica.js';
import { addWebhook, emitRoles, settledDeliveries } from '../support/webhooks.js';
import { bodiesByDelivery } from './kill-in-flight.js';
import { playDirectly, type Scenario } from './scenario.js';

const perWebhook = 5;
const graceMs = 30_000;
/** Long enough that nothing is taken over because its lease lapsed (35 s) while this plays. */
const timeoutMs = 10_000;

export const stoppedInFlight =
  (options: { inFlight: number }): Scenario =>
  async ({ url, secretKey, ctx }) => {
    const held: { path: string; res: ServerResponse }[] = [];
    let holding = true;
    const receiver = await startReceiver(({ path }, res) => (holding ? held.push({ path, res }) : res.end()));
    const webhooks = options.inFlight / perWebhook;
    const ids: string[] = [];
    for (let i = 0; i < webhooks; i++)
      ids.push((await addWebhook(ctx, `${receiver.url}/${i % 2 === 0 ? 'slow' : 'stuck'}/${i}`)).webhook.id);
    const replica = await startReplica(url, secretKey, { WEBHOOK_TIMEOUT_MS: String(timeoutMs) });
    // Three times what may be in flight: the rest is queued, claimed or not.
    await emitRoles(ctx, perWebhook * 3);
    await receiver.until(() => held.length >= options.inFlight, 15_000);
    const stoppedAt = performance.now();
    const exited = replica.end('SIGTERM');
    // Answered while the process stops: these are finished. The stuck ones are given back when half the deadline is over.
    await new Promise((resolve) => replica.process.stdout?.once('data', resolve));
    for (const { path, res } of held) if (path.startsWith('/slow')) res.end();
    const code = await exited;
    const tookMs = performance.now() - stoppedAt;
    const [leased] = await count(ctx.db.knex('webhook_queue').whereNotNull('leased_until'));
    const [succeeded] = await count(ctx.db.knex('webhook_deliveries').where({ status: 'succeeded' }));
    const [attempts] = await count(ctx.db.knex('webhook_delivery_attempts'));
    const before = receiver.posts.length;
    holding = false;
    const second = await startReplica(url, secretKey);
    const restartedAt = performance.now();
    for (const id of ids) await settledDeliveries(ctx, id, perWebhook * 3, 30_000);
    const doneMs = performance.now() - restartedAt;
    await second.end('SIGTERM');
    await receiver.close();
    const bodies = bodiesByDelivery(receiver.posts);
    const duplicates = [...bodies.values()].reduce((sum, list) => sum + list.length - 1, 0);
    const expected = webhooks * perWebhook * 3;
    assert.equal(code, 0);
    assert.ok(tookMs < graceMs, `took ${tookMs} ms`);
    assert.equal(leased, 0, 'leases left');
    // No new ones were started; what was answered is written down, once; what wasn't spent no attempt.
    assert.equal(before, options.inFlight);
    assert.equal(succeeded, options.inFlight / 2);
    assert.equal(attempts, options.inFlight / 2);
    assert.equal(bodies.size, expected);
    assert.equal(duplicates, options.inFlight / 2);
    for (const list of bodies.values()) assert.equal(new Set(list).size, 1);
    return {
      deliveries: expected,
      in_flight: before,
      finished: succeeded ?? 0,
      released: duplicates,
      exit_code: code ?? -1,
      exit_after_ms: Math.round(tookMs),
      done_ms_after_restart: Math.round(doneMs),
    };
  };

async function count(query: { count(what: string): PromiseLike<unknown> }): Promise<number[]> {
  return ((await query.count('* as count')) as { count: number }[]).map((row) => row.count);
}

await playDirectly(import.meta.url, stoppedInFlight({ inFlight: 20 }));
