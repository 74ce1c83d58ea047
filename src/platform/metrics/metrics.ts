import { createDailyCounts } from './daily-counts.js';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from './prometheus.js';
import { traceMetrics } from './trace-metrics.js';
import type { QueueState } from './queue-state.js';
import { createFastHistogram, createFastCounter } from './fast-metrics.js';
import { poolMetrics } from './pool-metrics.js';
import { replicaMetrics } from './replica-metrics.js';

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function queueMetrics(registers: Registry[]) {
  const watched: (() => readonly QueueState[])[] = [];
  const states = () => watched.flatMap((state) => state());
  const labelNames = ['queue'];
  return {
    watchQueues(state: () => readonly QueueState[]): void {
      watched.push(state);
    },
    queueLength: new Gauge({
      name: 'queue_length',
      help: 'How many wait or are being served.',
      labelNames,
      registers,
      collect() {
        for (const { queue, length } of states()) this.set({ queue }, length);
      },
    }),
    queueWait: new Gauge({
      name: 'queue_wait_seconds',
      help: 'How long the oldest has waited; of requests, how long a turn of the event loop takes; of signing, how long the next one will wait.',
      labelNames,
      aggregator: 'max',
      registers,
      collect() {
        for (const { queue, wait } of states()) this.set({ queue }, wait);
      },
    }),
    queueRefused: new Counter({
      name: 'queue_refused_total',
      help: 'How many were refused since they could not be served in time.',
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const { queue, refused } of states()) this.inc({ queue }, refused);
      },
    }),
  };
}

const outboxMetrics = (registers: Registry[]) => ({
  outboxAge: new Gauge({
    name: 'outbox_oldest_due_seconds',
    help: 'Age of the oldest due delivery.',
    labelNames: ['queue'],
    // Every worker looks at the same queue: their ages don't add up.
    aggregator: 'max',
    registers,
  }),
  deliveries: new Counter({
    name: 'outbox_attempts_total',
    help: 'Delivery attempts by queue and outcome.',
    labelNames: ['queue', 'outcome'],
    registers,
  }),
  claimSeconds: new Histogram({
    name: 'outbox_claim_duration_seconds',
    help: 'Duration of claiming a batch of due deliveries.',
    labelNames: ['queue'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    registers,
  }),
});

const passwordMetrics = (registers: Registry[]) => ({
  breachedPasswordChecks: new Counter({
    name: 'breached_password_checks_total',
    help: 'New passwords, and those of sign-ins, looked for among those of data breaches, by result: clean, breached, failed, skipped.',
    labelNames: ['result'],
    registers,
  }),
});

const securityEventMetrics = (registers: Registry[]) => ({
  securityEvents: new Counter({ name: 'security_events_total', help: 'Security events by name.', labelNames: ['event'], registers }),
  eventsUnnumbered: new Gauge({
    name: 'events_unnumbered',
    help: 'Committed events that wait for their place in the feed, counted up to 100,000.',
    aggregator: 'max',
    registers,
  }),
  signalStreamLag: new Gauge({
    name: 'signal_stream_lag_seconds',
    help: 'How long the oldest signal that waits for a stream has waited.',
    labelNames: ['signal_stream_id'],
    aggregator: 'max',
    registers,
  }),
  environmentHeld: new Gauge({
    name: 'environment_held',
    help: 'For how many seconds an environment that moves to another cell has been held, by its slug.',
    labelNames: ['environment'],
    aggregator: 'max',
    registers,
  }),
  logStreamLag: new Gauge({
    name: 'log_stream_lag_seconds',
    help: 'How long the oldest record that waits for a log stream has waited.',
    labelNames: ['log_stream_id'],
    aggregator: 'max',
    registers,
  }),
  signalsReceived: new Counter({
    name: 'signals_received_total',
    help: 'Signals of providers by what they say; other: those that end nothing.',
    labelNames: ['kind'],
    registers,
  }),
  partitionsDropped: new Counter({
    name: 'partitions_dropped_total',
    help: 'Partitions that were dropped because all of their rows had expired.',
    labelNames: ['table'],
    registers,
  }),
  securityEventsDropped: new Counter({
    name: 'security_events_dropped_total',
    help: 'Security events that have a line in the log and no row, because too many waited for the database.',
    registers,
  }),
});

/** Prometheus metrics of one process; names follow the Prometheus conventions. */
export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics(registry);
  const registers = [registry];
  return {
    /** The counts by day that the dashboard's charts show. */
    daily: createDailyCounts(),
    registry,
    render: () => registry.metrics(),
    ...poolMetrics(registers),
    ...queueMetrics(registers),
    ...outboxMetrics(registers),
    ...traceMetrics(registers),
    ...passwordMetrics(registers),
    ...securityEventMetrics(registers),
    requestSeconds: createFastHistogram(registry, {
      name: 'http_request_duration_seconds',
      help: 'Duration of HTTP requests by route and status class.',
      labelNames: ['method', 'route', 'status'],
      buckets,
    }),
    tokenSeconds: createFastHistogram(registry, {
      name: 'oauth_token_duration_seconds',
      help: 'Duration of successful token requests by grant type, after client authentication.',
      labelNames: ['grant_type'],
      buckets,
    }),
    tokensIssued: createFastCounter(registry, {
      name: 'oauth_tokens_issued_total',
      help: 'Access tokens issued by grant type.',
      labelNames: ['grant_type', 'format'],
    }),
    logins: new Counter({
      name: 'logins_total',
      help: 'Login attempts by method and outcome.',
      labelNames: ['method', 'outcome'],
      registers,
    }),
    cacheReads: createFastCounter(registry, {
      name: 'cache_reads_total',
      help: 'Reads of the in-process cache by kind and result.',
      labelNames: ['kind', 'result'],
    }),
    notifications: createFastCounter(registry, {
      name: 'notifications_total',
      help: 'Notifications to the other processes, by channel and result: sent, failed or dropped.',
      labelNames: ['channel', 'result'],
    }),
    ...replicaMetrics(registry),
    sealedRowsPending: new Gauge({
      name: 'sealed_rows_pending',
      help: 'Sealed values that a key other than SECRET_KEY sealed, when they were last counted.',
      aggregator: 'max',
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
