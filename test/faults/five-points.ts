// Fault F02: SIGKILL at five points of one delivery. Never lost, at most one duplicate each.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startReceiver } from '../support/receiver.js';
import { startReplica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { addWebhook, emitRoles, settledDeliveries } from '../support/webhooks.js';
import { countFailedAttempts } from './kill-in-flight.js';
import { playDirectly, type Scenario } from './scenario.js';

export const points = ['claiming', 'claimed', 'sent', 'answered', 'recording'] as const;

export const fivePoints: Scenario = async ({ url, secretKey, ctx }) => {
  const settings = { WEBHOOK_TIMEOUT_MS: '1000' };
  const report: Record<string, string> = {};
  for (const point of points) {
    let restarted = false;
    const receiver = await startReceiver((_post, res) => (point === 'sent' && !restarted ? undefined : res.end()));
    const { webhook } = await addWebhook(ctx, receiver.url, { name: point });
    await emitRoles(ctx);
    const child = spawn(process.execPath, ['--import', 'tsx', 'test/support/crashing-replica.ts', point], {
      env: {
        PATH: process.env['PATH'],
        DATABASE_URL: url,
        SECRET_KEY: secretKey,
        PORT: String(await freePort()),
        LOG_LEVEL: 'silent',
        ...settings,
      },
      stdio: 'inherit',
    });
    const exited = once(child, 'exit');
    if (point === 'sent') {
      await receiver.received(1, 30_000);
      child.kill('SIGKILL');
    }
    const [, signal] = (await exited) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL', point);
    restarted = true;
    const replica = await startReplica(url, secretKey, settings);
    const [delivery] = await settledDeliveries(ctx, webhook.id, 1, 30_000);
    await replica.end('SIGTERM');
    await receiver.close();
    assert.equal(delivery?.status, 'succeeded', point);
    const most = 2 + (await countFailedAttempts(ctx));
    assert.ok(receiver.posts.length >= 1 && receiver.posts.length <= most, `${point}: ${receiver.posts.length} posts`);
    assert.equal(new Set(receiver.posts.map((post) => post.body)).size, 1, point);
    await ctx.db.knex('webhooks').where({ id: webhook.id }).delete();
    await ctx.db.knex('webhook_deliveries').delete();
    report[point] = `${receiver.posts.length} posts`;
  }
  return report;
};

await playDirectly(import.meta.url, fivePoints);
