import type { Job, AttemptOutcome, Queue } from './queue.js';

/**
 * One pass over what is due, attempted and recorded when it resolves; no breaker, no fair shares. For tests and scripts.
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
