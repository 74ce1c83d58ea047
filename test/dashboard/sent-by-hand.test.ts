// What an administrator sends by hand: a test is answered on the next page, and what failed is sent again after its number was told.
import { afterAll, describe, expect, test } from 'vitest';
import { transaction } from '../../src/domain/context.js';
import { redeliverFailed } from '../../src/domain/webhooks/webhooks.js';
import { countRedeliveries } from '../../src/db/tables/webhook_deliveries.js';
import { signedInWith } from '../support/administrators.js';
import { csrfOf } from '../support/browser.js';
import { addEnvironment } from '../support/data.js';
import { listDeliveries } from '../support/deliveries.js';
import { startReceiver, type Receiver, type Reply } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook, emitRoles, eventually } from '../support/webhooks.js';

// The second attempt comes ten seconds after the first.
const service = sharedService(() => startTestService({ WEBHOOK_RETRY_BASE_MS: '10000', WEBHOOK_TIMEOUT_MS: '20000' }));
const receivers: Receiver[] = [];

const ctx = contextOf(service);
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
});

async function hooked(reply: Reply): Promise<{ id: string; receiver: Receiver }> {
  const receiver = await startReceiver(reply);
  receivers.push(receiver);
  const { webhook } = await addWebhook(ctx, receiver.url, { events: ['role.created'] });
  return { id: webhook.id, receiver };
}

const writer = () => signedInWith(service, 'webhooks:read', 'webhooks:write', 'roles:read', 'permissions:read', 'api_resources:read');

/** Presses "Send test"; answers the page that follows, and after how many milliseconds. */
async function tested(id: string): Promise<{ html: string; ms: number }> {
  const browser = await writer();
  const page = await (await browser.get(`/dashboard/webhooks/${id}`)).text();
  const once = /name="once" value="([^"]*)"/.exec(page)?.[1];
  const began = performance.now();
  const answer = await browser.post(`/dashboard/webhooks/${id}/test`, { _csrf: csrfOf(page), ...(once && { once }) });
  const ms = performance.now() - began;
  expect(answer.status).toBe(303);
  return { html: await (await browser.get(answer.headers.get('location') ?? '')).text(), ms };
}

describe('“Send test” shows the answer at once', () => {
  test('of a receiver that takes it: status, duration and the beginning of the body, as text (specification 9.3.5)', async () => {
    const { id } = await hooked((_post, res) => res.writeHead(202).end(`<b>got it</b> ${'x'.repeat(300)}`));
    const { html } = await tested(id);
    expect(html).toMatch(/data-tone="good"[\s\S]{0,400}The receiver answered 202 after [\d,]+ ms: “&lt;b&gt;got it&lt;\/b&gt; x{186}…”\./);
  });

  test('of one that refuses it, and of one that is not there', async () => {
    const { id, receiver } = await hooked(500);
    expect((await tested(id)).html).toMatch(/data-tone="bad"[\s\S]{0,400}The receiver answered 500 after [\d,]+ ms\./);
    await receiver.close();
    expect((await tested(id)).html).toMatch(/data-tone="bad"[\s\S]{0,400}nothing listens there after [\d,]+ ms\./);
  });

  test('and of one that never answers, after five seconds, that it is still under way, with a link (attack 16.1145)', async () => {
    const { id } = await hooked(() => undefined);
    const { html, ms } = await tested(id);
    expect(ms).toBeGreaterThan(4900);
    expect(html).toMatch(/Still under way: there is no answer yet\.[\s\S]*href="\/dashboard\/webhook_deliveries\/[^"]+"[^>]*>Check again/);
  });
});

describe('“Redeliver”', () => {
  const hourAgo = () => new Date(ctx.clock.now().getTime() - 3_600_000);

  test('says beforehand how many have failed and how many are being retried, and takes both (specification 9.3.6)', async () => {
    const { id, receiver } = await hooked(503);
    await emitRoles(ctx, 3);
    const statuses = async () => (await listDeliveries(ctx.scope, { webhook_id: id }, { limit: 10 })).map(({ status }) => status).sort();
    await eventually(async () => (await statuses()).join() === 'retrying,retrying,retrying');
    const [one] = await listDeliveries(ctx.scope, { webhook_id: id }, { limit: 10 });
    await ctx.db.knex('webhook_deliveries').where({ id: one?.id }).update({ status: 'failed', next_attempt_at: null });
    expect(await countRedeliveries(ctx.scope, id, [hourAgo(), ctx.clock.now()], 10)).toEqual([
      { failed: 1, retrying: 2 },
      { failed: 0, retrying: 0 },
    ]);
    expect(await countRedeliveries(ctx.scope, id, [hourAgo()], 1)).toEqual([{ failed: 1, retrying: 2 }]);
    const browser = await writer();
    const path = `/dashboard/webhooks/${id}/redeliver_failed`;
    const page = await (await browser.get(path)).text();
    expect(page).toMatch(/Of the last hour[\s\S]{0,300}1 failed, 2 being retried/);
    receiver.reply(200);
    const answer = await browser.post(path, { _csrf: csrfOf(page), period: '1h' });
    expect(answer.headers.get('location')).toMatch(/deliveries\?done=redelivered$/);
    await eventually(async () => (await statuses()).join() === 'failed,succeeded,succeeded,succeeded');
    expect(await (await browser.get(path)).text()).toMatch(/Of the last hour[\s\S]{0,300}None/);
  });

  test('takes nothing of another environment, nor of another period', async () => {
    const { id } = await hooked(503);
    await emitRoles(ctx);
    await eventually(async () => (await countRedeliveries(ctx.scope, id, [hourAgo()], 10))[0]?.retrying === 1);
    const other = await addEnvironment(service.deps, 'elsewhere');
    expect(await countRedeliveries(other.scope, id, [hourAgo()], 10)).toEqual([{ failed: 0, retrying: 0 }]);
    expect(await transaction(other, (tx) => redeliverFailed(tx, id, hourAgo()))).toBe(0);
    expect(await transaction(ctx, (tx) => redeliverFailed(tx, id, new Date(0), hourAgo()))).toBe(0);
    expect(await transaction(ctx, (tx) => redeliverFailed(tx, id, hourAgo()))).toBe(1);
  });
});
