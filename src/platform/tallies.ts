import type { Metric, Registry } from 'prom-client';

/** The parts of a metric that `Registry` reads; see prom-client's own metrics for the meaning of `aggregator`. */
type Sample = { readonly labels: Readonly<Record<string, string | number>>; readonly value: number; readonly metricName?: string };

type Description = { readonly name: string; readonly help: string; readonly labelNames: readonly string[] };

function register(registry: Registry, type: 'counter' | 'histogram', description: Description, samples: () => Sample[]): void {
  const { name, help } = description;
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    collect: () => undefined,
    get: async () => ({ name, help, type, aggregator: 'sum', values: samples() }),
  };
  registry.registerMetric(metric as unknown as Metric);
}

const labelsOf = (names: readonly string[], key: string): Record<string, string> => {
  const values = key.split('\0');
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']));
};

/**
 * A counter for hot paths: one map look-up per count, everything else when it is read. (prom-client's own sorts and joins the labels
 * of every single count.)
 */
export function createTally(registry: Registry, description: Description) {
  const counts = new Map<string, number>();
  register(registry, 'counter', description, () =>
    [...counts].map(([key, value]) => ({ labels: labelsOf(description.labelNames, key), value })),
  );
  return {
    /** Counts one; `values` in the order of the label names. */
    count(...values: string[]): void {
      const key = values.length === 1 ? (values[0] as string) : values.join('\0');
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
  };
}

/** A counter that costs next to nothing to count. */
export type Tally = ReturnType<typeof createTally>;

/** The same for durations: a histogram with the given upper bounds, in seconds. */
export function createDurations(registry: Registry, description: Description & { readonly buckets: readonly number[] }) {
  const { buckets, labelNames, name } = description;
  const series = new Map<string, { counts: number[]; sum: number }>();
  register(registry, 'histogram', description, () =>
    [...series].flatMap(([key, { counts, sum }]) => {
      const labels = labelsOf(labelNames, key);
      let total = 0;
      const samples: Sample[] = [...buckets, '+Inf'].map((le, i) => {
        total += counts[i] ?? 0;
        return { labels: { le, ...labels }, value: total, metricName: `${name}_bucket` };
      });
      return [...samples, { labels, value: sum, metricName: `${name}_sum` }, { labels, value: total, metricName: `${name}_count` }];
    }),
  );
  return {
    /** Records one duration; `values` in the order of the label names. */
    record(seconds: number, ...values: string[]): void {
      const key = values.join('\0');
      let entry = series.get(key);
      if (!entry) series.set(key, (entry = { counts: Array.from({ length: buckets.length + 1 }, () => 0), sum: 0 }));
      let i = 0;
      while (i < buckets.length && seconds > (buckets[i] as number)) i++;
      entry.counts[i] = (entry.counts[i] as number) + 1;
      entry.sum += seconds;
    },
  };
}

/** A histogram of durations. */
export type Durations = ReturnType<typeof createDurations>;
