import type { Client, QueryResultRow } from 'pg';
import { Unavailable } from '../failures.js';
import { byKey, withoutExpired, type PendingStatement } from './pending.js';
import { failureFor, sendBatch, SharedConnection, type BatchFailure, type Session } from './shared-connection.js';

/** A statement's name that is kept apart, and its own connection. */
type Lane = {
  readonly name: string;
  readonly connection: SharedConnection;
  waiting: { readonly one: PendingStatement; readonly timer: NodeJS.Timeout }[];
  running: boolean;
  /** Whether every statement of the name comes here, or only those that were found slow. */
  whole: boolean;
  /** Whether the last answer came quickly: then more than one is tried at a time. */
  quick: boolean;
  /** Whether it was told that its name is slow, and not only in the same batch as one that is. */
  told: boolean;
  /** Ends a lane that nothing comes to. */
  idle?: NodeJS.Timeout;
};

/** What is remembered of a name that was slow. */
type Offence = { readonly count: number; readonly at: number };

export type IsolationOptions = {
  open(): Client;
  /** A statement that takes longer is slow. Milliseconds, as all of these. */
  readonly slowMs: number;
  /** The longest that a statement may wait here, and then run. */
  readonly limitMs: number;
  /** How long a connection may be silent before it is given up. */
  readonly silenceMs: number;
  readonly locking: boolean;
  /** Called with statements of a name that is well again. */
  release(waiting: PendingStatement[]): void;
  /** Told when a name that was set apart was not answered quickly there either, and when it is well again. */
  onChange(name: string, isolated: boolean): void;
};

const maxLanes = 8;
const maxWaiting = 32;
const maxBatch = 128;
const firstHoldMs = 1000;
const longestHoldMs = 30_000;
const forgiveMs = 60_000;
const idleMs = 30_000;

/** How long the server may take for each statement behind it, in this transaction only. */
const limitQuery = (ms: number) => ({
  name: 'line.limit',
  text: `select set_config('statement_timeout', $1, true)`,
  values: [String(Math.max(1, Math.ceil(ms)))],
});

/**
 * Where a line's slow and locked statements wait without anybody behind them. Each name has a connection of its own here while it has something to do; one
 * statement tries at a time. When it is answered quickly the name is well again and goes back; a name that is slow again and again stays longer each
 * time (1 s to 30 s). What was slow itself is run alone, beside its name: others of the name, on other rows, needn't wait for its row.
 */
export class Isolation {
  readonly #lanes = new Map<string, Lane>();
  readonly #offences = new Map<string, Offence>();
  readonly #options: IsolationOptions;
  #refused = 0;

  constructor(options: IsolationOptions) {
    this.#options = options;
  }

