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

/**
 * One pass over what is due, attempted and recorded when it resolves; no breaker, no fair shares.
 * @param limit how many jobs of each destination
 * @returns how many jobs there were
 */
export async function drain<J extends Job, Result extends AttemptOutcome>(queue: Queue<J, Result>, limit = 10): Promise<number> {
  const { due } = await queue.recent();
  if (due.length === 0) return 0;
  const jobs = await queue.claim(due.map((one) => ({ ...one, limit })));
  const signal = new AbortController().signal;
  const results = await Promise.all(jobs.map(async (job) => ({ job, result: await queue.attempt(job, signal) })));
  if (results.length > 0) await queue.record(results);
  return jobs.length;
}
