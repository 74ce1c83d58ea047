import type { Logger } from '../../platform/log/logger.js';
import type { Destinations } from './destinations.js';
import type { Job, AttemptOutcome, Queue } from './queue.js';

/** Gives claimed jobs back to the queue, unworked. */
export type Releases<J> = {
  give(jobs: readonly J[]): void;
  /** Resolves when all that was given back is back. */
  settled(): Promise<void>;
};

/** One statement at a time; what comes meanwhile goes back with the next. What can't be given back is free when its lease lapses. */
export function createReleases<J extends Job>(queue: Queue<J, AttemptOutcome>, destinations: Destinations<J>, logger: Logger): Releases<J> {
  const pending: J[] = [];
  let running: Promise<void> | null = null;

  async function run(): Promise<void> {
    while (pending.length > 0) {
      const given = pending.splice(0);
      await queue
        .release(given)
        .catch((error: unknown) =>
          logger.warn({ event: 'outbox.not_released', err: error, queue: queue.name }, 'claims could not be given back'),
        );
      // A claim that looked before they were back has forgotten them.
      destinations.expectAgain(given);
    }
    running = null;
  }

  return {
    give(jobs) {
      if (jobs.length === 0) return;
      destinations.expectAgain(jobs);
      pending.push(...jobs);
      running ??= run();
    },
    async settled() {
      while (running) await running;
    },
  };
}
