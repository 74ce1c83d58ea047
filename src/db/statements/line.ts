import type { Client, QueryResultRow } from 'pg';
import type { NamedQuery } from './named.js';
import { SharedConnection, sendBatch, type Session } from './shared-connection.js';

/** A few connections that short statements of many requests share. */
export type StatementLine = {
  /** Runs a named statement outside of any transaction of the caller's. */
  query<Row extends QueryResultRow>(query: NamedQuery): Promise<Row[]>;
  /** How long the oldest statement has waited for a connection, in seconds; 0 when none waits. */
  oldestWait(): number;
  close(): Promise<void>;
};

/** A statement that has been asked for and not been answered. */
type PendingStatement = {
  readonly query: NamedQuery;
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly resolve: (rows: QueryResultRow[]) => void;
  readonly reject: (error: unknown) => void;
  /** Whether it was run before, in vain. */
  again?: boolean;
};

const minShare = 4;
const maxBatch = 128;

const endedMessage = 'the database connections are closed';

/**
 * The order in which statements that lock rows run within a batch, everywhere the same: by name and first value, which is the row's key. So two batches
 * never hold what the other one waits for.
 */
function byKey({ query: one }: PendingStatement, { query: other }: PendingStatement): number {
  const [, key] = one.values;
  const [, otherKey] = other.values;
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return Buffer.isBuffer(key) && Buffer.isBuffer(otherKey) ? key.compare(otherKey) : 0;
}

/** The server has answered that a statement failed, so nothing of its batch has happened. Any other error leaves the outcome of the commit unknown. */
const isServerError = (error: Error): boolean => (error as { severity?: string }).severity === 'ERROR';

/** How `pg` says that the server hasn't answered in time; it goes on to use the connection. */
export const silenceMessage = 'Query read timeout';

/** A prepared statement that no longer fits the tables, or was dropped: only another connection helps. */
const outdated = new Set(['0A000', '26000']);

/** What waits for a connection: all together, and those that failed with their batch and are run one by one. */
class Backlog {
  readonly #together: PendingStatement[] = [];
  readonly #alone: PendingStatement[] = [];
  readonly #locking: boolean;

  constructor(locking: boolean) {
    this.#locking = locking;
  }

  add(one: PendingStatement): void {
    this.#together.push(one);
  }

  /** What waits is shared out among the idle connections, so that the process has answers to work on while the server is at the rest. */
  nextGroup(idle: number): PendingStatement[] {
    if (this.#alone.length > 0) return this.#alone.splice(0, 1);
    const waiting = this.#together;
    const group = waiting.splice(0, Math.min(maxBatch, Math.max(minShare, Math.ceil(waiting.length / idle))));
    return this.#locking && group.length > 1 ? group.sort(byKey) : group;
  }

  /** Those of a group that failed: run again where that is right, else refused. */
  failed(group: readonly PendingStatement[], error: Error & { code?: string }): void {
    const answered = isServerError(error);
    const stale = outdated.has(error.code ?? '');
    const silent = error.message === silenceMessage;
    for (const one of group) {
      // Failed together, each is run alone; outdated, or lost with its connection if it only reads, once more.
      if (answered && group.length > 1) this.#alone.push(one);
      else if (!one.again && (stale || (!answered && !this.#locking && !silent))) this.#together.push(Object.assign(one, { again: true }));
      else one.reject(error);
    }
    if (silent) this.rejectAll(error);
  }

  /** Those that wait would wait as long again. */
  rejectAll(error: unknown): void {
    for (const one of [...this.#together.splice(0), ...this.#alone.splice(0)]) one.reject(error);
  }

  oldest(): PendingStatement | undefined {
    return this.#alone[0] ?? this.#together[0];
  }
}

/**
 * Runs the statements of all requests that come in together as one batch, and what comes meanwhile as the next. An idle connection takes a statement
 * at once, so nobody waits for company; under load one round trip, one commit and one wake-up of either side serve many
 * requests. Each of them is on its own all the same: when one fails, its batch has not happened, and its statements are run again one
 * by one.
 *
 * Only for short statements that lock nothing, or one row whose key is their second value (`locking`): those behind them wait. A connection that is lost
 * takes the writes on it with it, and those that wait if the server doesn't let us in or doesn't answer; look-ups are run once more. The next
 * statement opens another.
 */
export function createStatementLine(open: () => Client, options: { connections: number; locking: boolean }): StatementLine {
  const connections = Array.from({ length: options.connections }, () => new SharedConnection(open));
  const backlog = new Backlog(options.locking);
  let scheduled = false;
  let closed = false;

  async function run(connection: SharedConnection, group: readonly PendingStatement[]): Promise<void> {
    let session: Session;
    try {
      if (closed) throw new Error(endedMessage);
      session = await connection.session();
    } catch (error) {
      for (const one of group) one.reject(error);
      backlog.rejectAll(error);
      return;
    }
    try {
      const rows = await sendBatch(session, group.map(({ query }) => query)); // prettier-ignore
      group.forEach((one, index) => one.resolve(rows[index] as QueryResultRow[]));
    } catch (error) {
      const failure = error as Error & { prepares?: boolean; code?: string };
      if (!isServerError(failure) || failure.prepares || outdated.has(failure.code ?? '')) connection.hangUp();
      backlog.failed(group, failure);
    }
  }

  function dispatch(): void {
    scheduled = false;
    for (const connection of connections) {
      if (connection.busy) continue;
      const idle = connections.reduce((count, one) => (one.busy ? count : count + 1), 0);
      const group = backlog.nextGroup(idle);
      if (group.length === 0) return;
      connection.busy = true;
      void run(connection, group).finally(() => {
        connection.busy = false;
        dispatch();
      });
    }
  }

  return {
    query<Row extends QueryResultRow>(query: NamedQuery) {
      if (closed) return Promise.reject(new Error(endedMessage));
      return new Promise<Row[]>((resolve, reject) => {
        backlog.add({ query, since: performance.now(), resolve: resolve as PendingStatement['resolve'], reject });
        if (scheduled) return;
        scheduled = true;
        // After the requests that have arrived with this one.
        setImmediate(dispatch);
      });
    },
    oldestWait() {
      const oldest = backlog.oldest();
      return oldest ? (performance.now() - oldest.since) / 1000 : 0;
    },
    async close() {
      closed = true;
      await Promise.all(connections.map((one) => one.close())).catch(() => undefined);
    },
  };
}
