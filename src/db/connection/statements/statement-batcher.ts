import type { Client, QueryResultRow } from 'pg';
import { timed, type Tracer } from '../../../platform/spans/tracer.js';
import { Conflict, Outdated, Unavailable } from '../failures.js';
import { SuspectConnections } from '../suspect-connections.js';
import { endsSession, tookTooLong } from '../sqlstate.js';
import { Backlog } from './backlog.js';
import { Isolation, type IsolationOptions } from './isolation.js';
import type { NamedQuery } from './named.js';
import type { PendingStatement, Terms } from './pending.js';
import { failureFor, SharedConnection, type BatchFailure, type Session } from './shared-connection.js';

/** What a batcher holds at one moment. */
export type BatcherState = {
  /** Statements that wait for a connection. */
  readonly length: number;
  /** How long the oldest of them has waited, in seconds; 0 when none waits. */
  readonly oldestWait: number;
  /** How many were refused so far, because they couldn't be served in time. */
  readonly refused: number;
  /** Statements sent to the server so far, each attempt; without those that run on the pool. */
  readonly sent: number;
  /** Names of statements that are isolated from the others. */
  readonly isolated: readonly string[];
};

/** A few connections that short statements of many requests share. */
export type StatementBatcher = {
  /**
   * Runs a named statement outside of any transaction of the caller's.
   * @throws {Unavailable} {@link Ambiguous} {@link Outdated} {@link Conflict} or what the server says of the statement
   */
  query<Row extends QueryResultRow>(query: NamedQuery, terms: Terms): Promise<Row[]>;
  state(): BatcherState;
  close(): Promise<void>;
};

export type BatcherOptions = {
  /** A connection, not yet open, whose server ends each statement after so many milliseconds. */
  open(statementTimeoutMs: number): Client;
  readonly connections: number;
  /** Whether the statements lock rows; then they are run in the order of their keys, and none is run twice unless nothing has happened. */
  readonly locking: boolean;
  readonly pool: IsolationOptions['pool'];
  /** A statement that takes longer is slow, and is isolated; the server ends it. Default 200 ms. */
  readonly slowMs?: number;
  /** Shared with other connections to the same server. Default: the batcher's own. */
  readonly suspects?: SuspectConnections;
  readonly tracer?: Tracer | null;
  /** Told when the statements of a name are isolated, and when they are among the others again. */
  onChange?(name: string, isolated: boolean): void;
};

const ended = () => new Unavailable('the database connections are closed', null);
const unreachable = (cause: unknown) => new Unavailable('the database can not be reached', null, cause);

/** A statement is not answered on a connection that it shares, because it was slow there, or (not `itself`) another of its name was. */
class TooSlow extends Error {
  constructor(readonly itself: boolean) {
    super('the statement is too slow for a connection that it shares');
    this.name = 'TooSlow';
  }
}

/** How long the server may leave a batch without an answer, before the connection is given up. */
const answerTimeoutMs = 5000;
/** How often what waits is looked through for expired deadlines while every connection is busy. */
const expiryMs = 250;

/**
 * Runs the statements of all requests that come in together as one batch, and what comes meanwhile as the next. An idle connection takes a statement
 * at once, so nobody waits for company; under load one round trip, one commit and one wake-up of either side serve many
 * requests. Each of them is on its own all the same: when one is refused, its batch has not happened, and the others are run again without it.
 *
 * Only for short statements that lock nothing, or one row by its key (`locking`): those behind them wait. So the server ends each after `slowMs`; it
 * and those of its name go on isolated, on the pool, until they are quick again ({@link Isolation}). When a connection is
 * lost, the writes on it are {@link Ambiguous} and the look-ups are run once more; when the server can't be reached or is silent, everything that waits is refused. The
 * next statement opens another connection.
 */
class Batcher {
  readonly #options: BatcherOptions;
  readonly #connections: SharedConnection[];
  readonly #backlog: Backlog;
  readonly #isolation: Isolation;
  #sent = 0;
  #scheduled = false;
  #closed = false;
  #expiry: NodeJS.Timeout | null = null;

  constructor(options: BatcherOptions) {
    const { open, connections, locking, pool, slowMs = 200, suspects = new SuspectConnections(), onChange = () => undefined } = options;
    this.#options = options;
    this.#connections = Array.from({ length: connections }, () => new SharedConnection(() => open(slowMs), suspects));
    this.#backlog = new Backlog(options);
    this.#isolation = new Isolation({ pool, slowMs, locking, onChange });
  }

