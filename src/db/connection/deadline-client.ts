import pg from 'pg';
import { noDeadline, type Deadline } from '../../lib/deadline.js';
import type { OpenSpan, Tracer } from '../../platform/spans/tracer.js';
import { Outdated, Unavailable } from './failures.js';
import type { PoolBulkhead, RunningStatement } from './pool-bulkhead.js';
import type { SuspectConnections } from './suspect-connections.js';
import { databaseFailureOf, type FailedCall } from './sqlstate.js';
import { statementSummaryOf } from './statements/summary.js';

/** What `pg` takes to connect, and beyond that how long a statement may take, in milliseconds, before this side gives it up. */
export type ConnectionSettings = pg.ClientConfig & {
  readonly statementLimitMs?: number;
  readonly bulkhead?: PoolBulkhead<DeadlineClient>;
  /** Of a pool's connections, and told when this one has had no answer for `statementLimitMs`. */
  readonly suspects?: SuspectConnections;
  readonly tracer?: Tracer | null;
  /** Counts the statements of a pool's connections. */
  readonly sent?: { count: number };
};

type Callback = (error: Error | null, result?: unknown) => void;

/** For undoing a transaction when the time is up: a server that is well needs a millisecond, and the connection stays. */
const rollbackMs = 400;

const textOf = (config: unknown): string =>
  typeof config === 'string' ? config : ((config as { readonly text?: string } | null)?.text ?? '');

const endingSpan = (done: Callback, span: OpenSpan | null): Callback =>
  span === null
    ? done
    : (error, result) => {
        span.end(error ?? undefined);
        done(error, result);
      };

/**
 * A connection that spends from the deadline of whoever has it, says by class what has happened, and hangs up when the server falls silent or
 * ends the session. `pg` has a time-out of its own, after which it goes on to use the connection; on a half-open socket every later statement
 * would fail in the same slow way.
 */
export class DeadlineClient extends pg.Client {
  readonly #limitMs: number;
  readonly #bulkhead: PoolBulkhead<DeadlineClient> | null;
  #deadline: Deadline = noDeadline;
  #hungUp = false;
  #environment_id: string | null = null;
  readonly #suspects: SuspectConnections | null;
  readonly #tracer: Tracer | null;
  readonly #sent: { count: number };
  #heardAt = performance.now();

  constructor(settings: ConnectionSettings) {
    super(settings);
    this.#limitMs = settings.statementLimitMs ?? Infinity;
    this.#bulkhead = settings.bulkhead ?? null;
    this.#suspects = settings.suspects ?? null;
    this.#tracer = settings.tracer ?? null;
    this.#sent = settings.sent ?? { count: 0 };
  }

  /** From now on statements spend from this deadline: none is begun when it is over, and none is waited for longer. They are for one environment, or null: for all. */
  spend(deadline: Deadline, environment_id: string | null): void {
    this.#deadline = deadline;
    this.#environment_id = environment_id;
  }

  /** Whose rows statements may reach; null for work on all environments. Read by the tests' row-level security. */
  get environment_id(): string | null {
    return this.#environment_id;
  }

  /** Gives the connection up, at once: the server undoes what isn't committed. */
  hangUp(): void {
    const client = this as unknown as { __knex__disposed?: unknown; connection: { stream: { destroy(): void } } };
    this.#hungUp = true;
    // Knex hands the connection to nobody from here on; the socket's own events would say so a moment too late.
    client.__knex__disposed = 'given up';
    client.connection.stream.destroy();
  }

  /** Whether nothing has been heard on it since another connection of its pool fell silent. */
  get isSuspect(): boolean {
    return this.#suspects?.concerns(this.#heardAt) ?? false;
  }

  /** Whether a transaction is open, or has failed and waits for its rollback, as the server said last. */
  get inTransaction(): boolean {
    const status = this.getTransactionStatus();
    return status === 'T' || status === 'E';
  }

