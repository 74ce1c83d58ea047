// Loaded into the service before it starts (`node --import`): notes garbage collections and turns of the event loop that take long, and writes them down when the process ends.
import { writeFileSync } from 'node:fs';
import { constants, performance, PerformanceObserver } from 'node:perf_hooks';

const kinds = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak callbacks',
};
const everyMs = 4;
const longMs = 8;

/** Intervals since the epoch, in milliseconds. */
const collections = [];
const turns = [];

new PerformanceObserver((list) => {
  for (const { startTime, duration, detail } of list.getEntries()) {
    const from = performance.timeOrigin + startTime;
    collections.push({ from, to: from + duration, kind: kinds[detail.kind] ?? 'other' });
  }
}).observe({ entryTypes: ['gc'] });

let expected = performance.now() + everyMs;
setInterval(() => {
  const now = performance.now();
  if (now - expected > longMs) turns.push({ from: performance.timeOrigin + expected, to: performance.timeOrigin + now });
  expected = now + everyMs;
}, everyMs).unref();

process.once('exit', () => writeFileSync(process.env.BENCH_PROBE_FILE, JSON.stringify({ collections, turns })));
