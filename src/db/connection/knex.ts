import createPool, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from '../../platform/log/logger.js';
import { noDeadline, type Deadline } from '../../lib/deadline.js';
import type { Tracer } from '../../platform/spans/tracer.js';
import type { PoolState } from '../../platform/metrics/pool-metrics.js';
import { QueueGauge, type QueueState } from '../../platform/metrics/queue-state.js';
import { DeadlineClient, UnnamedClient, type ConnectionSettings } from './deadline-client.js';
import { DatabaseFailure, Unavailable } from './failures.js';
import type { Notifier } from './notifier.js';
import { PoolBulkhead } from './pool-bulkhead.js';
import { SuspectConnections } from './suspect-connections.js';
import type { NamedQuery } from './statements/named.js';
import { createStatementBatcher, type StatementBatcher } from './statements/statement-batcher.js';
import { ProcessLocks } from './process-locks.js';
import { withDialect } from './transaction.js';

/** How long a caller waits for a connection, and a statement for its answer, before the request is refused with 503. */
const databaseTimeoutMs = 5000;

const limits = { statement_timeout: databaseTimeoutMs, idle_in_transaction_session_timeout: 30_000 };

const oid = { int8: 20, date: 1082 } as const;

/** int8 as a number (counts and sizes here stay far below 2^53) and date as its text: a calendar day has no time zone. */
export const types = {
  getTypeParser(type: number, format?: 'text' | 'binary'): unknown {
    if (type === oid.int8 && format !== 'binary') return Number;
    if (type === oid.date && format !== 'binary') return String;
    return pg.types.getTypeParser(type, format as 'text');
  },
};

/** Server settings of the connections for short statements. A prepared statement keeps its plan: one made while a table is small would go on reading the whole table when it has grown, so plans use indexes from the start. */
export const plansByKey = { options: '-c enable_seqscan=off -c jit=off' };

/** Connections beside the pool for short statements. Look-ups have two, so that one is answered while the other is filled; writes have one, on which statements of this process never wait for each other's row locks. */
const batcherOptions = { look_up: { connections: 2, locking: false }, write: { connections: 1, locking: true } };

/** How many may wait for each connection that the pool may open: whoever comes later is refused at once. */
const maxWaitingPerConnection = 20;

type Pending = { readonly promise: Promise<DeadlineClient>; abort(): void };

type TarnPool = {
  readonly max: number;
  numUsed(): number;
  numPendingAcquires(): number;
  acquire(): Pending;
  release(connection: DeadlineClient): boolean;
};

/** Knex's PostgreSQL dialect, as far as it is used here; a transaction has one without a pool. */
type PoolClient = {
  driver: typeof pg;
  readonly pool?: TarnPool;
  /** Of the work that takes connections through this object; see {@link spending}. */
  readonly deadline?: Deadline;
  readonly environment_id?: string | null;
  /** Who waits for a connection. */
  readonly waiting: QueueGauge;
  readonly locks: ProcessLocks;
  readonly bulkhead: PoolBulkhead<DeadlineClient>;
  readonly batchers?: StatementBatchers;
  /** Of the pool's connections, so far. */
  readonly sent: { readonly count: number };
  acquireConnection(): Promise<DeadlineClient>;
  releaseConnection(connection: DeadlineClient): Promise<void>;
  destroy(done?: (error?: unknown) => void): Promise<void>;
};

/** Takes a connection, which spends from the deadline from then on. @throws {Unavailable} */
async function acquireConnection(this: PoolClient): Promise<DeadlineClient> {
  const { pool, deadline = noDeadline, environment_id = null } = this;
  const left = deadline.left();
  if (!pool) throw new Unavailable('the database connections are closed', null);
  if (left <= 0) throw new Unavailable('the time of the request is up', null);
  if (pool.numPendingAcquires() >= pool.max * maxWaitingPerConnection) {
    this.waiting.countRefused();
    throw new Unavailable('too many wait for a connection to the database', null);
  }
  const queued = this.waiting.enter();
  const pending = pool.acquire();
  const timer = left < databaseTimeoutMs ? setTimeout(() => pending.abort(), left) : undefined;
  try {
    const connection = await pending.promise;
    connection.spend(deadline, environment_id);
    return connection;
  } catch (error) {
    if (error instanceof DatabaseFailure) throw error;
    throw new Unavailable('no connection to the database was free in time', null, error);
  } finally {
    this.waiting.leave(queued);
    clearTimeout(timer);
  }
}

