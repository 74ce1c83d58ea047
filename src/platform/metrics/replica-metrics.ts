import { createReplicaCounter } from './fast-metrics.js';
import { Gauge, type Registry } from './prometheus.js';

/** What standbys answer, and how far they are behind. */
export const replicaMetrics = (registry: Registry) => ({
  replicaLookUps: createReplicaCounter(registry, 'database_replica_lookups_total', 'Look-ups', 'a read replica'),
  reportReads: createReplicaCounter(registry, 'database_report_reads_total', 'Lists', 'a report replica'),
  replicaBehind: new Gauge({
    name: 'database_replica_behind_seconds',
    help: 'How old the latest position is that the standby is known to have replayed, for look-ups or reports; +Inf: none is known.',
    labelNames: ['used_for'],
    aggregator: 'max',
    registers: [registry],
  }),
});
