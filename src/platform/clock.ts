/** The source of the current time; tests pass one that they can move. */
export type Clock = {
  now(): Date;
};

/** The machine's clock. */
export const systemClock: Clock = { now: () => new Date() };

/** The machine's clock, moved by what it is behind another. */
export type AdjustableClock = Clock & {
  /** In milliseconds; negative when the machine is ahead. */
  readonly offset: number;
  adjust(offset: number): void;
};

/** Agrees with the machine until it is adjusted. */
export function createAdjustableClock(): AdjustableClock {
  let offset = 0;
  return {
    now: () => new Date(Date.now() + offset),
    get offset() {
      return offset;
    },
    adjust(ms) {
      offset = ms;
    },
  };
}

export const isAdjustable = (clock: Clock): clock is AdjustableClock => 'adjust' in clock;
