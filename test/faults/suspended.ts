// Fault F22: a process is suspended past its lease and resumed. Another delivers; the late result is fenced off, not recorded as a second success.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { listAttempts } from '../support/deliveries.js';
import { startReceiver } from '../support/receiver.js';
import { startReplica } from '../support/replica.js';
import { addWebhook, emitRoles, eventually, settledDeliveries } from '../support/webhooks.js';
import { playDirectly, type Scenario } from './scenario.js';

export const suspended: Scenario = async ({ url, secretKey, ctx }) => {
  const settings = { WEBHOOK_TIMEOUT_MS: '1000' };
  const held: ServerResponse[] = [];
  let holding = true;
  const receiver = await startReceiver((_post, res) => (holding ? held.push(res) : res.end()));
  const { webhook } = await addWebhook(ctx, receiver.url);
  const first = await startReplica(url, secretKey, settings);
  await emitRoles(ctx);
  await receiver.received(1);
  first.process.kill('SIGSTOP');
  holding = false;
  for (const res of held) res.end('late');
  const second = await startReplica(url, secretKey, settings);
  const [delivery] = await settledDeliveries(ctx, webhook.id, 1, 30_000);
  first.process.kill('SIGCONT');
  await eventually(async () => first.log.some((line) => line.includes('webhook.lease_lost')));
  const attempts = await listAttempts(ctx.scope, [delivery?.id ?? '']);
  const [after] = await settledDeliveries(ctx, webhook.id);
  for (const replica of [first, second]) await replica.end('SIGTERM');
  await receiver.close();
  assert.equal(attempts.length, 1);
  assert.deepEqual([after?.status, after?.attempt_count], ['succeeded', 1]);
  assert.equal(new Set(receiver.posts.map((post) => post.body)).size, 1);
  return { posts: receiver.posts.length, attempts_recorded: attempts.length };
};

await playDirectly(import.meta.url, suspended);
