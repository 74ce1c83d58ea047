import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { transaction } from '../../src/domain/context.js';
import { emit } from '../../src/domain/events/emit.js';
import { deleteWebhook, updateWebhook, redeliver, redeliverFailed, rotateSecret, sendTest } from '../../src/domain/webhooks/webhooks.js';
import { listAttempts, listDeliveries } from '../support/deliveries.js';
import { findWebhook } from '../../src/db/tables/webhooks.js';
import { startReceiver, type Receiver, type ReceivedPost, type Reply } from '../support/receiver.js';
import { startTestService } from '../support/service.js';
import { contextOf, sharedService } from '../support/shared-service.js';
import { addWebhook, emitRoles, eventually, quick, roleData, settledDeliveries, settledDelivery } from '../support/webhooks.js';

const service = sharedService(() => startTestService(quick));
const receivers: Receiver[] = [];

const ctx = contextOf(service);
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
  const all = await ctx.scope.knex('webhooks').select('id');
  for (const { id } of all as { id: string }[]) await transaction(ctx, (tx) => deleteWebhook(tx, id));
});

async function receive(reply: Reply = 200): Promise<Receiver> {
  const receiver = await startReceiver(reply);
  receivers.push(receiver);
  return receiver;
}

const signatureOf = (secret: string, body: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const standardHeaders = (post: ReceivedPost) => ({
  'webhook-id': post.headers['webhook-id'] as string,
  'webhook-timestamp': post.headers['webhook-timestamp'] as string,
  'webhook-signature': post.headers['webhook-signature'] as string,
});

describe('a delivery', () => {
  test('arrives within a second of the commit, with the five members and exactly the headers', async () => {
    const receiver = await receive((_post, res) => res.writeHead(200, { 'content-type': 'text/plain' }).end('thanks'));
    const { webhook, signing_secret } = await addWebhook(ctx, `${receiver.url}/hook?a=b`, { events: ['role.created'] });
    const started = performance.now();
    await transaction(ctx, (tx) => emit(tx, 'role.created', roleData('Éditeur')));
    const [post] = await receiver.received(1);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(post?.path).toBe('/hook?a=b');
    const payload = JSON.parse(post?.body ?? '') as Record<string, unknown>;
    expect(Object.keys(payload)).toEqual(['event', 'event_id', 'timestamp', 'environment_id', 'data']);
    expect(payload).toMatchObject({ event: 'role.created', environment_id: ctx.environment.id, data: { name: 'Éditeur' } });
    expect(payload['timestamp']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const names = (post?.rawHeaders ?? []).filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    expect(names.sort()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
      'webhook-id',
      'webhook-signature',
      'webhook-timestamp',
      'x-service-event',
      'x-service-signature',
    ]);
    expect(post?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhook/1.0',
      'x-service-event': 'role.created',
      'x-service-signature': signatureOf(signing_secret, post?.body ?? ''),
      'webhook-id': payload['event_id'],
    });
    expect(() => new Webhook(signing_secret).verify(post?.body ?? '', standardHeaders(post as ReceivedPost))).not.toThrow();
    expect(() => new Webhook(signing_secret).verify(`${post?.body} `, standardHeaders(post as ReceivedPost))).toThrow();
    const [delivery] = await settledDeliveries(ctx, webhook.id);
    expect(delivery).toMatchObject({
      status: 'succeeded',
      attempt_count: 1,
      failure_reason: null,
      next_attempt_at: null,
      last_response_status: 200,
      trigger: 'event',
    });
    expect(await listAttempts(ctx.scope, [delivery?.id ?? ''])).toMatchObject([
      { attempt_number: 1, response_status: 200, response_body: 'thanks', response_truncated: false, failure_reason: null },
    ]);
    const after = await findWebhook(ctx.scope, webhook.id);
    expect(after?.last_delivery_at).not.toBeNull();
    expect(after?.last_success_at).not.toBeNull();
    expect(after?.version).toBe(webhook.version);
  });

  test('a receiver that answers 500: exactly six byte-identical posts with growing gaps, each logged', async () => {
    const receiver = await receive((_post, res) => res.writeHead(500).end('out of order'));
    const { webhook, signing_secret } = await addWebhook(ctx, receiver.url);
    await emitRoles(ctx);
    const [delivery] = await settledDeliveries(ctx, webhook.id);
    expect(delivery).toMatchObject({
      status: 'failed',
      attempt_count: 6,
      failure_reason: 'non_2xx',
      last_response_status: 500,
      next_attempt_at: null,
    });
    expect(receiver.posts).toHaveLength(6);
    expect(new Set(receiver.posts.map((post) => post.body)).size).toBe(1);
    expect(new Set(receiver.posts.map((post) => post.event_id))).toEqual(new Set([delivery?.event_id]));
    for (const post of receiver.posts) expect(post.headers['x-service-signature']).toBe(signatureOf(signing_secret, post.body));
    const gaps = receiver.posts.slice(1).map((post, i) => post.at - (receiver.posts[i] as ReceivedPost).at);
    gaps.forEach((gap, i) => expect(gap).toBeGreaterThanOrEqual(20 * 2 ** i * 0.8));
    expect(gaps[4]).toBeGreaterThan(gaps[0] as number);
    const attempts = await listAttempts(ctx.scope, [delivery?.id ?? '']);
    expect(attempts.map((attempt) => attempt.attempt_number)).toEqual([1, 2, 3, 4, 5, 6]);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ response_status: 500, response_body: 'out of order', failure_reason: 'non_2xx' });
      expect(attempt.duration_ms).toBeGreaterThanOrEqual(0);
    }
    expect(delivery?.payload).toBe(receiver.posts[0]?.body);
  });

  test('on the third attempt answered 200: three posts, succeeded', async () => {
    let count = 0;
    const receiver = await receive((_post, res) => res.writeHead(++count < 3 ? 503 : 200).end());
    const { webhook } = await addWebhook(ctx, receiver.url);
    await emitRoles(ctx);
    const [delivery] = await settledDeliveries(ctx, webhook.id);
    expect(delivery).toMatchObject({ status: 'succeeded', attempt_count: 3, failure_reason: null });
    expect(receiver.posts).toHaveLength(3);
  });

  test('Retry-After on 429 and 503 is waited for; on other answers it is not', async () => {
    const replies: [number, number][] = [
      [429, 1],
      [500, 3600],
      [503, 1],
    ];
    let count = 0;
    const receiver = await receive((_post, res) => {
      const [status, seconds] = replies[count++] ?? [200, 0];
      res.writeHead(status, { 'retry-after': String(seconds) }).end();
    });
    const { webhook } = await addWebhook(ctx, receiver.url);
    await emitRoles(ctx);
    const [delivery] = await settledDeliveries(ctx, webhook.id);
    expect(delivery).toMatchObject({ status: 'succeeded', attempt_count: 4 });
    const gaps = receiver.posts.slice(1).map((post, i) => post.at - (receiver.posts[i] as ReceivedPost).at);
    expect(gaps[0]).toBeGreaterThanOrEqual(990);
    expect(gaps[1]).toBeLessThan(900);
    expect(gaps[2]).toBeGreaterThanOrEqual(990);
  });

  test('410: one post, no retries, the webhook disabled at once, which is an event, and what was pending failed (attack 73.1987)', async () => {
    const receiver = await receive((_post, res) => res.writeHead(503, { 'retry-after': '3600' }).end());
    const { webhook } = await addWebhook(ctx, receiver.url);
    await emitRoles(ctx);
    await eventually(
      async () => (await listDeliveries(ctx.scope, { webhook_id: webhook.id, status: ['retrying'] }, { limit: 1 })).length === 1,
    );
    receiver.reply(410);
    await emitRoles(ctx);
    const [pending, gone] = await settledDeliveries(ctx, webhook.id, 2);
    expect(gone).toMatchObject({ status: 'failed', failure_reason: 'non_2xx', last_response_status: 410, attempt_count: 1 });
    expect(pending).toMatchObject({ status: 'failed', failure_reason: 'webhook_disabled', attempt_count: 1 });
    expect(await findWebhook(ctx.scope, webhook.id)).toMatchObject({ status: 'disabled', disabled_reason: 'receiver_gone' });
    const events = await ctx.db.knex('audit_logs').where({ event: 'security_setting.changed', target_id: webhook.id });
    expect(events).toMatchObject([
      {
        actor_kind: 'system',
        target_type: 'webhook',
        target_display: webhook.name,
        changes: { action: [null, 'webhook.disabled'], settings: [null, ['status']], reason: [null, 'receiver_gone'] },
      },
    ]);
    const lines = () =>
      service.log.filter((line) => line.includes(webhook.id)).map((line) => (JSON.parse(line) as { event?: string }).event);
    await expect.poll(lines).toEqual(expect.arrayContaining(['webhook.disabled', 'security_setting.changed']));
    expect(receiver.posts).toHaveLength(2);
    await emitRoles(ctx);
    expect(await listDeliveries(ctx.scope, { webhook_id: webhook.id }, { limit: 10 })).toHaveLength(2);
  });

  test('a test goes out though webhook.test is not subscribed, even while disabled', async () => {
    const receiver = await receive();
    const { webhook } = await addWebhook(ctx, receiver.url, { events: ['user.created'], status: 'disabled' });
    const sent = await transaction(ctx, (tx) => sendTest(tx, webhook, { actor_kind: 'user', actor_id: 'someone' }));
    expect(sent).toMatchObject({ trigger: 'test', event_type: 'webhook.test', status: 'pending' });
    const { delivery } = await settledDelivery(ctx, sent.id);
    expect(delivery.status).toBe('succeeded');
    expect(receiver.posts[0]?.headers['x-service-event']).toBe('webhook.test');
    expect(JSON.parse(receiver.posts[0]?.body ?? '')).toMatchObject({
      event: 'webhook.test',
      data: { id: webhook.id, sample: true, subscribed_events: ['user.created'] },
    });
  });
});

