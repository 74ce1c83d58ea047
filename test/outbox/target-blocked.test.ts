// webhook.target_blocked: a delivery whose receiver lies where outbound requests may not go.
import { expect, test } from 'vitest';
import { auditRows, eventLines } from '../support/security-events.js';
import { startReceiver } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook, emitRoles, eventually } from '../support/webhooks.js';

const service = sharedService(() => startTestService({ ALLOW_PRIVATE_NETWORK: 'on', WEBHOOK_RETRY_BASE_MS: '3600000' }));
const ctx = contextOf(service);

test('is told with the webhook and the delivery, by the service; all of a minute share a row', async () => {
  const webhook = await addWebhook(ctx, 'http://169.254.169.254/latest/meta-data');
  await emitRoles(ctx, 3);
  const lines = await eventually(async () => {
    const found = eventLines(service, 'webhook.target_blocked').filter((line) => line['target_id'] === webhook.webhook.id);
    return found.length === 3 && found;
  });
  const said = {
    outcome: 'denied',
    actor_kind: 'system',
    target_type: 'webhook',
    target_id: webhook.webhook.id,
    reason: 'blocked_address',
  };
  expect(lines[0]).toMatchObject({ ...said, severity: 'warning', environment_id: ctx.environment.id, ip_address: null, request_id: null });
  const rows = await auditRows(service, 'webhook.target_blocked');
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(3);
  expect(rows.length).toBeLessThanOrEqual(2);
  expect(rows[0]).toMatchObject({ ...said, actor_id: null, environment_id: ctx.environment.id });
  // The address itself stands in the webhook; neither the row nor the line repeats what somebody wrote there.
  expect(JSON.stringify([rows, lines])).not.toContain('169.254');
});

test('is not told of one that fails in another way', async () => {
  const receiver = await startReceiver(500);
  try {
    const before = eventLines(service, 'webhook.target_blocked').length;
    const { webhook } = await addWebhook(ctx, receiver.url);
    await emitRoles(ctx, 1);
    await eventually(async () => (await ctx.scope.knex('webhook_delivery_attempts').where({ failure_reason: 'non_2xx' })).length > 0);
    expect(eventLines(service, 'webhook.target_blocked').filter((line) => line['target_id'] === webhook.id)).toEqual([]);
    expect(eventLines(service, 'webhook.target_blocked').length).toBeGreaterThanOrEqual(before);
  } finally {
    await receiver.close();
  }
});
