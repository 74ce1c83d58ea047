import { noDeadline, type Deadline } from '../../lib/deadline.js';
import { spans } from '../../platform/spans/tracer.js';
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
 * @throws {OverloadedError} from `run`, with the seconds after which to come again
 */
export function createHashingQueue({ concurrency, queueMax, maxWaitMs }: { concurrency: number; queueMax: number; maxWaitMs: number }) {
  const waiting: Record<Priority, Waiter[]> = { known: [], stranger: [] };
  let running = 0;
  /** How long a task takes: a moving average; a guess until some have run. */
  let averageMs = 50;
  let refused = 0;

  /** How long one that comes now would wait. */
  const waitMs = (priority: Priority): number => {
    const ahead = waiting.known.length + (priority === 'stranger' ? waiting.stranger.length : 0);
    return (ahead * averageMs) / concurrency;
  };
  const overloaded = (priority: Priority) => {
    refused += 1;
    return new OverloadedError(Math.max(1, Math.ceil(waitMs(priority) / 1000)));
  };

  /** Resolves when the caller's turn has come. */
  function turn(priority: Priority, patienceMs: number): Promise<void> {
    const queue = waiting[priority];
    if (queue.length >= queueMax || waitMs(priority) > patienceMs) return Promise.reject(overloaded(priority));
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(overloaded(priority));
      }, patienceMs);
      const waiter: Waiter = { start: resolve, timer, since: performance.now() };
      queue.push(waiter);
    });
  }

  function startNext(): void {
    const next = waiting.known.shift() ?? waiting.stranger.shift();
    if (!next) return void running--;
    clearTimeout(next.timer);
    next.start();
  }

  return {
    /** Its figures at the moment, for the metrics. */
    state(): QueueState {
      const oldest = Math.min(...[waiting.known[0], waiting.stranger[0]].map((waiter) => waiter?.since ?? performance.now()));
      const length = running + waiting.known.length + waiting.stranger.length;
      return { queue: 'hashing', length, wait: (performance.now() - oldest) / 1000, refused };
    },

    /**
     * Runs a task when its turn has come. @returns what the task does
     * @param deadline until when the caller waits, if that is sooner than `maxWaitMs`: the end of its request, or of the wait for several turns
     * @throws {OverloadedError}
     */
    async run<T>(priority: Priority, work: () => Promise<T>, deadline: Deadline = noDeadline): Promise<T> {
      const patienceMs = Math.min(maxWaitMs, deadline.left());
      if (patienceMs <= 0) throw overloaded(priority);
      if (running >= concurrency) await turn(priority, patienceMs);
      else running++;
      const started = performance.now();
      const span = spans.tracer === null ? null : spans.tracer.internal('password hash');
      try {
        return await work();
      } finally {
        span?.end();
        averageMs += (performance.now() - started - averageMs) / 16;
        startNext();
      }
    },
  };
}
