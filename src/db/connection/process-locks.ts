import { boundedBy, type Deadline } from '../../lib/deadline.js';
import { QueueGauge, type QueueState } from '../../platform/metrics/queue-state.js';
import { Unavailable } from './failures.js';

/**
 * Another transaction of this process holds the lock that this one asks for. It gives its connection back, and begins anew when it has been handed the lock:
 * those that wait for one lock hold none of the connections that others need.
 */
export class LockTaken extends Error {
  constructor() {
    super('another transaction of this process holds the lock');
    this.name = 'LockTaken';
  }
}

/** How long a transaction waits for locks, in milliseconds: as long as for a connection. */
const maxWaitMs = 5000;
/** How many wait for one lock; who comes later is refused at once. */
const maxWaiting = 200;

/** Who waits for a lock. */
type Waiting = { readonly deadline: Deadline; readonly begin: () => void; readonly refuse: () => void };

/**
 * Locks by name that one transaction of this process at a time holds, and who waits for them: first come, first served. They stand before the advisory locks
 * of PostgreSQL, which hold between processes, and for which a transaction waits with its connection.
 */
export class ProcessLocks {
  /** Only what somebody holds has an entry. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #gauge = new QueueGauge('process_locks');

  /** @returns whether it was free; then the caller holds it */
  hold(name: string): boolean {
    if (this.#waiting.has(name)) return false;
    this.#waiting.set(name, []);
    return true;
  }

  /** Waits until the lock is handed over, and holds it from then on. @throws {Unavailable} when too many wait already, or the time is up first */
  async wait(name: string, deadline: Deadline): Promise<void> {
    if (this.hold(name)) return;
    const waiters = this.#waiting.get(name) as Waiting[];
    // Whose caller has gone is told when somebody needs the place.
    if (waiters.length >= maxWaiting) for (const gone of waiters.filter((one) => one.deadline.left() === 0)) gone.refuse();
    if (waiters.length >= maxWaiting) {
      this.#gauge.countRefused();
      throw new Unavailable(`too many wait for ${name}`, null);
    }
    const queued = this.#gauge.enter();
    try {
      await new Promise<void>((resolve, reject) => {
        const refuse = () => {
          clearTimeout(timer);
          waiters.splice(waiters.indexOf(waiting), 1);
          reject(new Unavailable(`${name} was not free in time`, null));
        };
        const timer = setTimeout(refuse, deadline.left());
        const begin = () => {
          clearTimeout(timer);
          resolve();
        };
        const waiting: Waiting = { deadline, begin, refuse };
        waiters.push(waiting);
      });
    } finally {
      this.#gauge.leave(queued);
    }
  }

  /** Hands it to who has waited longest; free when nobody waits. */
  release(name: string): void {
    const next = this.#waiting.get(name)?.shift();
    if (next) next.begin();
    else this.#waiting.delete(name);
  }

  state(): QueueState {
    return this.#gauge.state();
  }
}

/** The {@link ProcessLocks} that one transaction, with its repetitions, holds. */
export class TransactionLocks {
  readonly #locks: ProcessLocks;
  /** All names asked for so far, and those held. Made when one is: few transactions ask. */
  #wanted: Set<string> | null = null;
  #held: Set<string> | null = null;

  constructor(locks: ProcessLocks) {
    this.#locks = locks;
  }

  /** Holds it until `end`. @throws {LockTaken} while another transaction does */
  take(name: string): void {
    if (this.#held?.has(name)) return;
    (this.#wanted ??= new Set()).add(name);
    if (!this.#locks.hold(name)) throw new LockTaken();
    (this.#held ??= new Set()).add(name);
  }

  /**
   * Waits for all that was asked for. Lets go of what is held first and then takes everything in one order, that of the names: no two wait for each other.
   * @throws {Unavailable} after `maxWaitMs`, or when the time of the request is up
   */
  async wait(deadline: Deadline): Promise<void> {
    const patience = boundedBy(deadline, maxWaitMs);
    this.end();
    for (const name of [...(this.#wanted ?? [])].sort()) {
      await this.#locks.wait(name, patience);
      (this.#held ??= new Set()).add(name);
    }
  }

  /** Lets others have what is held. */
  end(): void {
    if (this.#held === null) return;
    for (const name of this.#held) this.#locks.release(name);
    this.#held = null;
  }
}