  query<Row extends QueryResultRow>(query: NamedQuery, { key, deadline }: Terms): Promise<Row[]> {
    if (this.#closed) return Promise.reject(ended());
    if (this.#isolation.has(query.name)) return this.#isolation.run<Row>(query, deadline, false);
    // Begun here, where it is known whose it is: on the connection it goes together with those of other requests.
    const { tracer = null } = this.#options;
    const span = tracer === null ? null : tracer.statement(query.name);
    const answer = new Promise<Row[]>((resolve, reject) => {
      const since = performance.now();
      this.#backlog.add({ query, key, deadline, since, resolve: resolve as PendingStatement['resolve'], reject, attempts: 0 });
      this.#schedule();
    });
    return timed(span, answer).catch((error: unknown) => {
      if (!(error instanceof TooSlow)) throw error;
      return this.#isolation.run<Row>(query, deadline, error.itself);
    });
  }

  state(): BatcherState {
    const { names, length, wait, refused } = this.#isolation.state();
    const { oldest } = this.#backlog;
    return {
      length: this.#backlog.length + length,
      oldestWait: Math.max(wait, oldest ? (performance.now() - oldest.since) / 1000 : 0),
      refused: this.#backlog.refused + refused,
      sent: this.#sent,
      isolated: names,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#backlog.refuseAll(ended());
    if (this.#expiry) clearTimeout(this.#expiry);
    await Promise.all(this.#connections.map((one) => one.close())).catch(() => undefined);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After the requests that have arrived with this one.
    setImmediate(() => this.#dispatch());
  }

  #dispatch(): void {
    this.#scheduled = false;
    for (const connection of this.#connections) {
      if (connection.busy) continue;
      const idle = this.#connections.reduce((count, one) => (one.busy ? count : count + 1), 0);
      let group = this.#next(idle);
      while (group.length === 0 && this.#backlog.length > 0) group = this.#next(idle);
      if (group.length === 0) return;
      connection.busy = true;
      void this.#run(connection, group).finally(() => {
        connection.busy = false;
        this.#dispatch();
      });
    }
    if (this.#backlog.length > 0) this.#expiry ??= setTimeout(() => this.#expire(), expiryMs).unref();
  }

  /** The next batch, without those whose name was isolated while they waited. */
  #next(idle: number): PendingStatement[] {
    return this.#backlog.next(idle).filter((one) => {
      const isolated = this.#isolation.has(one.query.name);
      if (isolated) one.reject(new TooSlow(false));
      return !isolated;
    });
  }

  /** What waits for a connection that doesn't come back is refused when its time is up. */
  #expire(): void {
    this.#expiry = null;
    this.#backlog.expire();
    if (this.#backlog.length > 0) this.#expiry = setTimeout(() => this.#expire(), expiryMs).unref();
  }

  async #run(connection: SharedConnection, group: readonly PendingStatement[]): Promise<void> {
    let session: Session;
    try {
      session = await connection.session();
    } catch (error) {
      const failure = unreachable(error);
      for (const one of group) one.reject(failure);
      this.#backlog.refuseAll(failure);
      return;
    }
    const begun = performance.now();
    this.#sent += group.length;
    try {
      const rows = await connection.send(session, group.map(({ query }) => query), answerTimeoutMs); // prettier-ignore
      this.#backlog.took(performance.now() - begun);
      group.forEach((one, index) => one.resolve(rows[index] as QueryResultRow[]));
    } catch (error) {
      const failure = error as BatchFailure;
      if (failure.kind === 'refused') this.#refused(group, failure);
      else this.#lost(group, failure);
    }
  }

  /** Nothing of the batch has happened: all may be run again, what was refused apart from the others and after them. */
  #refused(group: readonly PendingStatement[], { position, cause }: BatchFailure): void {
    const at = group[position];
    if (at && tookTooLong(cause)) {
      this.#isolation.add(at.query.name);
      at.reject(new TooSlow(true));
      return this.#backlog.again(group.filter((one) => one !== at));
    }
    const passes = cause instanceof Outdated || cause instanceof Conflict || endsSession(cause);
    if (passes && group.every(({ attempts }) => attempts === 0)) return this.#backlog.again(group);
    if (group.length === 1) return group[0]?.reject(cause);
    if (at) this.#backlog.again(group.filter((one) => one !== at));
    this.#backlog.alone(at ? [at] : group);
  }

  /** Without an answer: reads are run once more, unless the server is silent. */
  #lost(group: readonly PendingStatement[], { kind, cause }: BatchFailure): void {
    const { locking } = this.#options;
    const error = failureFor(kind, cause, locking);
    for (const one of group) {
      if (locking || kind === 'silent' || one.attempts > 0) one.reject(error);
      else this.#backlog.again([one]);
    }
    // Those that wait would wait as long again.
    if (kind === 'silent') this.#backlog.refuseAll(unreachable(cause));
  }
}

/** A batcher; it opens its connections with the first statement. */
export const createStatementBatcher = (options: BatcherOptions): StatementBatcher => new Batcher(options);
