/** Milliseconds until a moment that a library took from the machine's clock. */
export const msUntil = (moment: Date): number => moment.getTime() - Date.now();

/** The source of the current time; tests pass one that they can move. */
export type Clock = {
  now(): Date;
  /** Milliseconds since some moment, for ages: never less than before, whatever is done to the time of day. */
  elapsed(): number;
};

/** The time of day is slewed and rounded; by more than this it is only moved, or the machine slept. */
const movedMs = 100;

/**
 * Measures ages. The monotonic clock stands still while a virtual machine is suspended, and the time of day may be set back: what is remembered must
 * look its age in either case, so time that only the time of day has seen counts, and time that it takes back doesn't.
 */
export function createElapsed(wall: () => number = Date.now, monotonic: () => number = () => performance.now()): () => number {
  let apart = wall() - monotonic();
  let slept = 0;
  return () => {
    const ms = monotonic();
    const moved = wall() - ms - apart;
    if (Math.abs(moved) > movedMs) {
      apart += moved;
      slept += Math.max(0, moved);
    }
    return ms + slept;
  };
}

/** The machine's clock, corrected by how far it is behind another one. */
export type AdjustableClock = Clock & {
  /** What is added to the machine's time, in milliseconds; negative when the machine is ahead. */
  readonly offset: number;
  adjust(offset: number): void;
};

/** Agrees with the machine until it is adjusted. */
export function createAdjustableClock(): AdjustableClock {
  let offset = 0;
  return {
    now: () => new Date(Date.now() + offset),
    elapsed: createElapsed(),
    get offset() {
      return offset;
    },
    adjust(ms) {
      offset = ms;
    },
  };
}

export const isAdjustable = (clock: Clock): clock is AdjustableClock => 'adjust' in clock;
