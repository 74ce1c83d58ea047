import { createDestination, needsJobs, canTakeMore, type Destination } from './destination.js';
import type { DueDestination } from '../../db/queue-rows.js';
import type { DestinationKey, Job } from './queue.js';

/** The destinations that this process knows to have something due, holds jobs of, or remembers as failing. */
export type Destinations<J> = {
  of(key: DestinationKey): Destination<J>;
  all(): Iterable<Destination<J>>;
  expect(found: Iterable<DueDestination>): void;
  /** Marks the destinations of jobs as due again that are given back unworked. */
  expectAgain(jobs: Iterable<Job>): void;
  /** Whether anything is known to be due. */
  someDue(): boolean;
  /** Destinations for which more should be claimed; see `needsJobs`. */
  needingJobs(): Destination<J>[];
  /** Those for which a claim that is made for others takes jobs along; see `canTakeMore`. */
  takingMore(): Destination<J>[];
  /** Jobs claimed and not yet done. */
  held(): number;
  /** The same by environment. */
  heldByEnvironment(): ReadonlyMap<string, number>;
  /** Forgets those that nothing is known of. */
  forgetIdle(): void;
};

/** The earlier of two times, of which null is none. */
export const earlierOf = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other < one) ? other : one;

const heldOf = (one: Destination<unknown>): number => one.waiting.length + one.inFlight;

const isIdle = (one: Destination<unknown>) => one.due_at === null && one.waiting.length === 0 && one.inFlight === 0 && one.failures === 0;

/** @param maxSlots how many attempts may be in flight at one destination */
export function createDestinations<J extends Job>(maxSlots: number): Destinations<J> {
  const known = new Map<string, Destination<J>>();

  function of(key: DestinationKey): Destination<J> {
    const name = `${key.environment_id} ${key.id}`;
    let destination = known.get(name);
    if (!destination) known.set(name, (destination = createDestination<J>(key, maxSlots)));
    return destination;
  }
  function isDueFrom(key: DestinationKey, due_at: Date): void {
    const destination = of(key);
    destination.due_at = earlierOf(destination.due_at, due_at);
    destination.expected = earlierOf(destination.expected, due_at);
  }

  return {
    of,
    all: () => known.values(),
    expect(due) {
      for (const one of due) isDueFrom(one, one.due_at);
    },
    expectAgain(jobs) {
      for (const job of jobs) isDueFrom(job.destination, job.due_at);
    },
    someDue: () => [...known.values()].some((one) => one.due_at !== null),
    needingJobs: () => [...known.values()].filter(needsJobs),
    takingMore: () => [...known.values()].filter((one) => !needsJobs(one) && canTakeMore(one)),
    held: () => [...known.values()].reduce((sum, one) => sum + heldOf(one), 0),
    heldByEnvironment() {
      const held = new Map<string, number>();
      for (const one of known.values()) held.set(one.environment_id, (held.get(one.environment_id) ?? 0) + heldOf(one));
      return held;
    },
    forgetIdle() {
      for (const [name, destination] of known) if (isIdle(destination)) known.delete(name);
    },
  };
}
