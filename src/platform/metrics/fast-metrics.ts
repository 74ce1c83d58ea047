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

type Labels = Readonly<Record<string, string>>;

/**
 * Finds what belongs to a combination of label values, making it at its first use: one map look-up a label, of texts that
 * exist already. (One look-up by all of them together would first have to build and hash their text.)
 */
function createSeries<Entry extends object>(labelNames: readonly string[], make: (labels: Labels) => Entry) {
  type Node = Map<string, Node | Entry>;
  const root: Node = new Map();
  const entries: Entry[] = [];
  const last = labelNames.length - 1;
  return {
    entries,
    find(values: readonly string[]): Entry {
      let node = root;
      for (let i = 0; i < last; i++) {
        const value = values[i] as string;
        let inner = node.get(value) as Node | undefined;
        if (!inner) node.set(value, (inner = new Map()));
        node = inner;
      }
      const value = values[last] as string;
      let entry = node.get(value) as Entry | undefined;
      if (!entry) {
        entry = make(Object.fromEntries(labelNames.map((name, i) => [name, values[i] ?? ''])));
        node.set(value, entry);
        entries.push(entry);
      }
      return entry;
    },
  };
}

export type FastCounter = ReturnType<typeof createFastCounter>;

/** A counter for hot paths: everything but counting is done when it is read. (prom-client's own sorts and joins the labels of every single count.) */
export function createFastCounter(registry: Registry, description: Description) {
  const series = createSeries(description.labelNames, (labels) => ({ labels, value: 0 }));
  register(registry, 'counter', description, () => [...series.entries]);
  return {
    /** Counts one; `values` in the order of the label names. */
    count(...values: string[]): void {
      series.find(values).value += 1;
    },
  };
}

/** The same for durations: a histogram with the given upper bounds, in seconds. */
export function createFastHistogram(registry: Registry, description: Description & { readonly buckets: readonly number[] }) {
  const { buckets, labelNames, name } = description;
  const none = (): number[] => Array.from({ length: buckets.length + 1 }, () => 0);
  const series = createSeries(labelNames, (labels) => ({ labels, counts: none(), sum: 0 }));
  register(registry, 'histogram', description, () =>
    series.entries.flatMap(({ labels, counts, sum }) => {
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
      const entry = series.find(values);
      let i = 0;
      while (i < buckets.length && seconds > (buckets[i] as number)) i++;
      entry.counts[i] = (entry.counts[i] as number) + 1;
      entry.sum += seconds;
    },
  };
}

/** Reads that a standby may answer, by what came of asking it. */
export const createReplicaCounter = (registry: Registry, name: string, what: string, by: string) =>
  createFastCounter(registry, {
    name,
    help: `${what} that ${by} may answer, by result: served, or why the primary was asked.`,
    labelNames: ['result'],
  });
