import type { Client, QueryResultRow } from 'pg';
import { Unavailable } from '../failures.js';
import type { SuspectConnections } from '../suspect-connections.js';
import { maxBatch } from './backlog.js';
import { byKey, withoutExpired, type PendingStatement } from './pending.js';
import { failureFor, SharedConnection, type BatchFailure, type Session } from './shared-connection.js';

/** A connection, and a queue before it, for the statements of one name. */
type Bulkhead = {
  readonly name: string;
  readonly connection: SharedConnection;
  waiting: { readonly one: PendingStatement; readonly timer: NodeJS.Timeout }[];
  running: boolean;
  /** Whether every statement of the name comes here, or only those that the server has ended for being slow. */
  readonly takesAll: boolean;
  /** Whether the last answer came quickly: then more than one is tried at a time. */
  quick: boolean;
  /** Whether `onChange` was told: the name was slow here too, not only in the same batch as one that was. */
  reported: boolean;
  /** Ends a bulkhead that nothing comes to. */
  idle?: NodeJS.Timeout;
};

/** How often in a row a name was slow, and when last, in monotonic milliseconds. */
type Trips = { readonly count: number; readonly at: number };

export type IsolationOptions = {
  open(): Client;
  /** A statement that takes longer is slow. Milliseconds, as all of these. */
  readonly slowMs: number;
  /** The longest that a statement may wait here, and then run. */
  readonly limitMs: number;
  /** How long a connection may be silent before it is given up. */
  readonly silenceMs: number;
  readonly suspects: SuspectConnections;
  readonly locking: boolean;
  /** Called with what still waits of a name that is well again, to be run among the others. */
  release(waiting: PendingStatement[]): void;
  /** Told when an isolated name isn't answered quickly there either, and when it is well again. */
  onChange(name: string, isolated: boolean): void;
};

const maxBulkheads = 8;
/** In each bulkhead, while its statements are slow. */
const maxWaiting = 128;
/** How long a name stays isolated at least after it was slow; doubled each time, up to the second. */
const firstHoldMs = 1000;
const longestHoldMs = 30_000;
/** A name that wasn't slow for so long begins with `firstHoldMs` again. */
const trippedMs = 60_000;
const idleMs = 30_000;

/** How long the server may take for each statement behind it, in this transaction only. */
const limitQuery = (ms: number) => ({
  name: 'line.limit',
  text: `select set_config('statement_timeout', $1, true)`,
  values: [String(Math.max(1, Math.ceil(ms)))],
});

/**
 * The bulkheads of a line: where slow and locked statements wait without anybody behind them. Each name has a connection of its own here while it has
 * something to do; one statement tries at a time, as through a half-open circuit breaker. When it is answered quickly the name goes back among the others; one that
 * is slow again and again stays longer each time (1 s to 30 s). The statement that was slow itself runs in a second bulkhead, beside its name: others of the name, on
 * other rows, needn't wait for its row.
 */
export class Isolation {
  readonly #bulkheads = new Map<string, Bulkhead>();
  readonly #trips = new Map<string, Trips>();
  readonly #options: IsolationOptions;
  #refused = 0;

  constructor(options: IsolationOptions) {
    this.#options = options;
  }

