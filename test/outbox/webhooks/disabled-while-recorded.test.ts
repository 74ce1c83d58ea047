import { expect, test } from 'vitest';
import { transaction } from '../../../src/domain/context.js';
import { updateWebhook } from '../../../src/domain/webhooks/webhooks.js';
import { startReceiver } from '../../support/receiver.js';
import { startTestService } from '../../support/service.js';
import { addWebhook, emitRoles, eventually, settledDeliveries } from '../../support/webhooks.js';
import { contextOf, sharedService } from '../../support/shared-service.js';

const service = sharedService(() => startTestService({ WEBHOOK_RETRY_BASE_MS: '3600000' }));
const ctx = contextOf(service);

test('a webhook that is disabled just as a failed attempt is being recorded: the delivery ends, no retry is left', async () => {
  const receiver = await startReceiver(503);
  const { webhook } = await addWebhook(ctx, receiver.url);
  await transaction(ctx, async (tx) => {
    await updateWebhook(tx, webhook, { status: 'disabled' });
    // Seen by the service as enabled until this transaction commits, which waits until the attempt is being recorded.
    await emitRoles(ctx);
    await receiver.received(1);
    await eventually(async () => {
      const { rows } = await ctx.db.knex.raw<{ rows: unknown[] }>(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%retry_in_ms%'`,
      );
      return rows.length > 0;
    });
  });
  expect(await settledDeliveries(ctx, webhook.id)).toMatchObject([
    { status: 'failed', failure_reason: 'webhook_disabled', attempt_count: 1 },
  ]);
  expect(receiver.posts).toHaveLength(1);
  await receiver.close();
});
