/** What is being done, and known, about one destination. */
export type Lane<Job> = {
  readonly environment_id: string;
  readonly id: string;
  /** Something is (or was) due from this time on; null when nothing is known to be. */
  due_at: Date | null;
  /** Claimed, not yet started. */
  readonly waiting: Job[];
  inFlight: number;
  /** How many may be in flight: fewer right after an outage. */
  slots: number;
  /** How long an exchange takes here, smoothed, in milliseconds. */
  averageMs: number;
  /** Failures in a row. */
  failures: number;
  /** While the breaker is open: when the next probe may start, in milliseconds of the monotonic clock. */
  probeAt: number;
};

/** In flight at one destination at most: a slow one holds no more than these. */
export const maxInFlightPerLane = 5;
/** Claimed for one destination at most. */
export const maxHeldPerLane = 200;
/** So many failures in a row open the breaker. */
const failuresToOpen = 5;
/** What a lane may hold is what it gets done in this time. */
const holdMs = 2000;
const smoothing = 0.3;

/** A lane of which nothing is known yet: it is trusted with a full number of slots, and taken for slow. */
export function createLane<Job>(environment_id: string, id: string): Lane<Job> {
  return {
    environment_id,
    id,
    due_at: null,
    waiting: [],
    inFlight: 0,
    slots: maxInFlightPerLane,
    averageMs: holdMs,
    failures: 0,
    probeAt: 0,
  };
}

/** Whether the destination has failed so often that only probes go there. */
export function isOpen(lane: Lane<unknown>): boolean {
  return lane.failures >= failuresToOpen;
}

/** How many jobs of the lane the process may hold: as many as it gets done in two seconds, and one when the breaker is open. */
export function mayHold(lane: Lane<unknown>): number {
  if (isOpen(lane)) return 1;
  return Math.min(maxHeldPerLane, Math.max(lane.slots, Math.floor((lane.slots * holdMs) / lane.averageMs)));
}

/** How many waiting jobs go back to the queue: none while what is held gets done in twice the time that {@link mayHold} looks ahead. */
export function surplus(lane: Lane<unknown>): number {
  const most = mayHold(lane);
  const held = lane.waiting.length + lane.inFlight;
  return held <= 2 * most ? 0 : Math.min(lane.waiting.length, held - most);
}

/** Whether the lane has something due and holds so little that a claim is worth its while. */
export function isHungry(lane: Lane<unknown>): boolean {
  return lane.due_at !== null && lane.waiting.length < Math.max(maxInFlightPerLane, mayHold(lane) / 2);
}

/** How many more jobs may be claimed for the lane now; none while the breaker waits. */
export function room(lane: Lane<unknown>, now: number): number {
  if (isOpen(lane) && now < lane.probeAt) return 0;
  return Math.max(0, mayHold(lane) - lane.waiting.length - lane.inFlight);
}

/** Whether another job may start. */
export function mayStart(lane: Lane<unknown>, now: number): boolean {
  if (isOpen(lane)) return lane.inFlight === 0 && now >= lane.probeAt;
  return lane.inFlight < lane.slots;
}

/**
 * Takes note of an exchange. After five failures in a row the breaker opens: one probe at a time, at growing distances (an eighth of
 * `retryBaseMs`, doubling up to it), while the others wait without spending attempts. The first success closes it, and each
 * success gives one slot back, so that a backlog doesn't fall on a receiver that has just come up.
 */
export function noteExchange(lane: Lane<unknown>, result: { ok: boolean; durationMs: number; now: number; retryBaseMs: number }): void {
  const { ok, durationMs, now, retryBaseMs } = result;
  lane.averageMs = Math.max(0.5, lane.averageMs * (1 - smoothing) + durationMs * smoothing);
  if (ok) {
    lane.slots = isOpen(lane) ? 1 : Math.min(maxInFlightPerLane, lane.slots + 1);
    lane.failures = 0;
    return;
  }
  lane.failures += 1;
  if (isOpen(lane)) lane.probeAt = now + Math.min(retryBaseMs, (retryBaseMs / 8) * 2 ** (lane.failures - failuresToOpen));
}
