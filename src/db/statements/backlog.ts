import { Unavailable } from '../failures.js';
import { byKey, withoutExpired, type PendingStatement } from './pending.js';

export const maxBatch = 128;
const minShare = 4;
const maxAttempts = 3;
/** How many wait at most, and how long they would at most, in milliseconds. */
const maxWaiting = 4096;
const maxWaitMs = 1000;

/** What waits for a connection that is shared: first the groups that are run again, then all others together. */
export class Backlog {
  #groups: PendingStatement[][] = [];
  #together: PendingStatement[] = [];
  readonly #locking: boolean;
  readonly #connections: number;
  #batchMs = 1;
  #refused = 0;

  constructor({ locking, connections }: { locking: boolean; connections: number }) {
    this.#locking = locking;
    this.#connections = connections;
  }

  /** How many were refused, since they couldn't be served in time. */
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

  /** Refuses at once what would wait too long. */
  add(one: PendingStatement): void {
    const waitMs = (Math.ceil(this.#together.length / maxBatch) * this.#batchMs) / this.#connections;
    if (this.#together.length < maxWaiting && waitMs <= Math.min(maxWaitMs, one.deadline.left())) this.#together.push(one);
    else this.#refuse(one);
  }

  /** Runs a group again, as one; what has failed with others several times goes alone. */
  again(group: readonly PendingStatement[]): void {
    const together = group.filter((one) => one.attempts++ < maxAttempts);
    if (together.length > 0) this.#groups.push(together);
    if (together.length < group.length) this.alone(group.filter((one) => !together.includes(one)));
  }

  /** Runs each of them on its own. */
  alone(group: readonly PendingStatement[]): void {
    this.#groups.push(...group.map((one) => [one]));
  }

  /** What waits is shared out among the idle connections, so that the process has answers to work on while the server is at the rest. */
  next(idle: number): PendingStatement[] {
    const waiting = this.#together;
    const size = Math.min(maxBatch, Math.max(minShare, Math.ceil(waiting.length / idle)));
    const group = withoutExpired(this.#groups.shift() ?? waiting.splice(0, size));
    return this.#locking && group.length > 1 ? group.sort(byKey) : group;
  }

  /** How long a batch took, in milliseconds. */
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
