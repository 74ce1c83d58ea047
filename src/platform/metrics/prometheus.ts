// prom-client, part by part: its index loads the API of OpenTelemetry for exemplars, which nobody here uses. A process without a collector of traces loads
// nothing of that. test/platform/metrics/prometheus.test.ts compares what is here with the index.
import { readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as Prometheus from 'prom-client';

const requireModule = createRequire(import.meta.url);

export const Registry = requireModule('prom-client/lib/registry') as typeof Prometheus.Registry;
export const Counter = requireModule('prom-client/lib/counter') as typeof Prometheus.Counter;
export const Gauge = requireModule('prom-client/lib/gauge') as typeof Prometheus.Gauge;
export const Histogram = requireModule('prom-client/lib/histogram') as typeof Prometheus.Histogram;
export const AggregatorRegistry = requireModule('prom-client/lib/cluster') as typeof Prometheus.AggregatorRegistry;
export type Registry = Prometheus.Registry;

/** Measurements of the process, without those of its processor time, which need OpenTelemetry, and of its file descriptors. */
const measurements = [
  'processStartTime',
  'osMemoryHeap',
  'processMaxFileDescriptors',
  'eventLoopLag',
  'processResources',
  'processHandles',
  'processRequests',
  'heapSizeAndUsed',
  'heapSpacesSizeAndUsed',
  'version',
  'gc',
].map(
  (name) =>
    requireModule(`prom-client/lib/metrics/${name}`) as (registry: Registry, options: { eventLoopMonitoringPrecision: number }) => void,
);

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

/** How many file descriptors are open. Linux says so by the size of their folder (6.2 and later); listing thousands of them takes milliseconds. */
function openFileDescriptors(folder: string): number {
  const { size } = statSync(folder);
  // One of those listed is the list's own.
  return size > 0 ? size : readdirSync(folder).length - 1;
}

/** Under the name that prom-client gives it, and on Linux only, as there. */
function fileDescriptors(registry: Registry, folder: string): void {
  if (process.platform !== 'linux') return;
  const gauge: Prometheus.Gauge = new Gauge({
    name: 'process_open_fds',
    help: 'Number of open file descriptors.',
    registers: [registry],
    collect() {
      try {
        gauge.set(openFileDescriptors(folder));
      } catch {
        // Without /proc, or a descriptor to list it by, the other metrics are told all the same.
      }
    },
  });
}

/** What prom-client measures of a process by itself. `descriptors`: the folder that has an entry for each open file. */
export function collectDefaultMetrics(registry: Registry, descriptors = '/proc/self/fd'): void {
  processorTime(registry);
  fileDescriptors(registry, descriptors);
  for (const measure of measurements) measure(registry, { eventLoopMonitoringPrecision: 10 });
}
