/** How fast a queue is worked off, seen from how many leave it while it isn't empty. */
export type DrainRate = {
  /** One more has come. */
  entered(): void;
  /** One has been served. */
  left(): void;
  readonly length: number;
  /** How long one that comes now would wait, in milliseconds; 0 until that is known. */
  waitMs(): number;
};

const windowMs = 100;

/** Answers come in bursts, so whole windows are counted, not the time between two. */
export function createDrainRate(now: () => number = () => performance.now()): DrainRate {
  let length = 0;
  let began = 0;
  let served = 0;
  let perOneMs = 0;
  return {
    entered() {
      if (length === 0) {
        began = now();
        served = 0;
      }
      length += 1;
    },
    left() {
      length -= 1;
      served += 1;
      const ms = now() - began;
      if (ms < windowMs) return;
      perOneMs = ms / served;
      began += ms;
      served = 0;
    },
    get length() {
      return length;
    },
    waitMs: () => length * perOneMs,
  };
}
