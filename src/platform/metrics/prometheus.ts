// prom-client, part by part: its index loads the API of OpenTelemetry for exemplars, which nobody here uses. A process without a collector of traces loads
// nothing of that. test/platform/metrics/prometheus.test.ts compares what is here with the index.
import { createRequire } from 'node:module';
import type * as Prometheus from 'prom-client';

const part = createRequire(import.meta.url);

export const Registry = part('prom-client/lib/registry') as typeof Prometheus.Registry;
export const Counter = part('prom-client/lib/counter') as typeof Prometheus.Counter;
export const Gauge = part('prom-client/lib/gauge') as typeof Prometheus.Gauge;
export const Histogram = part('prom-client/lib/histogram') as typeof Prometheus.Histogram;
export const AggregatorRegistry = part('prom-client/lib/cluster') as typeof Prometheus.AggregatorRegistry;
export type Registry = Prometheus.Registry;

/** Measurements of the process, without those of its processor time, which need OpenTelemetry. */
const measurements = [
  'processStartTime',
  'osMemoryHeap',
  'processOpenFileDescriptors',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'processResources',
  'processHandles',
  'processRequests',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
].map((name) => part(`prom-client/lib/metrics/${name}`) as (registry: Registry, options: { eventLoopMonitoringPrecision: number }) => void);

/** The processor time of the process, in seconds, under the names that prom-client gives it. */
function processorTime(registry: Registry): void {
  const kinds = [
    { kind: 'user_', help: 'Total user CPU time spent in seconds.', microseconds: ({ user }: NodeJS.CpuUsage) => user },
    { kind: 'system_', help: 'Total system CPU time spent in seconds.', microseconds: ({ system }: NodeJS.CpuUsage) => system },
    {
      kind: '',
      help: 'Total user and system CPU time spent in seconds.',
      microseconds: ({ user, system }: NodeJS.CpuUsage) => user + system,
    },
  ];
  for (const { kind, help, microseconds } of kinds) {
    const counter: Prometheus.Counter = new Counter({
      name: `process_cpu_${kind}seconds_total`,
      help,
      registers: [registry],
      collect() {
        counter.reset();
        counter.inc(microseconds(process.cpuUsage()) / 1e6);
      },
    });
  }
}

/** What prom-client measures of a process by itself. */
export function collectDefaultMetrics(registry: Registry): void {
  processorTime(registry);
  for (const measure of measurements) measure(registry, { eventLoopMonitoringPrecision: 10 });
}
