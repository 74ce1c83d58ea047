import { Unavailable } from '../failures.js';
import { byKey, withoutExpired, type PendingStatement } from './pending.js';

/** Statements that are sent in one message at most. */
const maxBatch = 128;
/** Of those that wait, an idle connection takes so many at least before the rest is left to the next one. */
const minShare = 4;
/** How often a statement is run together with others; then it is run alone. */
const maxAttempts = 3;
/** How many wait at most, and how long they are expected to wait at most, in milliseconds. */
const maxWaiting = 4096;
const maxWaitMs = 1000;

/** What waits for a connection that is shared: first the groups that are run again, then all others together. */
export class Backlog {
  #groups: PendingStatement[][] = [];
  #together: PendingStatement[] = [];
  readonly #locking: boolean;
  readonly #connections: number;
  /** How long a batch takes, in milliseconds: a moving average. */
  #batchMs = 1;
  #refused = 0;

  constructor({ locking, connections }: { locking: boolean; connections: number }) {
    this.#locking = locking;
    this.#connections = connections;
  }

  /** How many were refused so far, because they couldn't be served in time. */
  get refused(): number {
    return this.#refused;
  }

  get length(): number {
    return this.#groups.reduce((sum, group) => sum + group.length, this.#together.length);
  }

  /** The one that has waited longest. */
  get oldest(): PendingStatement | undefined {
    return this.#groups[0]?.[0] ?? this.#together[0];
  }

  /** Queues a statement, or refuses it at once when too many wait or it would wait too long ({@link Unavailable}). */
  add(one: PendingStatement): void {
    const waitMs = (Math.ceil(this.#together.length / maxBatch) * this.#batchMs) / this.#connections;
    if (this.#together.length < maxWaiting && waitMs <= Math.min(maxWaitMs, one.deadline.left())) this.#together.push(one);
    else this.#refuse(one);
  }

  /** Queues a group to be run again as one batch; what has failed with others several times goes alone. */
  again(group: readonly PendingStatement[]): void {
    const together = group.filter((one) => one.attempts++ < maxAttempts);
    if (together.length > 0) this.#groups.push(together);
    if (together.length < group.length) this.alone(group.filter((one) => !together.includes(one)));
  }

  /** Queues each of them as a batch of its own. */
  alone(group: readonly PendingStatement[]): void {
    this.#groups.push(...group.map((one) => [one]));
  }

  /**
   * Takes out the next batch; empty when all that it would have held has expired, or nothing waits. What waits is shared out among the idle
   * connections, so that the process has answers to work on while the server is at the rest.
   */
  next(idle: number): PendingStatement[] {
    const waiting = this.#together;
    const size = Math.min(maxBatch, Math.max(minShare, Math.ceil(waiting.length / idle)));
    const group = withoutExpired(this.#groups.shift() ?? waiting.splice(0, size));
    return this.#locking && group.length > 1 ? group.sort(byKey) : group;
  }

  /** Notes how long a batch took, in milliseconds. */
  took(ms: number): void {
    this.#batchMs += (ms - this.#batchMs) / 16;
  }

  /** Refuses those whose time is up. */
  expire(): void {
    const before = this.length;
    this.#together = withoutExpired(this.#together);
    this.#groups = this.#groups.map(withoutExpired).filter((group) => group.length > 0);
    this.#refused += before - this.length;
  }

  refuseAll(error: Error): void {
    for (const one of [...this.#together.splice(0), ...this.#groups.splice(0).flat()]) one.reject(error);
  }

  #refuse(one: PendingStatement): void {
    this.#refused += 1;
    one.reject(new Unavailable('too many statements wait for the database', null));
  }
}
