import type { Knex } from 'knex';
import type { QueryResultRow } from 'pg';
import { boundedBy, type Deadline } from '../../../lib/deadline.js';
import { Ambiguous, Unavailable } from '../failures.js';
import { ProcessLocks } from '../process-locks.js';
import { runOn, type NamedQuery } from './named.js';

/** A statement that was slow. All times are monotonic milliseconds. */
type SlowStatement = {
  /** How often in a row it was slow among the others, and when last. */
  readonly trips: number;
  readonly trippedAt: number;
  /** Until when it is isolated. */
  until: number;
  /** Whether the pool answered it quickly, when it did last. */
  quick: boolean;
};

export type IsolationOptions = {
  /** The pool for a statement, which spends from the deadline. */
  pool(query: NamedQuery, deadline: Deadline): Knex;
  /** A statement that takes longer is slow. */
  readonly slowMs: number;
  readonly locking: boolean;
  /** Told when the statements of a name are isolated, and when they are among the others again. */
  onChange(name: string, isolated: boolean): void;
};

/** How long a statement may wait for those of its name. */
const maxWaitMs = 5000;
/** How long a name stays isolated after it was slow: until it was quick the first time, then at least a second, and about twice as long each time, up to the longest. */
const holdMs = (trips: number) => Math.min(longestHoldMs, 1000 * (2 ** (trips - 1) - 1));
const longestHoldMs = 30_000;
/** A name that wasn't slow for so long begins anew. */
const trippedMs = 60_000;

/**
 * Statements that were too slow for the connections that they share. All of their name run on the pool, whose bulkhead keeps them to half of its connections. Until one
 * is answered quickly one at a time tries, as through a half-open circuit breaker, and the others wait without a connection. A name that is slow again
 * and again stays longer each time, up to 30 s.
 */
export class Isolation {
  readonly #slow = new Map<string, SlowStatement>();
  readonly #line = new ProcessLocks();
  readonly #options: IsolationOptions;
  #refused = 0;

  constructor(options: IsolationOptions) {
    this.#options = options;
  }

  /** The names that are isolated, how many statements wait for another of their name, for how many seconds, and how many were refused so far. */
  state(): { readonly names: string[]; readonly length: number; readonly wait: number; readonly refused: number } {
    const now = performance.now();
    const names = [...this.#slow].filter(([, { until }]) => now < until).map(([name]) => name);
    return { ...this.#line.state(), names, refused: this.#refused };
  }

  /** Whether the statements of a name are isolated. */
  has(name: string): boolean {
    const slow = this.#slow.get(name);
    if (slow === undefined || slow.until === 0) return false;
    if (performance.now() < slow.until) return true;
    slow.until = 0;
    this.#options.onChange(name, false);
    return false;
  }

  /** Isolates the statements of a name, one of which was slow. */
  add(name: string): void {
    // Others of the name were under way when it was isolated.
    if (this.has(name)) return;
    const trippedAt = performance.now();
    const before = this.#slow.get(name);
    const trips = before && trippedAt - before.trippedAt < trippedMs ? before.trips + 1 : 1;
    this.#slow.set(name, { trips, trippedAt, until: trippedAt + longestHoldMs, quick: false });
    this.#options.onChange(name, true);
  }

  /**
   * Runs a statement of a name that is isolated. The one that was slow itself waits for nobody (`first`): others of its name, on other rows, needn't wait for its row.
   * @throws {Unavailable} also when it had no answer in time; and what the pool throws
   */
  async run<Row extends QueryResultRow>(query: NamedQuery, deadline: Deadline, first: boolean): Promise<Row[]> {
    const { name } = query;
    const waits = !first && !this.#slow.get(name)?.quick;
    try {
      if (!waits) return await this.#try<Row>(query, deadline);
      await this.#line.wait(name, boundedBy(deadline, maxWaitMs));
      return await this.#try<Row>(query, deadline).finally(() => this.#line.release(name));
    } catch (error) {
      // A look-up that was not answered has changed nothing.
      const failure = error instanceof Ambiguous && !this.#options.locking ? new Unavailable(error.message, null, error) : error;
      if (failure instanceof Unavailable) this.#refused += 1;
      throw failure;
    }
  }

  async #try<Row extends QueryResultRow>(query: NamedQuery, deadline: Deadline): Promise<Row[]> {
    const begun = performance.now();
    const pool = this.#options.pool(query, deadline);
    // A write that is given up while it waits for its row must not happen when the row is free.
    const rows = this.#options.locking ? pool.transaction((trx) => runOn<Row>(trx, query)) : runOn<Row>(pool, query);
    const failure = await rows.then(() => null, (error: unknown) => error); // prettier-ignore
    const answered = !(failure instanceof Unavailable || failure instanceof Ambiguous);
    this.#note(query.name, answered && performance.now() - begun < this.#options.slowMs);
    return rows;
  }

  /** Notes how the pool answered: after a quick answer the name goes back among the others, when it was isolated for long enough. */
  #note(name: string, quick: boolean): void {
    const slow = this.#slow.get(name);
    if (slow === undefined || slow.until === 0) return;
    slow.quick = quick;
    slow.until = quick ? slow.trippedAt + holdMs(slow.trips) : performance.now() + longestHoldMs;
  }
}
