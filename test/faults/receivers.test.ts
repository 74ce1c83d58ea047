// Receivers and rows that misbehave beside healthy ones (faults F25, F26, F34, F35).
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { transaction, type Context } from '../../src/domain/context.js';
import { deleteWebhook } from '../../src/domain/webhooks/webhooks.js';
import { listAttempts, listDeliveries } from '../support/deliveries.js';
import { findWebhook } from '../../src/db/tables/webhooks.js';
import { createGuardedFetch } from '../../src/platform/fetch/fetch.js';
import { startReceiver, type Receiver } from '../support/receiver.js';
import { startTestService, type TestService } from '../support/service.js';
import { addWebhook, emitRoles, eventually, quick, settledDeliveries } from '../support/webhooks.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function start(
  environment: Record<string, string>,
  overrides: Parameters<typeof startTestService>[1] = {},
): Promise<{ service: TestService; ctx: Context }> {
  const service = await startTestService(environment, overrides);
  cleanups.push(() => service.stop());
  return { service, ctx: await service.context() };
}

async function receive(...args: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...args);
  cleanups.push(() => receiver.close());
  return receiver;
}

async function rawReceiver(onSocket: (socket: Socket) => void): Promise<{ url: string; open: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // Read on, so that it is noticed when the other side hangs up.
    socket.resume();
    socket.on('error', () => undefined).on('end', () => sockets.delete(socket)).on('close', () => sockets.delete(socket)); // prettier-ignore
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, open: () => sockets.size };
}

test('one receiver hangs, one resets, one sends a byte a second: fifty healthy ones have their deliveries meanwhile (fault F25)', async () => {
  // Whoever had to wait for one that hangs would wait for longer than a round may take.
  const { ctx } = await start({ WEBHOOK_TIMEOUT_MS: '30000', WEBHOOK_RETRY_BASE_MS: '500', WEBHOOK_RETRY_FACTOR: '1' });
  let most = 0;
  // Looked at once those that were given up in the same moment have been noticed, too.
  const hanging = await rawReceiver(() => void setImmediate(() => (most = Math.max(most, hanging.open()))));
  const resetting = await rawReceiver((socket) => socket.resetAndDestroy());
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
  const dripping = await rawReceiver((socket) => {
    let sent = 0;
    const timer = setInterval(() => socket.write(answer.charAt(sent++)), 1000);
    socket.on('close', () => clearInterval(timer));
  });
  const healthy = await receive((_post, res) => void res.end());
  for (const { url } of [hanging, resetting]) await addWebhook(ctx, url);
  const { webhook: slow } = await addWebhook(ctx, dripping.url);
  for (let i = 0; i < 50; i++) await addWebhook(ctx, `${healthy.url}/${i}`);
  for (let round = 1; round <= 12; round++) {
    await emitRoles(ctx);
    await healthy.received(50 * round, 20_000);
  }
  expect(most).toBeLessThanOrEqual(5);
  // A byte a second keeps no attempt alive beyond its deadline.
  const [cutOff] = await eventually(async () => {
    const rows = await listDeliveries(ctx.scope, { webhook_id: slow.id }, { limit: 50 });
    const tried = rows.find(({ attempt_count }) => attempt_count > 0);
    return tried !== undefined && (await listAttempts(ctx.scope, [tried.id]));
  }, 60_000);
  expect(cutOff).toMatchObject({ failure_reason: 'timeout', response_status: null });
}, 360_000);

test('everything fails, then recovers: the backlog drains without a herd, and nothing is lost (fault F26)', async () => {
  const { ctx } = await start({ ...quick, WEBHOOK_RETRY_BASE_MS: '200', WEBHOOK_RETRY_FACTOR: '2' });
  let inFlight = 0;
  let most = 0;
  const receiver = await receive(503);
  const { webhook } = await addWebhook(ctx, receiver.url);
  await emitRoles(ctx, 60);
  await receiver.received(8, 20_000);
  const probesBefore = receiver.posts.length;
  receiver.reply((_post, res) => {
    most = Math.max(most, ++inFlight);
    setTimeout(() => {
      inFlight -= 1;
      res.end();
    }, 10);
  });
  const rows = await settledDeliveries(ctx, webhook.id, 60, 30_000);
  expect(rows.map((row) => row.status)).toEqual(rows.map(() => 'succeeded'));
  // While it was down, single probes went there, not sixty deliveries.
  expect(probesBefore).toBeLessThan(30);
  expect(most).toBeLessThanOrEqual(5);
  expect(Math.max(...rows.map((row) => row.attempt_count))).toBeLessThanOrEqual(6);
}, 60_000);