  /** Names that are kept apart. */
  get names(): string[] {
    return [...this.#lanes.values()].filter(({ whole }) => whole).map(({ name }) => name);
  }

  /** How many were refused, since they couldn't be served in time. */
  get refused(): number {
    return this.#refused;
  }

  get length(): number {
    let length = 0;
    for (const { waiting } of this.#lanes.values()) length += waiting.length;
    return length;
  }

  /** Since when the oldest waits (monotonic milliseconds), or null. */
  get since(): number | null {
    let since: number | null = null;
    for (const { waiting } of this.#lanes.values()) for (const { one } of waiting) since = Math.min(since ?? one.since, one.since);
    return since;
  }

  /** Takes a statement whose name is kept apart; false when it isn't. */
  takes(one: PendingStatement): boolean {
    if (this.#lanes.size === 0) return false;
    const lane = this.#lanes.get(one.query.name);
    if (!lane?.whole) return false;
    this.#add(lane, one);
    return true;
  }

  /**
   * Sets a batch apart that was ended since its statement `slow` took too long; nothing of it has happened. Those that share its names come too
   * until they are known to be quick: another of them may be waiting for the same lock.
   */
  setApart(group: readonly PendingStatement[], slow: PendingStatement): void {
    const now = performance.now();
    const before = this.#offences.get(slow.query.name);
    this.#offences.set(slow.query.name, { count: before && now - before.at < forgiveMs ? before.count + 1 : 1, at: now });
    for (const one of group) {
      const { name } = one.query;
      const lane = one === slow ? this.#lane(`${name} (slow)`, false) : this.#lane(name, true);
      if (lane) this.#add(lane, one);
      else this.#refuse(one);
    }
  }

  refuseAll(error: Error): void {
    for (const lane of this.#lanes.values()) {
      for (const { one, timer } of lane.waiting.splice(0)) {
        clearTimeout(timer);
        one.reject(error);
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map(({ connection }) => connection.close().catch(() => undefined)));
    this.#lanes.clear();
  }

  #lane(name: string, whole: boolean): Lane | null {
    const known = this.#lanes.get(name);
    if (known) return known;
    if (this.#lanes.size >= maxLanes) return null;
    const lane: Lane = {
      name,
      connection: new SharedConnection(this.#options.open),
      waiting: [],
      running: false,
      whole,
      quick: false,
      told: false,
    };
    this.#lanes.set(name, lane);
    return lane;
  }

  #add(lane: Lane, one: PendingStatement): void {
    if (lane.waiting.length >= maxWaiting && !lane.quick) return this.#refuse(one);
    const timer = setTimeout(() => {
      lane.waiting = lane.waiting.filter((other) => other.one !== one);
      this.#refuse(one);
    }, Math.min(one.deadline.left(), this.#options.limitMs)); // prettier-ignore
    lane.waiting.push({ one, timer });
    if (!lane.running) void this.#work(lane);
  }

  #refuse(one: PendingStatement): void {
    this.#refused += 1;
    one.reject(new Unavailable(`${one.query.name} is slow or waits for a lock`, null));
  }

  #take(lane: Lane): PendingStatement[] {
    const taken = lane.waiting.splice(0, lane.whole && lane.quick ? maxBatch : 1);
    for (const { timer } of taken) clearTimeout(timer);
    const group = withoutExpired(taken.map(({ one }) => one));
    return this.#options.locking ? group.sort(byKey) : group;
  }

  async #work(lane: Lane): Promise<void> {
    lane.running = true;
    clearTimeout(lane.idle);
    // What was handed over in the same moment comes along.
    await Promise.resolve();
    while (lane.waiting.length > 0 && !this.#well(lane)) {
      const group = this.#take(lane);
      const begun = performance.now();
      if (group.length > 0) lane.quick = (await this.#run(lane, group)) && performance.now() - begun < this.#options.slowMs;
      if (lane.whole && !lane.quick && !lane.told) {
        lane.told = true;
        this.#options.onChange(lane.name, true);
      }
    }
    lane.running = false;
    if (!lane.whole || this.#well(lane)) this.#end(lane);
    else lane.idle = setTimeout(() => this.#end(lane), idleMs).unref();
  }

  /** Whether its name may go back among the others: it is quick, and was not slow too lately and too often. */
  #well(lane: Lane): boolean {
    return lane.whole && lane.quick && !this.#held(lane.name);
  }

  #held(name: string): boolean {
    const offence = this.#offences.get(name);
    return offence !== undefined && performance.now() - offence.at < Math.min(longestHoldMs, firstHoldMs * 2 ** (offence.count - 1));
  }

  #end(lane: Lane): void {
    this.#lanes.delete(lane.name);
    lane.connection.hangUp();
    const waiting = lane.waiting.splice(0);
    for (const { timer } of waiting) clearTimeout(timer);
    if (lane.told) this.#options.onChange(lane.name, false);
    this.#options.release(waiting.map(({ one }) => one));
  }

  /** Whether they were answered, were it with a refusal. */
  async #run(lane: Lane, group: PendingStatement[]): Promise<boolean> {
    let session: Session;
    try {
      session = await lane.connection.session();
    } catch (error) {
      for (const one of group) one.reject(new Unavailable('the database can not be reached', null, error));
      return false;
    }
    const limit = Math.min(this.#options.limitMs, ...group.map(({ deadline }) => deadline.left()));
    try {
      const queries = [limitQuery(limit), ...group.map(({ query }) => query)];
      const [, ...rows] = await sendBatch(session, queries, limit + this.#options.silenceMs);
      group.forEach((one, index) => one.resolve(rows[index] as QueryResultRow[]));
      return true;
    } catch (error) {
      return this.#failed(lane, group, error as BatchFailure);
    }
  }

  #failed(lane: Lane, group: PendingStatement[], { kind, usable, cause }: BatchFailure): boolean {
    if (!usable) lane.connection.hangUp();
    if (kind === 'refused' && group.length > 1) {
      // Nothing has happened; alone each is answered for itself.
      for (const one of group) this.#add(lane, one);
      return false;
    }
    for (const one of group) one.reject(failureFor(kind, cause, this.#options.locking));
    return kind === 'refused' && !(cause instanceof Unavailable);
  }
}
