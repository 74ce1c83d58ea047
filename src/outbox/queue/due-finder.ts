import type { Destinations } from './destinations.js';
import type { Job, AttemptOutcome, Queue } from './queue.js';

const fullScanEveryMs = 5000;
const fullScanMinGapMs = 100;
/** A full scan is followed by a pause fifty times as long: how long one takes grows with the number of waiting destinations. */
const fullScanRest = 50;
/** Milliseconds between two searches while destinations are known to be due; notifications and timers trigger further ones. */
const searchEveryMs = 200;

/** Finds out which destinations have something due. */
export type DueFinder = {
  /** Makes the next `search` query the database even if the last one was just now. */
  notify(): void;
  /** Queries for due destinations, unless it did so just now and knows of enough. */
  search(): Promise<void>;
};

/** Asks `recent` each time; the full scan and the housekeeping run every five seconds, and the scan also when `recent` was full. */
export function createDueFinder<J extends Job>(queue: Queue<J, AttemptOutcome>, destinations: Destinations<J>): DueFinder {
  let notified = true;
  let lastSearch = Number.NEGATIVE_INFINITY;
  let lastFullScan = Number.NEGATIVE_INFINITY;
  let fullScanPauseMs = fullScanMinGapMs;
  let lastTidy = Number.NEGATIVE_INFINITY;
  let fullScanNeeded = false;

  async function tidy(): Promise<void> {
    if (lastSearch - lastTidy <= fullScanEveryMs) return;
    lastTidy = lastSearch;
    fullScanNeeded = true;
    destinations.forgetIdle();
    await queue.tidy();
  }

  async function scanFully(): Promise<void> {
    if (!fullScanNeeded || lastSearch - lastFullScan <= fullScanPauseMs) return;
    lastFullScan = lastSearch;
    fullScanNeeded = false;
    const began = performance.now();
    destinations.expect(await queue.fullScan());
    const tookMs = performance.now() - began;
    fullScanPauseMs = Math.min(fullScanEveryMs, Math.max(fullScanMinGapMs, tookMs * fullScanRest));
  }

  return {
    notify() {
      notified = true;
    },
    async search() {
      if (!notified && performance.now() - lastSearch < searchEveryMs && destinations.someDue()) return;
      notified = false;
      lastSearch = performance.now();
      await tidy();
      await scanFully();
      const { due, full } = await queue.recent();
      if (full) fullScanNeeded = true;
      destinations.expect(due);
    },
  };
}
