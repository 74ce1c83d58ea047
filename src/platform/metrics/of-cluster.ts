import cluster from 'node:cluster';
import { AggregatorRegistry } from './prometheus.js';
import type { Metrics } from './metrics.js';

/** From a worker: somebody asks for the metrics of all workers. */
type MetricsRequest = { readonly type: 'metrics_request'; readonly id: number };
/** To that worker: their sums, as Prometheus text; null when they could not be had. */
type MetricsAnswer = { readonly type: 'metrics_answer'; readonly id: number; readonly text: string | null };

const answerWithinMs = 5_000;

/** In the primary: adds up what all workers have measured whenever one of them is asked. */
export function answerMetricsRequests(): void {
  const aggregator = new AggregatorRegistry();
  cluster.on('message', (worker, message: Partial<MetricsRequest>) => {
    const { type, id } = message;
    if (type !== 'metrics_request' || id === undefined) return;
    const answer = (text: string | null) =>
      worker.isConnected() && worker.send({ type: 'metrics_answer', id, text } satisfies MetricsAnswer);
    aggregator.clusterMetrics().then(answer, () => answer(null));
  });
}

/** In a worker: the same metrics, rendered as the sum of all workers; its own alone when the primary doesn't answer. */
export function createClusterMetrics(metrics: Metrics): Metrics {
  // Its constructor makes this worker answer when the primary collects.
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries(metrics.registry);
  let last = 0;

  async function ofAll(): Promise<string | null> {
    const id = ++last;
    return new Promise((resolve) => {
      const finish = (text: string | null) => {
        clearTimeout(timer);
        process.off('message', listen);
        resolve(text);
      };
      const listen = (message: Partial<MetricsAnswer>) => {
        if (message.type === 'metrics_answer' && message.id === id) finish(message.text ?? null);
      };
      const timer = setTimeout(() => finish(null), answerWithinMs);
      process.on('message', listen);
      process.send?.({ type: 'metrics_request', id } satisfies MetricsRequest);
    });
  }

  return { ...metrics, render: async () => (await ofAll()) ?? metrics.render() };
}
