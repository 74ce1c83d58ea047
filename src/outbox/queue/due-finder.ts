import type { Destinations } from './destinations.js';
import type { Job, AttemptOutcome, Queue } from './queue.js';

const thoroughEveryMs = 5000;
const thoroughAtMostEveryMs = 100;
/** Looks that the quick one asks for take a fiftieth of the time: how long one takes grows with how many destinations wait. */
const thoroughRest = 50;
/** Milliseconds between two looks while destinations are known to be due; notifications and timers trigger further ones. */
const lookEveryMs = 200;

/** Finds out which destinations have something due. */
export type DueFinder = {
  /** Makes the next `look` query the database even if the last one was just now. */
  notify(): void;
  /** Queries for due destinations, unless it did so just now and knows of enough. */
  look(): Promise<void>;
};

/** The quick look each time; the thorough one, and the housekeeping, every five seconds or when the quick one couldn't see to the end. */
export function createDueFinder<J extends Job>(queue: Queue<J, AttemptOutcome>, destinations: Destinations<J>): DueFinder {
  let notified = true;
  let lastLook = Number.NEGATIVE_INFINITY;
  let lastThorough = Number.NEGATIVE_INFINITY;
  let thoroughPauseMs = thoroughAtMostEveryMs;
  let lastTidy = Number.NEGATIVE_INFINITY;
  let thoroughWanted = false;

  async function tidy(): Promise<void> {
    if (lastLook - lastTidy <= thoroughEveryMs) return;
    lastTidy = lastLook;
    thoroughWanted = true;
    destinations.forgetIdle();
    await queue.tidy();
  }

  async function lookThoroughly(): Promise<void> {
    if (!thoroughWanted || lastLook - lastThorough <= thoroughPauseMs) return;
    lastThorough = lastLook;
    thoroughWanted = false;
    const began = performance.now();
    destinations.expect(await queue.thorough());
    const tookMs = performance.now() - began;
    thoroughPauseMs = Math.min(thoroughEveryMs, Math.max(thoroughAtMostEveryMs, tookMs * thoroughRest));
  }

  return {
    notify() {
      notified = true;
    },
    async look() {
      if (!notified && performance.now() - lastLook < lookEveryMs && destinations.someDue()) return;
      notified = false;
      lastLook = performance.now();
      await tidy();
      await lookThoroughly();
      const { due, full } = await queue.recent();
      if (full) thoroughWanted = true;
      destinations.expect(due);
    },
  };
}
