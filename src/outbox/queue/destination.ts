import type { DestinationKey } from './queue.js';

export type Destination<Job> = {
  readonly environment_id: string;
  readonly id: string;
  /** The earliest due time that is known; null when nothing is known to be due. */
  due_at: Date | null;
  /** The earliest due time of what was told to be due since the last claim began; null for nothing. */
  expected: Date | null;
  /** Claimed, not yet started. */
  readonly waiting: Job[];
  inFlight: number;
  /** How many may be in flight: fewer right after an outage. */
  slots: number;
  /** How many may ever be in flight. */
  readonly maxSlots: number;
  /** How long an attempt takes here, smoothed, in milliseconds. */
  averageMs: number;
  /** Failures in a row. */
  failures: number;
  /** While the breaker is open: when the next probe may start, in milliseconds of the monotonic clock. */
  probeAt: number;
};

/** Claimed for one destination at most. */
const maxHeldPerDestination = 200;
/** Failures in a row that open the breaker. */
const failuresToOpen = 5;
/** What a destination may hold is what it gets done in this time. */
const holdMs = 2000;
const smoothing = 0.3;

/** A new destination: all of its slots, and a long average until attempts have been measured. */
export const createDestination = <Job>({ environment_id, id }: DestinationKey, maxSlots: number): Destination<Job> => ({
  environment_id,
  id,
  due_at: null,
  expected: null,
  waiting: [],
  inFlight: 0,
  slots: maxSlots,
  maxSlots,
  averageMs: holdMs,
  failures: 0,
  probeAt: 0,
});

/** Whether the destination has failed so often that only probes go there. */
export const isBreakerOpen = (destination: Destination<unknown>): boolean => destination.failures >= failuresToOpen;

/** How many jobs of the destination the process may hold: as many as it gets done in two seconds, and one when the breaker is open. */
export function mayHold(destination: Destination<unknown>): number {
  if (isBreakerOpen(destination)) return 1;
  return Math.min(maxHeldPerDestination, Math.max(destination.slots, Math.floor((destination.slots * holdMs) / destination.averageMs)));
}

/** How many waiting jobs go back to the queue: none while what is held gets done in twice the time that {@link mayHold} looks ahead. */
export function excessOf(destination: Destination<unknown>): number {
  const most = mayHold(destination);
  const held = destination.waiting.length + destination.inFlight;
  return held <= 2 * most ? 0 : Math.min(destination.waiting.length, held - most);
}

/** Whether the destination has due jobs and few waiting ones: fewer than its slots, or than half of what it may hold. */
export const needsJobs = (destination: Destination<unknown>): boolean =>
  destination.due_at !== null && destination.waiting.length < Math.max(destination.maxSlots, mayHold(destination) / 2);

/** Whether a claim that is made anyway takes jobs of the destination along: it has due ones, and at least a quarter of what it may hold is free. */
export function canTakeMore(destination: Destination<unknown>): boolean {
  const most = mayHold(destination);
  return destination.due_at !== null && most - destination.waiting.length - destination.inFlight >= most / 4;
}

/** How many more jobs may be claimed for the destination now; none while the breaker waits. */
export function capacityOf(destination: Destination<unknown>, now: number): number {
  if (isBreakerOpen(destination) && now < destination.probeAt) return 0;
  return Math.max(0, mayHold(destination) - destination.waiting.length - destination.inFlight);
}

export function mayStart(destination: Destination<unknown>, now: number): boolean {
  if (isBreakerOpen(destination)) return destination.inFlight === 0 && now >= destination.probeAt;
  return destination.inFlight < destination.slots;
}

/**
 * Records an attempt. After five failures in a row the breaker opens: one probe at a time, at growing distances (an eighth of
 * `retryBaseMs`, doubling up to it), while the others wait without spending attempts. The first success closes it, and each
 * success gives one slot back, so that a backlog doesn't fall on a receiver that has just come up.
 */
export function noteOutcome(
  destination: Destination<unknown>,
  { ok, durationMs }: { ok: boolean; durationMs: number },
  now: number,
  retryBaseMs: number,
): void {
  destination.averageMs = Math.max(0.5, destination.averageMs * (1 - smoothing) + durationMs * smoothing);
  if (ok) {
    destination.slots = isBreakerOpen(destination) ? 1 : Math.min(destination.maxSlots, destination.slots + 1);
    destination.failures = 0;
    return;
  }
  destination.failures += 1;
  if (isBreakerOpen(destination))
    destination.probeAt = now + Math.min(retryBaseMs, (retryBaseMs / 8) * 2 ** (destination.failures - failuresToOpen));
}
