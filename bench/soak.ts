import { readdirSync } from 'node:fs';
import { processorTime, residentMiB } from './processor-time.js';
import { keepUp, mix, newTally, type Tally } from './soak-mix.js';
import type { Product } from './targets/product.js';

/** What the service process looked like at one moment. Sizes in MiB, times in seconds since the load began. */
export type Sample = {
  readonly at: number;
  readonly resident: number;
  readonly heap_used: number;
  readonly heap_total: number;
  readonly external: number;
  readonly handles: number;
  readonly file_descriptors: number;
  readonly threads: number;
  readonly database_connections: number;
  readonly loop_lag_p99_ms: number;
  readonly done: number;
  readonly failed: number;
};

export type SoakResult = {
  readonly minutes: number;
  readonly per_second: number;
  readonly operations: number;
  readonly failed: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly by_activity: Readonly<Record<string, number>>;
  /** Share of one processor that the service used. */
  readonly server_share: number;
  /** The curve's ends after warm-up: means of its first and last tenth; growth of the fitted line, per minute. */
  readonly ends: Readonly<Record<CurveName, { first: number; last: number; per_minute: number; peak: number }>>;
  readonly samples: readonly Sample[];
};

const curves = ['resident', 'heap_used', 'external', 'handles', 'file_descriptors', 'database_connections'] as const;
type CurveName = (typeof curves)[number];

const mib = 1024 * 1024;
const everyMs = 10_000;

const entries = (path: string): number => {
  try {
    return readdirSync(path).length;
  } catch {
    return 0;
  }
};

async function takeSample(target: Product, started: number, tally: Tally): Promise<Sample> {
  const text = await (await fetch(`http://127.0.0.1:${target.port}/metrics`)).text();
  const value = (name: string) => Number(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return {
    at: Math.round((performance.now() - started) / 1000),
    resident: residentMiB(target.pid),
    heap_used: value('nodejs_heap_size_used_bytes') / mib,
    heap_total: value('nodejs_heap_size_total_bytes') / mib,
    external: value('nodejs_external_memory_bytes') / mib,
    handles: value('nodejs_active_handles_total'),
    file_descriptors: entries(`/proc/${target.pid}/fd`),
    threads: entries(`/proc/${target.pid}/task`),
    database_connections: value('database_connections_in_use'),
    loop_lag_p99_ms: value('nodejs_eventloop_lag_p99_seconds') * 1000,
    done: tally.done,
    failed: tally.failed,
  };
}

const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length);

/** The slope of the least-squares line through the points, per unit of x. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const [mx, my] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const variance = points.reduce((sum, [x]) => sum + (x - mx) ** 2, 0);
  return variance === 0 ? 0 : points.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0) / variance;
}

/** The curves after the first fifth, which counts as warm-up. */
export function curveEnds(samples: readonly Sample[]): SoakResult['ends'] {
  const warm = samples.slice(Math.floor(samples.length / 5));
  const tenth = Math.max(1, Math.floor(warm.length / 10));
  const ends = curves.map((name) => {
    const values = warm.map((sample) => sample[name]);
    const per_minute = slope(warm.map((sample) => [sample.at / 60, sample[name]] as const));
    return [
      name,
      { first: mean(values.slice(0, tenth)), last: mean(values.slice(-tenth)), per_minute, peak: Math.max(...values) },
    ] as const;
  });
  return Object.fromEntries(ends) as SoakResult['ends'];
}

/** Mixed load at a bounded rate, with a sample of the service every ten seconds. Failing answers are counted, none ends the run. */
export async function soak(target: Product, options: { minutes: number; perSecond: number }): Promise<SoakResult> {
  const tally = newTally();
  const ending = new AbortController();
  const shares = mix.reduce((sum, { share }) => sum + share, 0);
  const started = performance.now();
  const used = processorTime(target.pid);
  const running = mix.flatMap((activity) => {
    const perSecond = (options.perSecond * activity.share) / shares / activity.connections;
    return Array.from({ length: activity.connections }, () => keepUp(activity, target, perSecond, tally, ending.signal));
  });
  const samples: Sample[] = [];
  const count = Math.max(2, Math.round((options.minutes * 60_000) / everyMs));
  for (let i = 1; i <= count && target.started.process.exitCode === null; i++) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, started + i * everyMs - performance.now())));
    const sample = await takeSample(target, started, tally).catch((error: unknown) => console.error('no sample:', error));
    if (sample) samples.push(sample);
    if (sample && (i % 6 === 0 || i === count)) console.error(sampleLine(sample));
  }
  ending.abort();
  await Promise.all(running);
  const seconds = (performance.now() - started) / 1000;
  return {
    minutes: seconds / 60,
    per_second: tally.done / seconds,
    operations: tally.done,
    failed: tally.failed,
    failures: Object.fromEntries(tally.failures),
    by_activity: Object.fromEntries(tally.byActivity),
    server_share: (processorTime(target.pid) - used) / 1e9 / seconds,
    ends: curveEnds(samples),
    samples,
  };
}

const sampleLine = (one: Sample) =>
  `${String(one.at).padStart(5)} s  resident ${one.resident.toFixed(0)}  heap ${one.heap_used.toFixed(0)}/${one.heap_total.toFixed(0)}  external ${one.external.toFixed(1)} MiB` +
  `  handles ${one.handles}  fds ${one.file_descriptors}  lag p99 ${one.loop_lag_p99_ms.toFixed(0)} ms  done ${one.done}  failed ${one.failed}`;

/** The run in words. */
export function soakText(result: SoakResult): string {
  const lines = curves.map((name) => {
    const { first, last, per_minute, peak } = result.ends[name];
    return `${name.padEnd(21)} ${first.toFixed(1).padStart(7)} -> ${last.toFixed(1).padStart(7)}  ${per_minute >= 0 ? '+' : ''}${per_minute.toFixed(3)} a minute, peak ${peak.toFixed(1)}`;
  });
  return [
    `${result.minutes.toFixed(1)} min, ${result.operations} operations (${result.per_second.toFixed(0)}/s, ${(result.server_share * 100).toFixed(0)} % of a processor), ${result.failed} failed`,
    ...Object.entries(result.failures).map(([text, n]) => `  ${n} x ${text}`),
    'after warm-up (the first fifth), first tenth -> last tenth; sizes in MiB:',
    ...lines,
  ].join('\n');
}