/** Whether an idle connection may be given to somebody; called by Knex, which opens another one otherwise. */
function validateConnection(connection: DeadlineClient): boolean {
  if (connection.isSuspect) connection.hangUp();
  return !connection.isSuspect;
}

/** Gives a connection back; one whose transaction is still open is given up, and with it what it did. */
async function releaseConnection(this: PoolClient, connection: DeadlineClient): Promise<void> {
  connection.spend(noDeadline, null);
  if (connection.inTransaction) connection.hangUp();
  this.pool?.release(connection);
}

/** The pool for work that has a deadline, on the rows of one environment or (null) of all: waiting for a connection and every statement on it spend from that. Made where it is needed. */
export const spending = (knex: Knex, deadline: Deadline, environment_id: string | null): Knex =>
  withDialect(knex, { deadline: { value: deadline }, environment_id: { value: environment_id }, batchers: { value: undefined } });

type PoolOptions = {
  readonly url: string;
  readonly poolMax: number;
  readonly unlimited?: boolean;
  readonly prepared?: boolean;
  readonly logger?: Logger;
  readonly tracer?: Tracer | null;
  /** Told what statements ask to be notified of. */
  readonly notifier?: Notifier;
};

/**
 * The connection pool of one process.
 *
 * Nothing waits longer than {@link databaseTimeoutMs}, or than the deadline of the work ({@link spending}): not for a connection, not for a statement
 * (the server ends it), not for a silent server (the socket is dropped, and with it those that were idle meanwhile). What failed is told by class (failures.ts). Connections are opened on demand and closed when idle, so a restarted server is
 * found again without a restart here. `unlimited` lifts the limit on statements, for migrations; `prepared: false` gives up named
 * statements and sets no limits of the server at connect, for a transaction pooler (docs/how-to/operations.md).
 */
export function createKnex({ url, poolMax, unlimited = false, prepared = true, logger, tracer = null, notifier }: PoolOptions): Knex {
  const suspects = new SuspectConnections();
  const sent = { count: 0 };
  const bulkhead = new PoolBulkhead<DeadlineClient>(poolMax, (stuck) => endStatement(knex, stuck));
  const connection = {
    connectionString: url,
    application_name: 'identity-provider',
    connectionTimeoutMillis: databaseTimeoutMs,
    ...(!unlimited && { statementLimitMs: databaseTimeoutMs + 500, ...(prepared && limits) }),
    keepAlive: true,
    types,
  };
  const knex = createPool({
    client: 'pg',
    connection: connection as Knex.PgConnectionConfig,
    acquireConnectionTimeout: databaseTimeoutMs,
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    log: {
      warn: (message: string) => logger?.warn({ event: 'database.pool', message }, 'the connection pool reports'),
      error: (message: string) => logger?.error({ event: 'database.pool', message }, 'the connection pool reports'),
      debug: (message: string) => logger?.debug({ event: 'database.pool', message }, 'the connection pool reports'),
      deprecate: (method: string) => logger?.debug({ event: 'database.deprecated', method }, 'a deprecated way to call the database'),
    },
  });
  const dialect = knex.client as PoolClient;
  const Base = prepared ? DeadlineClient : UnnamedClient;
  // Knex copies the settings of its connections, so what is shared by them isn't handed over there.
  class PoolConnection extends Base {
    constructor(settings: ConnectionSettings) {
      super({ ...settings, suspects, tracer, sent, ...(!unlimited && { bulkhead }) });
      notifier?.watch(this);
    }
  }
  dialect.driver = { ...pg, Client: PoolConnection };
  const safeguards = { waiting: new QueueGauge('pool'), locks: new ProcessLocks(), bulkhead, sent };
  Object.assign(dialect, { acquireConnection, releaseConnection, validateConnection, ...safeguards });
  if (prepared && !unlimited) {
    // A batcher has a clock of its own for a server that is silent.
    const open = (statement_timeout: number) => {
      const client = new pg.Client({ ...connection, ...plansByKey, statement_timeout } as pg.ClientConfig);
      notifier?.watch(client);
      return client;
    };
    const onChange = (statement: string, isolated: boolean) =>
      logger?.warn(
        { event: isolated ? 'database.statement_isolated' : 'database.statement_rejoined', statement },
        isolated ? 'a slow statement runs apart from the others' : 'a statement is quick again',
      );
    const pool = (query: NamedQuery, deadline: Deadline) => spending(knex, deadline, query.environment_id ?? null);
    const batcher = (options: (typeof batcherOptions)[keyof typeof batcherOptions]) =>
      createStatementBatcher({ open, pool, onChange, suspects, tracer, ...options });
    const batchers: StatementBatchers = { look_up: batcher(batcherOptions.look_up), write: batcher(batcherOptions.write) };
    Object.assign(dialect, { batchers });
    const destroy = dialect.destroy.bind(dialect);
    dialect.destroy = async (done) => {
      await Promise.all([batchers.look_up.close(), batchers.write.close()]);
      return destroy(done);
    };
  }
  return knex;
}

