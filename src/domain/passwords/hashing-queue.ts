import { noDeadline, type Deadline } from '../../lib/deadline.js';
import type { Tracer } from '../../platform/spans/tracer.js';
import type { QueueState } from '../../platform/metrics/queue-state.js';
import { HashingShares, lengthOf, type Priority, type HashingShare, type Waiter } from './hashing-shares.js';

/** Too many passwords wait to be hashed: the caller answers 503 with `Retry-After`. */
export class OverloadedError extends Error {
  /** @param retry_after seconds until the queue is likely to have drained */
  constructor(readonly retry_after: number) {
    super('too many password checks are waiting');
    this.name = 'OverloadedError';
  }
}

/** Who waits for a turn. `environment_id`: the environment whose share it takes. */
export type HashingTurn = {
  readonly environment_id: string;
  readonly priority: Priority;
  /** Until when the caller waits, if that is sooner than the queue's limit: the end of its request, or of the wait for several turns. */
  readonly deadline?: Deadline;
};

type Limits = { readonly concurrency: number; readonly queueMax: number; readonly maxWaitMs: number };

/**
 * Runs at most `concurrency` tasks at once. Environments that wait share the time equally: the next turn is of the one that has had the least of it,
 * however many of its own wait and however long its tasks take. Within an environment at most `queueMax` of each priority wait, first come first
 * served, `known` before `stranger`, for at most `maxWaitMs`; a task whose expected wait is longer is refused at once.
 * @throws {OverloadedError} from `run`, with the seconds after which to come again
 */
export function createHashingQueue({ concurrency, queueMax, maxWaitMs }: Limits, tracer: Tracer | null = null) {
  const shares = new HashingShares();
  let running = 0;
  let refused = 0;

  const overloaded = (share: HashingShare, priority: Priority) => {
    refused += 1;
    return new OverloadedError(Math.max(1, Math.ceil(waitMs(share, priority) / 1000)));
  };
  const waitMs = (share: HashingShare, priority: Priority) => shares.aheadMs(share, priority) / concurrency;

  /** Resolves when the caller's turn has come. */
  function turn(share: HashingShare, priority: Priority, patienceMs: number): Promise<void> {
    const queue = share.waiting[priority];
    if (queue.length >= queueMax || waitMs(share, priority) > patienceMs) return Promise.reject(overloaded(share, priority));
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(waiter), 1);
        reject(overloaded(share, priority));
      }, patienceMs);
      const waiter: Waiter = { start: resolve, timer, since: performance.now() };
      queue.push(waiter);
    });
  }

  function begin(share: HashingShare): void {
    running += 1;
    shares.begin(share);
  }

  function end(share: HashingShare, tookMs: number): void {
    running -= 1;
    shares.end(share, tookMs);
    const next = shares.next();
    if (!next) return;
    clearTimeout(next.waiter.timer);
    begin(next.share);
    next.waiter.start();
  }

  return {
    /** Its figures at the moment, for the metrics. */
    state(): QueueState {
      const all = shares.all();
      const first = all.flatMap(({ waiting }) => [waiting.known[0], waiting.stranger[0]]);
      const oldest = Math.min(performance.now(), ...first.map((waiter) => waiter?.since ?? Infinity));
      const length = running + all.reduce((sum, share) => sum + lengthOf(share), 0);
      return { queue: 'hashing', length, wait: (performance.now() - oldest) / 1000, refused };
    },

    /**
     * Runs a task when its turn has come. @returns what the task does
     * @throws {OverloadedError}
     */
    async run<T>({ environment_id, priority, deadline = noDeadline }: HashingTurn, work: () => Promise<T>): Promise<T> {
      const share = shares.of(environment_id);
      const patienceMs = Math.min(maxWaitMs, deadline.left());
      if (patienceMs <= 0) throw overloaded(share, priority);
      if (running < concurrency) begin(share);
      else await turn(share, priority, patienceMs);
      const started = performance.now();
      const span = tracer === null ? null : tracer.internal('password hash');
      try {
        return await work();
      } finally {
        span?.end();
        end(share, performance.now() - started);
      }
    },
  };
}
