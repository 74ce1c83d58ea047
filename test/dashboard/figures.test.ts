import { beforeAll, expect, test } from 'vitest';
import { insert } from '../../src/db/scope.js';
import { findDeliveryFigures, listSuccessRates } from '../../src/db/tables/delivery_figures.js';
import { countSubscriptions } from '../../src/db/tables/webhooks.js';
import { uuidv7 } from '../../src/lib/random.js';
import { signedInWith } from '../support/administrators.js';
import { addEnvironment } from '../support/data.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook } from '../support/webhooks.js';

const service = sharedService();
let webhook: string;
const since = () => new Date(ctx.clock.now().getTime() - 86_400_000);

/** A delivery that is over, with one attempt of so many milliseconds. */
async function delivered(status: 'succeeded' | 'failed', duration_ms: number, hoursAgo = 1): Promise<void> {
  const at = new Date(ctx.clock.now().getTime() - hoursAgo * 3_600_000);
  const id = uuidv7(at.getTime());
  const event = { event_id: id, event_type: 'user.created', payload: '{}', attempt_count: 1 };
  await insert(ctx.scope, 'webhook_deliveries', {
    id,
    webhook_id: webhook,
    ...event,
    status,
    completed_at: at,
    created_at: at,
    updated_at: at,
  });
  const attempt = { id, delivery_id: id, attempt_number: 1, started_at: at, duration_ms, response_status: status === 'failed' ? 500 : 200 };
  await insert(ctx.scope, 'webhook_delivery_attempts', { ...attempt, failure_reason: status === 'failed' ? 'non_2xx' : null });
}

const ctx = contextOf(service);

beforeAll(async () => {
  webhook = (await addWebhook(ctx, 'http://127.0.0.1:8999/a', { name: 'Named', events: ['user.created', 'token.issued'] })).webhook.id;
  await addWebhook(ctx, 'http://127.0.0.1:8999/b', { name: 'All', events: ['*'] });
  for (let i = 1; i <= 19; i++) await delivered('succeeded', i * 10);
  await delivered('failed', 5000);
  await delivered('failed', 9000, 30);
});

test('success and p95 of a webhook are those of the last 24 hours', async () => {
  expect(await findDeliveryFigures(ctx.scope, webhook, since())).toEqual({
    succeeded: 19,
    failed: 1,
    pending: 0,
    retrying: 0,
    attempts: 20,
    p95_ms: 190,
  });
  const browser = await signedInWith(service, 'webhooks:read');
  const page = await (await browser.get(`/dashboard/webhooks/${webhook}`)).text();
  expect(page).toMatch(/p95 duration[\s\S]{0,200}190 ms/);
  expect(page).toMatch(/95 %/);
  expect(await (await browser.get('/dashboard/webhooks')).text()).toMatch(/Named[\s\S]{0,4000}95 %/);
});

test('what is being retried has not arrived, and attempts are counted apart (specification 9.3.4)', async () => {
  const { webhook: other } = await addWebhook(ctx, 'http://127.0.0.1:8999/c', { name: 'Slow', events: ['role.deleted'] });
  const at = ctx.clock.now();
  const event = { event_type: 'role.deleted', payload: '{}', webhook_id: other.id, created_at: at, updated_at: at };
  for (const [status, attempt_count] of [
    ['succeeded', 2],
    ['retrying', 3],
    ['pending', 0],
  ] as const) {
    const id = uuidv7(at.getTime());
    await insert(ctx.scope, 'webhook_deliveries', { ...event, id, event_id: id, status, attempt_count });
  }
  const browser = await signedInWith(service, 'webhooks:read');
  expect(await (await browser.get('/dashboard/webhooks')).text()).toMatch(/Slow[\s\S]{0,2000}50 %[\s\S]{0,80}20 % of attempts/);
  const page = await (await browser.get(`/dashboard/webhooks/${other.id}`)).text();
  expect(page).toMatch(/Deliveries that arrived[\s\S]{0,100}50 %[\s\S]{0,60}1 of 2/);
  expect(page).toMatch(/Attempts that succeeded[\s\S]{0,100}20 %[\s\S]{0,60}1 of 5/);
  expect(page).toMatch(/Being retried[\s\S]{0,100}>1<[\s\S]{0,60}1 not tried yet/);
});

test('event types say how many subscribe, and who', async () => {
  const browser = await signedInWith(service, 'webhooks:read', 'event_types:read');
  const pages = ['?group=user', '?group=role', '?group=token'].map(async (query) =>
    (await browser.get(`/dashboard/event_types${query}`)).text(),
  );
  const list = (await Promise.all(pages)).join('');
  const count = (name: string) => new RegExp(`${name}</code>[\\s\\S]*?data-label="Webhooks">\\s*(?:<[^>]+>)*(\\d+)`).exec(list)?.[1];
  expect(list).not.toMatch(/ss<\/(?:td|option|span)>/);
  expect([count('user\\.created'), count('role\\.created'), count('token\\.issued')]).toEqual(['2', '1', '1']);
  const page = await (await browser.get('/dashboard/event_types/user.created')).text();
  expect(page).toMatch(/Subscribed webhooks[\s\S]*All[\s\S]*Named/);
  expect(await (await browser.get('/dashboard/event_types/token.issued')).text()).not.toContain('127.0.0.1:8999/b');
});

test('whoever may not see webhooks does not see who subscribes', async () => {
  const browser = await signedInWith(service, 'event_types:read');
  expect(await (await browser.get('/dashboard/event_types/user.created')).text()).not.toContain('8999');
});

test('another environment has figures of its own', async () => {
  const other = await addEnvironment(service.deps, 'elsewhere');
  expect(await findDeliveryFigures(other.scope, webhook, since())).toMatchObject({ succeeded: 0, failed: 0, p95_ms: null });
  expect(await listSuccessRates(other.scope, [webhook], since())).toEqual([]);
  expect(await countSubscriptions(other.scope)).toEqual([]);
});
