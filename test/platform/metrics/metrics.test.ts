import { AggregatorRegistry } from 'prom-client';
import { expect, test } from 'vitest';
import { createMetrics } from '../../../src/platform/metrics/metrics.js';

test('the workers of one process group add up their requests and waits, but not the age of the queue that all of them see', async () => {
  const workers = [createMetrics(), createMetrics()];
  for (const [index, metrics] of workers.entries()) {
    metrics.watchPool(() => ({ used: 3, waiting: 2, max: 10, oldestWait: index + 0.5, isolated: [], statements: { pool: 7, look_up: 5 } }));
    metrics.requestSeconds.record(0.1, 'POST', '/oauth/token', '5xx');
    metrics.outboxAge.set({ queue: 'webhook' }, 400);
  }
  const collected = await Promise.all(workers.map(({ registry }) => registry.getMetricsAsJSON()));
  const text = await AggregatorRegistry.aggregate(collected as never).metrics();
  expect(text).toContain('outbox_oldest_due_seconds{queue="webhook"} 400');
  expect(text).toContain('database_connections_awaited 4');
  expect(text).toContain('database_primary_statements_total{class="look_up"} 10');
  expect(text).toContain('database_statements_oldest_wait_seconds 1.5');
  expect(text).toContain('http_request_duration_seconds_count{method="POST",route="/oauth/token",status="5xx"} 2');
  expect(text).toMatch(/^http_request_duration_seconds_bucket\{le="0.1",method="POST",route="\/oauth\/token",status="5xx"\} 2$/m);
  expect(text).toContain('nodejs_eventloop_lag_p99_seconds');
});
