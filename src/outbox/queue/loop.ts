import { setTimeout as delay } from 'node:timers/promises';
import { startLoop, type Loop } from '../../platform/loop.js';
import { createAttempts } from './attempts.js';
import type { Deps } from '../../domain/context.js';
import { isKnownHeld, rememberHeld } from '../../domain/environments/environments.js';
import { createClaiming } from './claiming.js';
import { needsJobs, type Destination } from './destination.js';
import { createDestinations } from './destinations.js';
import { createDueFinder } from './due-finder.js';
import type { Job, AttemptOutcome, Queue } from './queue.js';
import { createRecorder } from './recorder.js';
import { createReleases } from './releases.js';
import { createWakeTimer, untilProbes } from './wake-timer.js';

const restMs = 20;

export type QueueLoop = Loop & {
  /** Resolves when this process holds nothing and nothing is due: for tests and scripts. */
  drained(): Promise<void>;
};

/** What was claimed before its environment was held goes back unworked. */
const passingBy = <J extends Job, Result extends AttemptOutcome>(queue: Queue<J, Result>, deps: Deps): Queue<J, Result> => ({
  ...queue,
  async attempt(job, signal) {
    if (isKnownHeld(deps, job.destination.environment_id)) throw new Error('its environment is held');
    return queue.attempt(job, signal);
  },
});

/**
 * Works a queue off: looks for destinations that have something due, claims for them in fair shares, works on a few jobs of each at once,
 * records results in batches. Notifications and completions wake it early; polling finds everything without them.
 *
 * `stop` gives back what hasn't been started, lets what is in flight finish for the queue's `stopMs`, and then gives that back too.
 */
export function startQueueLoop<J extends Job, Result extends AttemptOutcome>(given: Queue<J, Result>, deps: Deps): QueueLoop {
  const queue = passingBy(given, deps);
  const { logger, tracer } = deps;
  const destinations = createDestinations<J>(queue.limits.inFlightPerDestination);
  const dueFinder = createDueFinder(queue, destinations);
  const releases = createReleases(queue, destinations, logger);
  const claim = createClaiming(queue, deps, destinations);
  const timer = createWakeTimer(queue.limits.pollMs, () => {
    dueFinder.notify();
    loop.wake();
  });
  const recorder = createRecorder(queue, logger, (results: readonly Result[]) => {
    for (const { retry_in_ms } of results) if (retry_in_ms !== null) timer.in(retry_in_ms);
    if (destinations.needingJobs().length > 0) loop.wake();
  });
  const onEnd = (destination: Destination<J>) => needsJobs(destination) && loop.wake();
  const attempts = createAttempts(queue, { destinations, releases, tracer, onResult: recorder.add, onEnd });

  const loop = startLoop({
    name: queue.name,
    pauseMs: queue.limits.pollMs,
    logger,
    async pass() {
      await rememberHeld(deps);
      await dueFinder.search();
      attempts.start(destinations.all());
      const claimed = await claim(recorder.pending());
      if (claimed) attempts.start(claimed.destinations);
      if (claimed?.some && destinations.someDue()) return 'more';
      // The loop wakes when the next job falls due, or the next probe may start.
      for (const ms of untilProbes(destinations)) timer.in(ms);
      const ms = await queue.nextDueIn();
      if (ms !== null) timer.in(ms);
      return 'done';
    },
  });

  return {
    state: loop.state,
    wake() {
      dueFinder.notify();
      loop.wake();
    },
    async stop() {
      timer.stop();
      attempts.hold();
      await loop.stop();
      await attempts.stop();
      await recorder.flushed();
    },
    async drained() {
      for (;;) {
        const { due } = await queue.recent();
        const idle = due.length === 0 && destinations.held() === 0 && recorder.pending() === 0;
        if (idle && (await queue.fullScan()).length === 0) return;
        loop.wake();
        await delay(restMs);
      }
    },
  };
}
