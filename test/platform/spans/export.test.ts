import { afterEach, beforeEach, expect, test } from 'vitest';
import { pino } from 'pino';
import { createMetrics } from '../../../src/platform/metrics/metrics.js';
import { maxWaitingSpans } from '../../../src/platform/spans/export.js';
import { openTracer } from '../../../src/platform/spans/start.js';
import type { Tracer } from '../../../src/platform/spans/tracer.js';
import { startCollector, type CollectorUnderTest } from '../../support/collector.js';
import { eventually } from '../../support/webhooks.js';

let collector: CollectorUnderTest;
let log: Record<string, unknown>[];
let metrics: ReturnType<typeof createMetrics>;
let opened: Tracer;

beforeEach(async () => {
  log = [];
  metrics = createMetrics();
  collector = await startCollector();
});

afterEach(async () => {
  await opened.close();
  await collector.close();
});

async function start(url = collector.url): Promise<Tracer> {
  const logger = pino({ base: null }, { write: (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>) });
  opened = (await openTracer({ collector: { url: `${url}/v1/traces`, headers: null } }, '1.0.0', { logger, metrics })) as Tracer;
  return opened;
}

const make = async (tracer: Tracer, count: number) => {
  for (let at = 0; at < count; at++) await tracer.background(`span ${at}`, async () => undefined);
};

const counted = async () =>
  Object.fromEntries((await metrics.spans.get()).values.map(({ labels, value }) => [String(labels['outcome']), value]));

test('what ends is sent, and counted (specification 15.5.7)', async () => {
  await make(await start(), 600);
  await opened.close();
  expect(collector.spans).toHaveLength(600);
  expect(await counted()).toEqual({ sent: 600 });
  expect(log).toEqual([]);
});

test('a collector that hangs: what finds no room is dropped and counted, and the process ends all the same (attack 35.772)', async () => {
  collector.reply('hang');
  const tracer = await start();
  const began = performance.now();
  await make(tracer, 2 * maxWaitingSpans);
  expect(performance.now() - began).toBeLessThan(8_000);
  const { dropped = 0 } = await counted();
  // One batch of 512 is under way beside those that wait.
  expect(dropped).toBe(2 * maxWaitingSpans - maxWaitingSpans - 512);
  const ending = performance.now();
  await opened.close();
  expect(performance.now() - ending).toBeLessThan(8_000);
});

test('a collector that says no costs the spans, one line of the log, and another one when it is back (specification 15.5.7)', async () => {
  collector.reply(400);
  const tracer = await start();
  await make(tracer, 512);
  await eventually(async () => ((await counted())['refused'] ?? 0) === 512);
  await make(tracer, 512);
  await eventually(async () => ((await counted())['refused'] ?? 0) === 1024);
  collector.reply(200);
  await make(tracer, 512);
  await eventually(async () => ((await counted())['sent'] ?? 0) === 512);
  expect(log.map(({ event, reason }) => [event, reason])).toEqual([
    ['spans.refused', '400'],
    ['spans.taken', undefined],
  ]);
});

test('a name is told of a statement, a class of a failure, and no text of either (attack 35.771)', async () => {
  const tracer = await start();
  await tracer.background('work', async () => {
    tracer.statement('users.find')?.end(Object.assign(new Error('Key (email)=(canary@example.com) already exists'), { sqlstate: '23505' }));
    tracer.outbound('POST', 'https://hooks.example:8443')?.end(Object.assign(new Error('connect 10.0.0.1'), { reason: 'timeout' }));
    tracer.outbound('GET', 'https://hooks.example')?.end(undefined, 503);
    tracer.mail('mail.example')?.end(Object.assign(new Error('550 <canary@example.com>'), { code: 'EENVELOPE' }));
    tracer.internal('sign RS256')?.end('a canary that was thrown');
  });
  await opened.close();
  const told = collector.spans.map(({ name, failed, attributes }) => [name, failed, attributes['error.type'], attributes['server.port']]);
  expect(told).toEqual([
    ['users.find', true, '23505', undefined],
    ['POST', true, 'timeout', 8443],
    ['GET', true, '503', 443],
    ['SMTP', true, 'EENVELOPE', undefined],
    ['sign RS256', true, 'Error', undefined],
    ['work', false, undefined, undefined],
  ]);
  expect(Buffer.concat(collector.bodies).toString('latin1')).not.toMatch(/canary|Key \(|10\.0\.0\.1/);
});

test('outside of a trace nothing is made, and what goes on after the answer names no trace (specification 15.5.5)', async () => {
  const tracer = await start();
  expect([tracer.statement('x'), tracer.internal('x'), tracer.mail('x'), tracer.outbound('GET', 'http://x'), tracer.traceId()]).toEqual([
    null,
    null,
    null,
    null,
    null,
  ]);
  const request = tracer.request({ method: 'GET', traceparent: undefined, trusted: false });
  let within: string | null = null;
  let after: string | null = 'unset';
  let over: Promise<void> | undefined;
  request.run(() => {
    within = tracer.traceId();
    over = Promise.resolve().then(() => void (after = tracer.traceId()));
    request.end({ route: null, status: null, request_id: 'r', client_id: null, grant_type: null, error_code: null });
  });
  await over;
  expect([within, after]).toEqual([request.trace_id, null]);
  await opened.close();
  expect(collector.spans[0]).toMatchObject({ name: 'GET', failed: true, attributes: { 'error.type': 'aborted' } });
});