describe('by hand', () => {
  test('redelivery: a new delivery, the same bytes and event_id, signed with the current secret', async () => {
    const receiver = await receive(500);
    const { webhook } = await addWebhook(ctx, receiver.url);
    await emitRoles(ctx);
    const [failed] = await settledDeliveries(ctx, webhook.id);
    receiver.reply(200);
    const rotated = await transaction(ctx, (tx) => rotateSecret(tx, webhook.id));
    const again = await transaction(ctx, (tx) => redeliver(tx, failed?.id ?? ''));
    expect(again).toMatchObject({ trigger: 'redelivery', event_id: failed?.event_id, payload: failed?.payload });
    expect(again?.id).not.toBe(failed?.id);
    expect((await settledDelivery(ctx, again?.id ?? '')).delivery.status).toBe('succeeded');
    const last = receiver.posts.at(-1);
    expect(last?.body).toBe(receiver.posts[0]?.body);
    expect(last?.headers['x-service-signature']).toBe(signatureOf(rotated?.signing_secret ?? '', last?.body ?? ''));
    expect(await transaction(ctx, (tx) => redeliver(tx, webhook.id))).toBeNull();
  });

  test('all failed since: each event once, none that has succeeded meanwhile', async () => {
    const receiver = await receive(404);
    const { webhook } = await addWebhook(ctx, receiver.url);
    await emitRoles(ctx, 3);
    const [first] = await settledDeliveries(ctx, webhook.id, 3, 20_000);
    receiver.reply(200);
    const again = await transaction(ctx, (tx) => redeliver(tx, first?.id ?? ''));
    await settledDelivery(ctx, again?.id ?? '');
    const since = new Date(ctx.clock.now().getTime() - 60_000);
    expect(await transaction(ctx, (tx) => redeliverFailed(tx, webhook.id, new Date(ctx.clock.now().getTime() + 60_000)))).toBe(0);
    expect(await transaction(ctx, (tx) => redeliverFailed(tx, webhook.id, since))).toBe(2);
    expect(await transaction(ctx, (tx) => redeliverFailed(tx, webhook.id, since))).toBe(0);
    const all = await settledDeliveries(ctx, webhook.id, 6);
    expect(all.filter((one) => one.status === 'succeeded').map((one) => one.trigger)).toEqual(['redelivery', 'redelivery', 'redelivery']);
    expect(new Set(all.filter((one) => one.status === 'succeeded').map((one) => one.event_id)).size).toBe(3);
  });

  test('rotation: the new secret signs, and for 24 hours the old one also signs the Standard Webhooks header', async () => {
    const receiver = await receive();
    const { webhook, signing_secret: old } = await addWebhook(ctx, receiver.url);
    const rotated = await transaction(ctx, (tx) => rotateSecret(tx, webhook.id));
    const fresh = rotated?.signing_secret ?? '';
    expect(fresh).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rotated?.webhook).toMatchObject({ secret_hint: fresh.slice(-4) });
    await emitRoles(ctx);
    const [post] = await receiver.received(1);
    expect(post?.headers['x-service-signature']).toBe(signatureOf(fresh, post?.body ?? ''));
    expect(String(post?.headers['webhook-signature']).split(' ')).toHaveLength(2);
    for (const secret of [fresh, old]) new Webhook(secret).verify(post?.body ?? '', standardHeaders(post as ReceivedPost));
    await settledDeliveries(ctx, webhook.id);
    await ctx.scope.knex('webhooks').where({ id: webhook.id }).update({ previous_secret_expires_at: ctx.clock.now() });
    await emitRoles(ctx);
    const [, later] = await receiver.received(2);
    expect(String(later?.headers['webhook-signature']).split(' ')).toHaveLength(1);
    expect(await transaction(ctx, (tx) => rotateSecret(tx, ctx.environment.id))).toBeNull();
  });

  test('disabled: what was pending fails with webhook_disabled, what happens meanwhile is never sent', async () => {
    const receiver = await receive(500);
    const { webhook } = await addWebhook(ctx, receiver.url);
    await ctx.scope.knex('webhook_deliveries').del();
    await emitRoles(ctx);
    await receiver.received(1);
    await eventually(
      async () => (await listDeliveries(ctx.scope, { webhook_id: webhook.id, status: ['retrying'] }, { limit: 1 })).length === 1,
    );
    const disabled = await transaction(ctx, (tx) => updateWebhook(tx, webhook, { status: 'disabled' }));
    const [cancelled] = await settledDeliveries(ctx, webhook.id);
    expect(cancelled).toMatchObject({ status: 'failed', failure_reason: 'webhook_disabled' });
    await emitRoles(ctx);
    const enabled = await transaction(ctx, (tx) => updateWebhook(tx, disabled ?? webhook, { status: 'enabled' }));
    expect(enabled).toMatchObject({ status: 'enabled', disabled_reason: null, failed_event_count: 0 });
    receiver.reply(200);
    await emitRoles(ctx);
    const all = await settledDeliveries(ctx, webhook.id, 2);
    expect(all.map((one) => one.status)).toEqual(['failed', 'succeeded']);
  });
});
