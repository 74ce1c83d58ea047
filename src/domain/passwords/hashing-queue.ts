import { noDeadline, type Deadline } from '../../lib/deadline.js';
import type { QueueState } from '../../platform/metrics/queue-state.js';

/** Too many passwords wait to be hashed: the caller answers 503 with `Retry-After`. */
export class OverloadedError extends Error {
  /** @param retry_after seconds until the queue is likely to have drained */
  constructor(readonly retry_after: number) {
    super('too many password checks are waiting');
    this.name = 'OverloadedError';
  }
}

/** `known`: the caller has proven something to the account before (a sign-in from this browser, a code, a session); `stranger`: anybody else. */
export type Priority = 'known' | 'stranger';

type Waiter = { readonly start: () => void; readonly timer: NodeJS.Timeout; readonly since: number };

/**
 * Runs at most `concurrency` tasks at once. At most `queueMax` of each priority wait, first come first served, `known` before `stranger`, for at
 * most `maxWaitMs`; a task whose expected wait is longer is refused at once.
 */
export function createHashingQueue({ concurrency, queueMax, maxWaitMs }: { concurrency: number; queueMax: number; maxWaitMs: number }) {
  const lines: Record<Priority, Waiter[]> = { known: [], stranger: [] };
  let running = 0;
  let averageMs = 50;
  let refused = 0;

  const waitMs = (urgency: Priority): number => {
    const ahead = lines.known.length + (urgency === 'stranger' ? lines.stranger.length : 0);
    return (ahead * averageMs) / concurrency;
  };
  const overloaded = (urgency: Priority) => {
    refused += 1;
    return new OverloadedError(Math.max(1, Math.ceil(waitMs(urgency) / 1000)));
  };

  function turn(urgency: Priority, patienceMs: number): Promise<void> {
    const line = lines[urgency];
    if (line.length >= queueMax || waitMs(urgency) > patienceMs) return Promise.reject(overloaded(urgency));
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        line.splice(line.indexOf(waiter), 1);
        reject(overloaded(urgency));
      }, patienceMs);
      const waiter: Waiter = { start: resolve, timer, since: performance.now() };
      line.push(waiter);
    });
  }

  function startNext(): void {
    const next = lines.known.shift() ?? lines.stranger.shift();
    if (!next) return void running--;
    clearTimeout(next.timer);
    next.start();
  }

  return {
    /** How long it is now. */
    state(): QueueState {
      const oldest = Math.min(...[lines.known[0], lines.stranger[0]].map((waiter) => waiter?.since ?? performance.now()));
      const length = running + lines.known.length + lines.stranger.length;
      return { queue: 'hashing', length, wait: (performance.now() - oldest) / 1000, refused };
    },

    /**
     * @param deadline until when the caller waits, if that is sooner than `maxWaitMs`: the end of its request, or of the wait for several turns
     * @throws {OverloadedError}
     */
    async run<T>(urgency: Priority, work: () => Promise<T>, deadline: Deadline = noDeadline): Promise<T> {
      const patienceMs = Math.min(maxWaitMs, deadline.left());
      if (patienceMs <= 0) throw overloaded(urgency);
      if (running >= concurrency) await turn(urgency, patienceMs);
      else running++;
      const started = performance.now();
      try {
        return await work();
      } finally {
        averageMs += (performance.now() - started - averageMs) / 16;
        startNext();
      }
    },
  };
}
