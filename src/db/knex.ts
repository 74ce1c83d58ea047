import createPool, { type Knex } from 'knex';
import pg from 'pg';
import type { Logger } from 'pino';
import type { PoolState } from '../platform/metrics/metrics.js';
import { createStatementLine, type StatementLine } from './statements/line.js';

/** How long a caller waits for a connection, and a statement for its answer, before the request is refused with 503. */
export const databaseTimeoutMs = 5000;

const limits = {
  statement_timeout: databaseTimeoutMs,
  query_timeout: databaseTimeoutMs + 500,
  idle_in_transaction_session_timeout: 30_000,
};

const oid = { int8: 20, date: 1082 } as const;

/** int8 as a number (counts and sizes here stay far below 2^53) and date as its text: a calendar day has no time zone. */
const types = {
  getTypeParser(type: number, format?: 'text' | 'binary'): unknown {
    if (type === oid.int8 && format !== 'binary') return Number;
    if (type === oid.date && format !== 'binary') return String;
    return pg.types.getTypeParser(type, format as 'text');
  },
};

/** Server settings of the connections for short statements. A prepared statement keeps its plan: one made while a table is small would go on reading the whole table when it has grown, so plans use indexes from the start. */
const byKey = { options: '-c enable_seqscan=off -c jit=off' };

/** Connections beside the pool for short statements. Look-ups have two, so that one is answered while the other is filled; writes have one, on which statements of this process never wait for each other's row locks. */
const lineOptions = { look_up: { connections: 2, locking: false }, write: { connections: 1, locking: true } };

/** How `pg` says that the server hasn't answered in time; it goes on to use the connection. */
const silenceMessage = 'Query read timeout';

type Callback = (error: Error | null, result?: unknown) => void;

/**
 * A connection that hangs up when the server falls silent or ends the session. `pg` reports "Query read timeout" and then goes on to
 * use the connection, which on a half-open socket would fail every later statement in the same slow way.
 */
class DeadlineClient extends pg.Client {
  // oxlint-disable-next-line typescript/no-explicit-any -- pg overloads query() in nine ways; this passes each of them through
  override query(...args: any[]): any {
    const last: unknown = args.at(-1);
    if (typeof last === 'function') {
      const done = last as Callback;
      args[args.length - 1] = (error: Error | null, result?: unknown) => {
        this.#hangUpAfter(error);
        done(error, result);
      };
    }
    const outcome: unknown = super.query(...(args as [string]));
    if (!(outcome instanceof Promise)) return outcome;
    return outcome.catch((error: unknown) => {
      this.#hangUpAfter(error);
      throw error;
    });
  }

  #hangUpAfter(error: unknown): void {
    const { message = '', severity = '' } = (error ?? {}) as { message?: string; severity?: string };
    if (message !== silenceMessage && severity !== 'FATAL' && severity !== 'PANIC') return;
    const client = this as unknown as { __knex__disposed?: unknown; connection: { stream: { destroy(): void } } };
    // Knex hands the connection to nobody from here on; the socket's own events would say so a moment too late.
    client.__knex__disposed = message;
    client.connection.stream.destroy();
  }
}

/** The same without statements that are prepared by name, for a pooler that hands every transaction another server connection. */
class UnnamedClient extends DeadlineClient {
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  override query(...args: any[]): any {
    const [config, ...others] = args as [unknown, ...unknown[]];
    if (typeof config !== 'object' || config === null || !('text' in config)) return super.query(...args);
    return super.query({ ...config, name: undefined }, ...others);
  }
}

/**
 * The connection pool of one process.
 *
 * Nothing waits longer than {@link databaseTimeoutMs}: not for a connection, not for a statement (the server ends it), not for a silent
 * server (the socket is dropped). Connections are opened on demand and closed when idle, so a restarted server is
 * found again without a restart here. `unlimited` lifts the limit on statements, for migrations; `prepared: false` gives up named
 * statements and sets no limits of the server at connect, for a transaction pooler (docs/operations.md).
 */
export function createKnex(options: { url: string; poolMax: number; unlimited?: boolean; prepared?: boolean; logger?: Logger }): Knex {
  const { url, poolMax, unlimited = false, prepared = true, logger } = options;
  const connection = {
    connectionString: url,
    application_name: 'identity-provider',
    connectionTimeoutMillis: databaseTimeoutMs,
    ...(!unlimited && (prepared ? limits : { query_timeout: limits.query_timeout })),
    keepAlive: true,
    types,
  };
  const knex = createPool({
    client: 'pg',
    connection: connection as Knex.PgConnectionConfig,
    acquireConnectionTimeout: databaseTimeoutMs,
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    log: {
      warn: (message: string) => logger?.warn({ message }, 'database.pool'),
      error: (message: string) => logger?.error({ message }, 'database.pool'),
      debug: (message: string) => logger?.debug({ message }, 'database.pool'),
      deprecate: (method: string) => logger?.debug({ method }, 'database.deprecated'),
    },
  });
  const dialect = knex.client as { driver: typeof pg; destroy(done?: (error?: unknown) => void): Promise<void> };
  dialect.driver = { ...pg, Client: prepared ? DeadlineClient : UnnamedClient };
  if (prepared && !unlimited) {
    // A line has a clock of its own for a server that is silent.
    const open = (statement_timeout: number) =>
      new pg.Client({ ...connection, ...byKey, statement_timeout, query_timeout: 0 } as pg.ClientConfig);
    const onChange = (statement: string, isolated: boolean) =>
      logger?.warn({ statement }, isolated ? 'database.statement_set_apart' : 'database.statement_back');
    const own: StatementLines = {
      look_up: createStatementLine({ open, onChange, ...lineOptions.look_up }),
      write: createStatementLine({ open, onChange, ...lineOptions.write }),
    };
    lines.set(knex, own);
    const destroy = dialect.destroy.bind(dialect);
    dialect.destroy = async (done) => {
      await Promise.all([own.look_up.close(), own.write.close()]);
      return destroy(done);
    };
  }
  return knex;
}

/** How long a replica may take to let us in or to answer; after that the primary is asked. */
const replicaTimeoutMs = 500;

/** A connection to a read replica, not yet open, that many look-ups share at once: pipelined. */
export function openReplicaConnection(url: string): pg.Client {
  return new DeadlineClient({
    connectionString: url,
    application_name: 'identity-provider',
    connectionTimeoutMillis: replicaTimeoutMs,
    query_timeout: replicaTimeoutMs,
    statement_timeout: replicaTimeoutMs,
    keepAlive: true,
    types,
    pipeline: true,
    ...byKey,
  } as pg.ClientConfig);
}

/** The connections beside the pool that run short statements outside of transactions: look-ups and writes. */
export type StatementLines = { readonly look_up: StatementLine; readonly write: StatementLine };

const lines = new WeakMap<Knex, StatementLines>();

/** The lines of a pool; undefined for a transaction, whose statements belong to it, and with `prepared: false`. */
export const statementLinesOf = (knex: Knex): StatementLines | undefined => lines.get(knex);

/** The state of the pool and of the lines beside it, as the metrics show it; zeros for what the Knex instance doesn't have. */
export function poolState(knex: Knex): PoolState {
  const { pool } = knex.client as { pool?: { max: number; numUsed(): number; numPendingAcquires(): number } };
  const own = lines.get(knex);
  const oldestWait = own ? Math.max(own.look_up.state().oldestWait, own.write.state().oldestWait) : 0;
  return { used: pool?.numUsed() ?? 0, waiting: pool?.numPendingAcquires() ?? 0, max: pool?.max ?? 0, oldestWait };
}
