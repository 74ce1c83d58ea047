import { beforeAll, expect, test } from 'vitest';
import type { Context } from '../../src/domain/context.js';
import { insert } from '../../src/db/scope.js';
import { uuidv7 } from '../../src/lib/random.js';
import { signedInWith } from '../support/administrators.js';
import { addEnvironment } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook } from '../support/webhooks.js';

const service = sharedService();
let webhook: string;
// Bytes that laying out would change.
const payload = '{"id":"1",  "data":{"name":"Zoë <b>","n":1.0}}';

async function delivered(scope: Context['scope'], webhook_id: string, durations: readonly number[]): Promise<string> {
  const now = ctx.clock.now();
  const id = uuidv7(now.getTime());
  await insert(scope, 'webhook_deliveries', {
    id,
    webhook_id,
    event_id: id,
    event_type: 'user.created',
    payload,
    status: 'succeeded',
    attempt_count: durations.length,
    completed_at: now,
    created_at: now,
    updated_at: now,
  });
  for (const [index, duration_ms] of durations.entries())
    await insert(scope, 'webhook_delivery_attempts', {
      id: uuidv7(now.getTime()),
      delivery_id: id,
      attempt_number: index + 1,
      started_at: now,
      duration_ms,
      response_status: 200,
    });
  return id;
}

const ctx = contextOf(service);

beforeAll(async () => {
  webhook = (await addWebhook(ctx, 'http://127.0.0.1:8999/a', { name: 'All', events: ['*'] })).webhook.id;
});

test('lists say how long the last attempt took', async () => {
  await delivered(ctx.scope, webhook, [9876, 1234]);
  const browser = await signedInWith(service, 'webhooks:read');
  for (const path of ['/dashboard/webhook_deliveries', `/dashboard/webhooks/${webhook}/deliveries`]) {
    const html = await (await browser.get(path)).text();
    expect(html).toMatch(/data-label="Duration"[^>]*>\s*(<[^>]+>)*1,234 ms/);
    expect(html).not.toMatch(/data-label="Duration"[^>]*>\s*(<[^>]+>)*9,876 ms/);
  }
});

test('the payload is a file of exactly the bytes that are sent, however old the sign-in', async () => {
  const id = await delivered(ctx.scope, webhook, [1]);
  const browser = await signedInWith(service, 'webhooks:read', 'users:read', 'roles:read');
  service.clock.advance(11 * 60_000);
  expect(await (await browser.get(`/dashboard/webhook_deliveries/${id}`)).text()).toContain(`/dashboard/webhook_deliveries/${id}/payload`);
  const file = await browser.get(`/dashboard/webhook_deliveries/${id}/payload`);
  expect([file.status, await file.text()]).toEqual([200, payload]);
  const headers = ['content-type', 'content-disposition', 'cache-control', 'x-content-type-options'].map((name) => file.headers.get(name));
  expect(headers).toEqual(['application/json', `attachment; filename="user.created-${id}.json"`, 'no-store', 'nosniff']);
});

test('nobody gets a payload without webhooks:read, nor one of another environment or of none', async () => {
  const other = await addEnvironment(service.deps, 'elsewhere');
  const theirs = (await addWebhook(other, 'http://127.0.0.1:8999/b')).webhook.id;
  const [own, foreign] = [await delivered(ctx.scope, webhook, []), await delivered(other.scope, theirs, [])];
  const without = await signedInWith(service, 'users:read');
  expect((await without.get(`/dashboard/webhook_deliveries/${own}/payload`)).status).toBe(403);
  const browser = await signedInWith(service, 'webhooks:read', 'users:read');
  for (const id of [foreign, uuidv7(0), 'x']) {
    const answer = await browser.get(`/dashboard/webhook_deliveries/${id}/payload`);
    expect([answer.status, (await answer.text()).includes(payload)]).toEqual([404, false]);
  }
});

test('the subscription to everything is called so', async () => {
  const browser = await signedInWith(service, 'webhooks:read', 'webhooks:write');
  for (const path of ['/dashboard/webhooks', `/dashboard/webhooks/${webhook}`, '/dashboard/webhooks/new'])
    expect(await (await browser.get(path)).text()).toContain('All events');
});