/**
 * A statement that has been at work for most of a second: not the next one on its connection, which may be somebody else's by now; and not one whose commit waits
 * for a standby, which PostgreSQL would then call done (only here, so that a failover loses it).
 */
const cancelStuck = `select pg_cancel_backend(pid) from pg_stat_activity
  where pid = $1::int and state = 'active' and wait_event is distinct from 'SyncRep' and query_start < clock_timestamp() - interval '900 ms'`;

/** Cancels the statement that a connection of the pool runs, through another connection; without a batcher (behind a pooler, whose server connections aren't ours) the connection is given up. */
function endStatement(knex: Knex, stuck: DeadlineClient): void {
  const { processID } = stuck as unknown as { readonly processID: number };
  const batcher = statementBatchersOf(knex)?.look_up;
  if (!batcher) return stuck.hangUp();
  const query = { name: 'pool.cancel', text: cancelStuck, values: [processID] };
  batcher.query(query, { key: null, deadline: noDeadline }).catch(() => stuck.hangUp());
}

/** The connections beside the pool that run short statements outside of transactions: look-ups and writes. */
export type StatementBatchers = { readonly look_up: StatementBatcher; readonly write: StatementBatcher };

/** The statement batchers of a pool; undefined for a transaction, whose statements belong to it, and with `prepared: false`. */
export const statementBatchersOf = (knex: Knex): StatementBatchers | undefined => (knex.client as PoolClient).batchers;

/** The locks of all transactions that take their connections from a pool. */
export const processLocksOf = (pool: Knex): ProcessLocks => (pool.client as PoolClient).locks;

/** The state of the pool and of the batchers beside it, as the metrics show it; zeros for what the Knex instance doesn't have. */
export function poolState(knex: Knex): PoolState {
  const { pool, sent } = knex.client as { pool?: TarnPool; sent?: { readonly count: number } };
  const batchers = Object.entries(statementBatchersOf(knex) ?? {}).map(([name, batcher]) => [name, batcher.state()] as const);
  const states = batchers.map(([, state]) => state);
  return {
    used: pool?.numUsed() ?? 0,
    waiting: pool?.numPendingAcquires() ?? 0,
    max: pool?.max ?? 0,
    oldestWait: Math.max(0, ...states.map(({ oldestWait }) => oldestWait)),
    isolated: states.flatMap(({ isolated }) => isolated),
    statements: { pool: sent?.count ?? 0, ...Object.fromEntries(batchers.map(([name, state]) => [name, state.sent])) },
  };
}

/** What waits for the database: for a connection of the pool, for a lock that another transaction of this process holds, and in the batchers beside it. */
export function databaseQueues(knex: Knex): QueueState[] {
  const { waiting, bulkhead, locks } = knex.client as PoolClient;
  const pool = waiting.state();
  const shared = Object.entries(statementBatchersOf(knex) ?? {}).map(([name, batcher]) => {
    const { length, oldestWait, refused: refusedThere } = batcher.state();
    return { queue: `statements_${name}`, length, wait: oldestWait, refused: refusedThere };
  });
  return [{ ...pool, refused: pool.refused + bulkhead.refused }, locks.state(), ...shared];
}
