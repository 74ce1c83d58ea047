import type { DueDestination } from '../../db/queue-rows.js';
import type { Logger } from '../../platform/log/logger.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import type { Destination } from './destination.js';
import { earlierOf, type Destinations } from './destinations.js';
import { divide } from './fair-share.js';
import { reservedOf, littleOf, type DestinationKey, type Job, type AttemptOutcome, type Queue } from './queue.js';

const maxClaim = 400;
const slowClaimMs = 50;

export type QueueDeps = { readonly logger: Logger; readonly metrics: Pick<Metrics, 'claimSeconds'> };

async function claimTimed<J extends Job>(
  queue: Queue<J, AttemptOutcome>,
  { logger, metrics }: QueueDeps,
  claims: readonly (DueDestination & { limit: number })[],
): Promise<J[]> {
  const started = performance.now();
  const jobs = await queue.claim(claims);
  const tookMs = performance.now() - started;
  metrics.claimSeconds.observe({ queue: queue.name }, tookMs / 1000);
  if (tookMs > slowClaimMs)
    logger.warn({ event: 'outbox.slow_claim', queue: queue.name, took_ms: Math.round(tookMs) }, 'claiming work took long');
  return jobs;
}

/** Jobs by destination, in their order. Those of one claim mostly share the object that names it. */
function groupedBy<J extends Job>(jobs: readonly J[], destinations: Destinations<J>): Map<Destination<J>, J[]> {
  const groups = new Map<Destination<J>, J[]>();
  const byKey = new Map<DestinationKey, J[]>();
  for (const job of jobs) {
    let own = byKey.get(job.destination);
    if (!own) {
      const destination = destinations.of(job.destination);
      own = groups.get(destination) ?? [];
      groups.set(destination, own);
      byKey.set(job.destination, own);
    }
    own.push(job);
  }
  return groups;
}

/**
 * Claims for destinations in fair shares.
 * @returns a function that claims as much as fits with `unrecorded` results, and says for which destinations it asked and whether it got
 * anything; null when there was nothing to ask for
 */
export function createClaiming<J extends Job>(queue: Queue<J, AttemptOutcome>, deps: QueueDeps, destinations: Destinations<J>) {
  const { limits } = queue;
  let offset = 0;

  /** How much may be claimed, and by whom: all, or, of what is kept for them, environments that hold little. */
  function budgetOf(unrecorded: number): { budget: number; mayClaim: (destination: Destination<J>) => boolean } {
    const free = limits.held - destinations.held() - unrecorded;
    const open = free - reservedOf(limits.held);
    if (open > 0) return { budget: Math.min(maxClaim, open), mayClaim: () => true };
    const held = destinations.heldByEnvironment();
    return { budget: Math.min(maxClaim, free), mayClaim: ({ environment_id }) => (held.get(environment_id) ?? 0) < littleOf(limits) };
  }

  return async (unrecorded: number): Promise<{ destinations: Destination<J>[]; some: boolean } | null> => {
    const { budget, mayClaim } = budgetOf(unrecorded);
    // A destination is filled up when it has half run out, not for each single job: claims stay large.
    const now = performance.now();
    const shares = divide(destinations.needingJobs().filter(mayClaim), budget, now, offset++);
    if (shares.length === 0) return null;
    // A claim costs most for itself. What those that need jobs leave of it goes to others that will ask next.
    const left = shares.reduce((rest, share) => rest - share.count, budget);
    shares.push(...divide(destinations.takingMore().filter(mayClaim), left, now, offset));
    const requests = shares.map(({ destination: { environment_id, id, due_at }, count }) => ({
      environment_id,
      id,
      due_at: due_at ?? new Date(0),
      limit: count,
    }));
    for (const { destination } of shares) destination.expected = null;
    const jobs = await claimTimed(queue, deps, requests);
    const byDestination = groupedBy(jobs, destinations);
    for (const { destination, count } of shares) {
      const own = byDestination.get(destination) ?? [];
      destination.waiting.push(...own);
      // What was given back meanwhile the claim may not have seen, and it may be due since before what it took.
      destination.due_at = earlierOf(own.length < count ? null : (own.at(-1)?.due_at ?? null), destination.expected);
    }
    return { destinations: shares.map((share) => share.destination), some: jobs.length > 0 };
  };
}