  /** @throws {Unavailable} whatever the reason is */
  // oxlint-disable-next-line typescript/no-explicit-any -- pg overloads connect() for a callback, which nobody here gives
  override connect(): any {
    return super.connect().catch((error: Error) => {
      throw databaseFailureOf(error, { call: 'connect', lost: true });
    });
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- pg overloads query() in nine ways; this passes each of them through
  override query(...args: any[]): any {
    const last: unknown = args.at(-1);
    // A COPY is a stream, which tells its end and its failure itself; only those without a limit make one.
    if (args.length === 1 && typeof (last as { readonly submit?: unknown } | null)?.submit === 'function')
      return super.query(last as string);
    if (typeof last !== 'function') {
      return new Promise((resolve, reject) => {
        this.query(...args, (error: Error | null, result: unknown) => (error ? reject(error) : resolve(result)));
      });
    }
    let done = last as Callback;
    const text = textOf(args[0]);
    const ending = text.startsWith('COMMIT') || text.startsWith('ROLLBACK') ? text.slice(0, 6) : null;
    const left = this.#deadline.left();
    const ms = Math.min(this.#limitMs, ending === 'ROLLBA' ? Math.max(left, rollbackMs) : left);
    if (ms <= 0 || this.#hungUp) {
      const why = this.#hungUp ? 'the connection was given up' : 'the time of the request is up';
      return void process.nextTick(done, new Unavailable(why, null));
    }
    if (this.#tracer !== null) done = endingSpan(done, this.#tracer.statement(statementSummaryOf(args[0], text)));
    const running = this.#bulkhead?.begin(this, text);
    if (running === 'refused') return void process.nextTick(done, new Unavailable('too many statements like this one wait already', null));
    if (running) done = this.#ending(done, running);
    const call: FailedCall = ending !== 'COMMIT' && this.inTransaction ? 'in_transaction' : 'committing';
    args[args.length - 1] = this.#settling(done, ms, call);
    this.#sent.count++;
    return super.query(...(args as [string]));
  }

  #ending(done: Callback, running: RunningStatement<DeadlineClient>): Callback {
    return (error, result) => {
      this.#bulkhead?.end(running);
      done(error, result);
    };
  }

  /** Calls `done` once: with the answer, or with what has happened, at the latest after `ms`. */
  #settling(done: Callback, ms: number, call: FailedCall): Callback {
    let over = false;
    const settle: Callback = (error, result) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      this.#heardAt = performance.now();
      if (!error) return done(null, result);
      const { severity } = error as { severity?: string };
      if (severity === 'FATAL' || severity === 'PANIC') this.hangUp();
      const failure = databaseFailureOf(error, { call, lost: this.#isLost() });
      if (failure instanceof Outdated) this.hangUp();
      done(failure);
    };
    const giveUp = () => {
      this.hangUp();
      // A shorter time is the request's: the server would still have had some of its own.
      if (ms >= this.#limitMs) this.#suspects?.notice();
      settle(new Error(`the server has not answered within ${Math.round(ms)} ms`));
    };
    const timer = ms === Infinity ? undefined : setTimeout(giveUp, ms);
    return settle;
  }

  #isLost(): boolean {
    const { _queryable, _ending, connection } = this as unknown as {
      readonly _queryable: boolean;
      readonly _ending: boolean;
      readonly connection: { readonly stream: { readonly destroyed: boolean; readonly readableEnded: boolean } };
    };
    return this.#hungUp || !_queryable || _ending || connection.stream.destroyed || connection.stream.readableEnded;
  }
}

/** The same without statements that are prepared by name, for a pooler that hands every transaction another server connection. */
export class UnnamedClient extends DeadlineClient {
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  override query(...args: any[]): any {
    const [config, ...others] = args as [unknown, ...unknown[]];
    if (typeof config !== 'object' || config === null || !('text' in config)) return super.query(...args);
    return super.query({ ...config, name: undefined, summary: (config as { name?: string }).name }, ...others);
  }
}
