import { open as openFile } from 'node:fs/promises';
import * as index from 'prom-client';
import { expect, test } from 'vitest';
import * as ours from '../../../src/platform/metrics/prometheus.js';

test('the parts of prom-client are those of its index', () => {
  const { Registry, Counter, Gauge, Histogram, AggregatorRegistry } = index;
  expect([ours.Registry, ours.Counter, ours.Gauge, ours.Histogram, ours.AggregatorRegistry]).toEqual([
    Registry,
    Counter,
    Gauge,
    Histogram,
    AggregatorRegistry,
  ]);
});

test('a process is measured by the metrics that prom-client has for it', async () => {
  const [mine, theirs] = [new index.Registry(), new index.Registry()];
  ours.collectDefaultMetrics(mine);
  index.collectDefaultMetrics({ register: theirs });
  const described = async (registry: index.Registry) =>
    (await registry.getMetricsAsJSON()).map(({ name, type, help }) => `${name} ${String(type)} ${help}`).sort();
  expect(await described(mine)).toEqual(await described(theirs));
  const seconds = async () => Number((await mine.getSingleMetric('process_cpu_seconds_total')?.get())?.values[0]?.value);
  const before = await seconds();
  expect(before).toBeGreaterThan(0);
  for (const until = performance.now() + 30; performance.now() < until;);
  expect(await seconds()).toBeGreaterThan(before);
});

test('open file descriptors are those that the process has open', async () => {
  const registry = new index.Registry();
  ours.collectDefaultMetrics(registry);
  const open = async () => Number((await registry.getSingleMetric('process_open_fds')?.get())?.values[0]?.value);
  const before = await open();
  const files = await Promise.all(Array.from({ length: 20 }, () => openFile(import.meta.filename)));
  expect((await open()) - before).toBeGreaterThanOrEqual(20);
  await Promise.all(files.map((file) => file.close()));
});

test('where the open file descriptors can not be told, everything else is', async () => {
  const registry = new index.Registry();
  ours.collectDefaultMetrics(registry, '/proc/self/nowhere');
  expect(await registry.metrics()).toContain('process_cpu_seconds_total');
});
