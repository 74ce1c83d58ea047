import type { AttemptOutcome, Job, Queue } from '../../src/outbox/queue/queue.js';

/** A queue without a table: nothing is due in it, and every attempt succeeds at once, but for what is given. */
export const queueOf = (
  own: Pick<Queue<Job, AttemptOutcome>, 'name'> &
    Partial<Omit<Queue<Job, AttemptOutcome>, 'limits'>> & { limits?: Partial<Queue<Job, AttemptOutcome>['limits']> },
): Queue<Job, AttemptOutcome> => ({
  leaseMs: 35_000,
  timeoutMs: 10_000,
  retryBaseMs: 5000,
  recent: async () => ({ due: [], full: false }),
  fullScan: async () => [],
  tidy: async () => undefined,
  nextDueIn: async () => null,
  claim: async () => [],
  release: async () => undefined,
  attempt: async () => ({ ok: true, durationMs: 1, retry_in_ms: null }),
  record: async () => undefined,
  ...own,
  limits: { inFlight: 500, inFlightPerDestination: 5, held: 2000, pollMs: 1000, stopMs: 1000, ...own.limits },
});