test('100 events in a row that fail for good disable the webhook; one success in between starts the count again', async () => {
  const { ctx } = await start({ WEBHOOK_RETRY_BASE_MS: '1', WEBHOOK_RETRY_FACTOR: '1', WEBHOOK_TIMEOUT_MS: '2000' });
  const receiver = await receive(500);
  const { webhook } = await addWebhook(ctx, receiver.url);
  await emitRoles(ctx, 60);
  await settledDeliveries(ctx, webhook.id, 60, 60_000);
  expect((await findWebhook(ctx.scope, webhook.id))?.failed_event_count).toBe(60);
  receiver.reply(200);
  await emitRoles(ctx);
  await settledDeliveries(ctx, webhook.id, 61);
  expect(await findWebhook(ctx.scope, webhook.id)).toMatchObject({ status: 'enabled', failed_event_count: 0 });
  receiver.reply(500);
  await emitRoles(ctx, 110);
  const rows = await settledDeliveries(ctx, webhook.id, 171, 60_000);
  expect(await findWebhook(ctx.scope, webhook.id)).toMatchObject({ status: 'disabled', disabled_reason: 'consecutive_failures' });
  expect(rows.filter((row) => row.status === 'failed')).toHaveLength(170);
}, 150_000);

test('rows that can not be sent count, back off and end after six attempts; others flow (fault F34)', async () => {
  const { ctx, service } = await start(quick);
  const receiver = await receive();
  const { webhook: poisoned } = await addWebhook(ctx, `${receiver.url}/poisoned`);
  const { webhook: blocked } = await addWebhook(ctx, 'http://169.254.169.254/');
  const { webhook: unusable } = await addWebhook(ctx, 'not an address');
  const { webhook: healthy } = await addWebhook(ctx, `${receiver.url}/healthy`);
  await ctx.scope
    .knex('webhooks')
    .where({ id: poisoned.id })
    .update({ secret_sealed: Buffer.from('not sealed with this key at all') });
  await emitRoles(ctx, 3);
  await settledDeliveries(ctx, healthy.id, 3);
  for (const [webhook, reason] of [
    [poisoned, 'internal_error'],
    [blocked, 'blocked_address'],
    [unusable, 'connect'],
  ] as const) {
    const rows = await settledDeliveries(ctx, webhook.id, 3, 20_000);
    for (const row of rows) expect(row).toMatchObject({ status: 'failed', attempt_count: 6, failure_reason: reason });
    const attempts = await listAttempts(
      ctx.scope,
      rows.map((row) => row.id),
    );
    expect(attempts).toHaveLength(18);
    for (const attempt of attempts) expect(attempt).toMatchObject({ failure_reason: reason, response_status: null, response_body: null });
  }
  expect(receiver.posts.map((post) => post.path)).toEqual(['/healthy', '/healthy', '/healthy']);
  expect(service.log.some((line) => line.includes('webhook.undeliverable') && line.includes('SealError'))).toBe(true);
}, 60_000);

test('name servers that never answer or fail: attempts end within the deadline, hashing and others go on (fault F35)', async () => {
  const fetch = createGuardedFetch({
    allowPrivateNetwork: true,
    resolve: (name) => (name === 'servfail.example' ? Promise.reject(new Error('SERVFAIL')) : new Promise(() => undefined)),
  });
  const { ctx } = await start({ ...quick, WEBHOOK_TIMEOUT_MS: '1000' }, { overrides: { fetch } });
  const receiver = await receive();
  const { webhook: failing } = await addWebhook(ctx, 'http://servfail.example/');
  const silent = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => (await addWebhook(ctx, `http://silent-${i}.example/`)).webhook),
  );
  const { webhook: healthy } = await addWebhook(ctx, receiver.url);
  await emitRoles(ctx, 4);
  await settledDeliveries(ctx, healthy.id, 4);
  expect(await ctx.crypto.passwords.hash('while forty look-ups hang')).toContain('argon2id');
  const [one] = await eventually(async () => {
    const rows = await ctx.scope.knex('webhook_delivery_attempts').where({ failure_reason: 'timeout' }).select('duration_ms');
    return rows.length > 0 ? (rows as { duration_ms: number }[]) : null;
  });
  expect(one?.duration_ms).toBeLessThan(2000);
  for (const row of await settledDeliveries(ctx, failing.id, 4, 20_000)) expect(row.failure_reason).toBe('dns');
  for (const webhook of silent) await transaction(ctx, (tx) => deleteWebhook(tx, webhook.id));
}, 60_000);
