import { setMaxListeners } from 'node:events';
import { noteOutcome, excessOf, type Destination } from './destination.js';
import type { Destinations } from './destinations.js';
import type { Job, AttemptOutcome, Queue } from './queue.js';
import type { Releases } from './releases.js';
import { createSlots } from './slots.js';
import { inBackground, type Tracer } from '../../platform/spans/tracer.js';

export type Attempts<J> = {
  /** Starts waiting jobs of these destinations, as far as slots are free. */
  start(which: Iterable<Destination<J>>): void;
  /** Starts nothing from now on. */
  hold(): void;
  /** After `hold`: gives back what waits, lets what is in flight finish for the queue's `stopMs`, and gives that back then too. */
  stop(): Promise<void>;
};

type Hooks<J, Result> = {
  readonly destinations: Destinations<J>;
  readonly releases: Releases<J>;
  readonly tracer: Tracer | null;
  readonly onResult: (job: J, result: Result) => void;
  /** Called after each attempt, when its destination may have room again. */
  readonly onEnd: (destination: Destination<J>) => void;
};

export function createAttempts<J extends Job, Result extends AttemptOutcome>(
  queue: Queue<J, Result>,
  hooks: Hooks<J, Result>,
): Attempts<J> {
  const { destinations, releases, tracer, onResult, onEnd } = hooks;
  const aborting = new AbortController();
  // Every attempt in flight listens.
  setMaxListeners(0, aborting.signal);
  const name = `${queue.name} attempt`;
  const slots = createSlots(destinations, queue.limits);
  let stopping = false;
  let onIdle: (() => void) | null = null;

  function startOne(destination: Destination<J>): void {
    const job = destination.waiting.shift() as J;
    // Started this late, it might end after its lease.
    if (performance.now() - job.claimedAt > queue.leaseMs * 0.9 - queue.timeoutMs) releases.give([job]);
    else void work(destination, job);
  }

  function start(which: Iterable<Destination<J>>): void {
    if (stopping) return;
    for (const destination of which) while (slots.mayStart(destination)) startOne(destination);
  }

  function startInTurn(): void {
    for (let one = stopping ? null : slots.next(); one; one = slots.next()) startOne(one);
  }

  async function work(destination: Destination<J>, job: J): Promise<void> {
    slots.count(destination, 1);
    const result = await inBackground(tracer, name, () => queue.attempt(job, aborting.signal)).catch(() => null);
    slots.count(destination, -1);
    if (result === null) releases.give([job]);
    else {
      noteOutcome(destination, result, performance.now(), queue.retryBaseMs);
      onResult(job, result);
    }
    ended(destination);
    if (slots.inFlight() === 0) onIdle?.();
  }

  function ended(destination: Destination<J>): void {
    // Jobs that a slow or failing destination can't start soon are given back to the queue.
    const excess = excessOf(destination);
    if (excess > 0) releases.give(destination.waiting.splice(-excess));
    if (slots.areScarce()) startInTurn();
    else start([destination]);
    onEnd(destination);
  }

  return {
    start,
    hold() {
      stopping = true;
    },
    async stop() {
      for (const destination of destinations.all()) releases.give(destination.waiting.splice(0));
      const timeUp = setTimeout(() => aborting.abort(), queue.limits.stopMs);
      if (slots.inFlight() > 0) await new Promise<void>((resolve) => (onIdle = resolve));
      clearTimeout(timeUp);
      await releases.settled();
    },
  };
}
