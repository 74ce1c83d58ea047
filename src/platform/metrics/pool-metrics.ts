import { Counter, Gauge, type Registry } from './prometheus.js';

export type PoolState = {
  /** Connections of the pool that are in use. */
  readonly used: number;
  /** Callers that wait for a connection of the pool. */
  readonly waiting: number;
  /** The most connections that the pool opens (`DATABASE_POOL_MAX`). */
  readonly max: number;
  /** Seconds that the oldest short statement has waited for its answer on the connections beside the pool; 0 when none waits. */
  readonly oldestWait: number;
  /** Names of short statements that are slow or locked, and kept apart from the others. */
  readonly isolated: readonly string[];
  /** Statements sent to the primary so far: on the pool (each BEGIN and COMMIT counts), and those of many requests together. */
  readonly statements: Readonly<Record<string, number>>;
};

/** What is connected to the primary, what waits for it, and what it was asked. */
export function poolMetrics(registers: Registry[]) {
  let pool: (() => PoolState) | null = null;
  const connections = (name: string, help: string, of: 'used' | 'waiting' | 'max') =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(pool?.()[of] ?? 0);
      },
    });
  return {
    watchPool(state: () => PoolState): void {
      pool = state;
    },
    poolInUse: connections('database_connections_in_use', 'Connections of the pool that are taken.', 'used'),
    poolWaiting: connections('database_connections_awaited', 'Requests that wait for a connection of the pool.', 'waiting'),
    oldestWait: new Gauge({
      name: 'database_statements_oldest_wait_seconds',
      help: 'How long the oldest short statement has waited for the connection that it shares.',
      aggregator: 'max',
      registers,
      collect() {
        this.set(pool?.().oldestWait ?? 0);
      },
    }),
    statementsIsolated: new Gauge({
      name: 'database_statement_isolated',
      help: '1 for each short statement that is slow or waits for a lock, and runs isolated from the others.',
      labelNames: ['statement'],
      aggregator: 'max',
      registers,
      collect() {
        this.reset();
        for (const statement of pool?.().isolated ?? []) this.set({ statement }, 1);
      },
    }),
    statements: new Counter({
      name: 'database_primary_statements_total',
      help: 'Statements sent to the primary: on the pool, or as look_up and write those of many requests together.',
      labelNames: ['class'],
      registers,
      collect() {
        this.reset();
        for (const [name, count] of Object.entries(pool?.().statements ?? {})) this.inc({ class: name }, count);
      },
    }),
    poolMax: connections('database_connections_max', 'Connections that the pool may open (DATABASE_POOL_MAX).', 'max'),
  };
}