  /** Names whose every statement is isolated. */
  get names(): string[] {
    return [...this.#bulkheads.values()].filter(({ takesAll }) => takesAll).map(({ name }) => name);
  }

  /** How many were refused so far, because they couldn't be served in time. */
  get refused(): number {
    return this.#refused;
  }

  get length(): number {
    let length = 0;
    for (const { waiting } of this.#bulkheads.values()) length += waiting.length;
    return length;
  }

  /** Since when the oldest waits (monotonic milliseconds), or null. */
  get since(): number | null {
    let since: number | null = null;
    for (const { waiting } of this.#bulkheads.values()) for (const { one } of waiting) since = Math.min(since ?? one.since, one.since);
    return since;
  }

  /** Takes a statement whose name is isolated; false when it isn't. */
  takes(one: PendingStatement): boolean {
    if (this.#bulkheads.size === 0) return false;
    const bulkhead = this.#bulkheads.get(one.query.name);
    if (!bulkhead?.takesAll) return false;
    this.#add(bulkhead, one);
    return true;
  }

  /**
   * Isolates a batch that the server ended because its statement `slow` took too long; nothing of it has happened. The names of the others are isolated too
   * until each was answered quickly: another of them may be waiting for the same lock. Those that find no bulkhead free are run again among the
   * others, and the slow one is refused.
   */
  isolate(group: readonly PendingStatement[], slow: PendingStatement): void {
    const now = performance.now();
    const before = this.#trips.get(slow.query.name);
    this.#trips.set(slow.query.name, { count: before && now - before.at < trippedMs ? before.count + 1 : 1, at: now });
    const unplaced: PendingStatement[] = [];
    for (const one of [slow, ...group.filter((other) => other !== slow)]) {
      const { name } = one.query;
      const bulkhead = one === slow ? this.#bulkhead(`${name} (slow)`, false) : this.#bulkhead(name, true);
      if (bulkhead) this.#add(bulkhead, one);
      else if (one === slow) this.#refuse(one);
      else unplaced.push(one);
    }
    if (unplaced.length > 0) this.#options.release(unplaced);
  }

  refuseAll(error: Error): void {
    for (const bulkhead of this.#bulkheads.values()) {
      for (const { one, timer } of bulkhead.waiting.splice(0)) {
        clearTimeout(timer);
        one.reject(error);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#bulkheads.values()].map(({ connection }) => connection.close().catch(() => undefined)));
    this.#bulkheads.clear();
  }

  #bulkhead(name: string, takesAll: boolean): Bulkhead | null {
    const known = this.#bulkheads.get(name);
    if (known) return known;
    if (this.#bulkheads.size >= maxBulkheads) return null;
    const bulkhead: Bulkhead = {
      name,
      connection: new SharedConnection(this.#options.open, this.#options.suspects),
      waiting: [],
      running: false,
      takesAll,
      quick: false,
      reported: false,
    };
    this.#bulkheads.set(name, bulkhead);
    return bulkhead;
  }

  #add(bulkhead: Bulkhead, one: PendingStatement): void {
    if (bulkhead.waiting.length >= maxWaiting && !bulkhead.quick) return this.#refuse(one);
    const timer = setTimeout(() => {
      bulkhead.waiting = bulkhead.waiting.filter((other) => other.one !== one);
      this.#refuse(one);
    }, Math.min(one.deadline.left(), this.#options.limitMs)); // prettier-ignore
    bulkhead.waiting.push({ one, timer });
    if (!bulkhead.running) void this.#work(bulkhead);
  }

  #refuse(one: PendingStatement): void {
    this.#refused += 1;
    one.reject(new Unavailable(`${one.query.name} is slow or waits for a lock`, null));
  }

  #take(bulkhead: Bulkhead): PendingStatement[] {
    const taken = bulkhead.waiting.splice(0, bulkhead.takesAll && bulkhead.quick ? maxBatch : 1);
    for (const { timer } of taken) clearTimeout(timer);
    const group = withoutExpired(taken.map(({ one }) => one));
    return this.#options.locking ? group.sort(byKey) : group;
  }

  async #work(bulkhead: Bulkhead): Promise<void> {
    bulkhead.running = true;
    clearTimeout(bulkhead.idle);
    // What was handed over in the same moment comes along.
    await Promise.resolve();
    while (bulkhead.waiting.length > 0 && !this.#well(bulkhead)) {
      const group = this.#take(bulkhead);
      const begun = performance.now();
      if (group.length > 0) bulkhead.quick = (await this.#run(bulkhead, group)) && performance.now() - begun < this.#options.slowMs;
      if (bulkhead.takesAll && !bulkhead.quick && !bulkhead.reported) {
        bulkhead.reported = true;
        this.#options.onChange(bulkhead.name, true);
      }
    }
    bulkhead.running = false;
    if (!bulkhead.takesAll || this.#well(bulkhead)) this.#end(bulkhead);
    else bulkhead.idle = setTimeout(() => this.#end(bulkhead), idleMs).unref();
  }

  /** Whether its name may go back among the others: it is quick, and was not slow too lately and too often. */
  #well(bulkhead: Bulkhead): boolean {
    return bulkhead.takesAll && bulkhead.quick && !this.#held(bulkhead.name);
  }

  #held(name: string): boolean {
    const trips = this.#trips.get(name);
    return trips !== undefined && performance.now() - trips.at < Math.min(longestHoldMs, firstHoldMs * 2 ** (trips.count - 1));
  }

  #end(bulkhead: Bulkhead): void {
    this.#bulkheads.delete(bulkhead.name);
    bulkhead.connection.hangUp();
    const waiting = bulkhead.waiting.splice(0);
    for (const { timer } of waiting) clearTimeout(timer);
    if (bulkhead.reported) this.#options.onChange(bulkhead.name, false);
    this.#options.release(waiting.map(({ one }) => one));
  }

  /** Runs a group as one batch. @returns whether the server answered, if only with an error of the statement itself */
  async #run(bulkhead: Bulkhead, group: PendingStatement[]): Promise<boolean> {
    let session: Session;
    try {
      session = await bulkhead.connection.session();
    } catch (error) {
      for (const one of group) one.reject(new Unavailable('the database can not be reached', null, error));
      return false;
    }
    const limit = Math.min(this.#options.limitMs, ...group.map(({ deadline }) => deadline.left()));
    try {
      const queries = [limitQuery(limit), ...group.map(({ query }) => query)];
      const [, ...rows] = await bulkhead.connection.send(session, queries, limit + this.#options.silenceMs);
      group.forEach((one, index) => one.resolve(rows[index] as QueryResultRow[]));
      return true;
    } catch (error) {
      return this.#failed(bulkhead, group, error as BatchFailure);
    }
  }

  #failed(bulkhead: Bulkhead, group: PendingStatement[], { kind, cause }: BatchFailure): boolean {
    if (kind === 'refused' && group.length > 1) {
      // Nothing has happened; alone each is answered for itself.
      for (const one of group) this.#add(bulkhead, one);
      return false;
    }
    for (const one of group) one.reject(failureFor(kind, cause, this.#options.locking));
    return kind === 'refused' && !(cause instanceof Unavailable);
  }
}
