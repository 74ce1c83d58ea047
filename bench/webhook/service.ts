import type { Knex } from 'knex';
import { transaction } from '../../src/domain/context.js';
import { createWebhook } from '../../src/domain/webhooks/webhooks.js';
import { startProduct } from '../targets/product.js';
import type { Courier, Destination, Message } from './courier.js';

const perStatement = 1000;

/** The service itself, as it is started: its outbox is filled in one transaction, whose commit wakes the loop. */
export async function startService(options: Parameters<typeof startProduct>[0] & { urls: readonly string[] }): Promise<Courier> {
  const product = await startProduct(options);
  const { ctx } = product;
  const ids: string[] = [];
  const destinations: Destination[] = [];
  for (const url of options.urls) {
    const { webhook, signing_secret } = await transaction(ctx, (tx) => createWebhook(tx, { name: 'Bench', url, events: ['*'] }));
    ids.push(webhook.id);
    destinations.push({ url, secret: signing_secret });
  }
  let open: Knex.Transaction | null = null;
  return {
    name: 'product',
    pid: product.pid,
    destinations,
    async load(messages) {
      const trx = (open = await ctx.db.knex.transaction());
      for (let i = 0; i < messages.length; i += perStatement) {
        const some = messages.slice(i, i + perStatement);
        const column = (of: (message: Message) => string) => some.map(of);
        await trx.raw(
          `select count(store_event(?, m.id, m.type, now(), m.body, array[m.webhook]))
           from unnest(?::uuid[], ?::text[], ?::text[], ?::uuid[]) as m (id, type, body, webhook)`,
          [
            ctx.environment.id,
            column(({ event_id }) => event_id),
            column(({ event_type }) => event_type),
            column(({ body }) => body),
            column(({ destination }) => ids[destination] ?? ''),
          ],
        );
      }
    },
    async go() {
      await open?.commit();
      open = null;
    },
    async isDone() {
      return (await ctx.db.knex('webhook_queue').first('delivery_id')) === undefined;
    },
    async stop() {
      if (open) await open.rollback();
      await product.stop();
    },
  };
}
