import { mayStart, type Destination } from './destination.js';
import type { Destinations } from './destinations.js';
import { reservedOf, littleOf, type QueueLimits } from './queue.js';

/** How many attempts of one process are in flight, all together and in each environment, and who may start another. */
export type Slots<J> = {
  inFlight(): number;
  /** Whether the one that has just come free is the last, of all or of those for everybody: whose turn it is decides then. */
  areScarce(): boolean;
  /** Counts an attempt that begins (1) or has ended (-1). */
  count(destination: Destination<J>, change: 1 | -1): void;
  /** Whether a job waits there that may start now. */
  mayStart(destination: Destination<J>): boolean;
  /** Whose turn it is when slots are scarce: of the environment that has fewest attempts in flight, and of that the destination that has. Null when nobody may. */
  next(): Destination<J> | null;
};

/** Some of the slots are for environments that have few attempts in flight alone: a new one starts at once, however many slow ones others have. */
export function createSlots<J>(destinations: Pick<Destinations<J>, 'all'>, limits: QueueLimits): Slots<J> {
  const most = limits.inFlight;
  const open = most - reservedOf(most);
  const little = littleOf(limits);
  let inFlight = 0;
  /** Of each environment that has any. */
  const ofEnvironment = new Map<string, number>();
  const isFree = ({ environment_id }: Destination<J>) =>
    inFlight < open || (inFlight < most && (ofEnvironment.get(environment_id) ?? 0) < little);
  const may = (destination: Destination<J>) =>
    destination.waiting.length > 0 && isFree(destination) && mayStart(destination, performance.now());

  return {
    inFlight: () => inFlight,
    areScarce: () => inFlight >= open - 1,
    count(destination, change) {
      destination.inFlight += change;
      inFlight += change;
      const own = (ofEnvironment.get(destination.environment_id) ?? 0) + change;
      if (own === 0) ofEnvironment.delete(destination.environment_id);
      else ofEnvironment.set(destination.environment_id, own);
    },
    mayStart: may,
    next() {
      let found: Destination<J> | null = null;
      let fewest = Infinity;
      for (const destination of destinations.all()) {
        if (!may(destination)) continue;
        const own = (ofEnvironment.get(destination.environment_id) ?? 0) + destination.inFlight / (destination.maxSlots + 1);
        if (own < fewest) [found, fewest] = [destination, own];
      }
      return found;
    },
  };
}
