import { capacityOf, type Destination } from './destination.js';

export type ClaimShare<Job> = { readonly destination: Destination<Job>; count: number };

/** Jobs that a destination is given in one turn. */
const turn = 5;

/**
 * Divides a number of claims round-robin: first among environments, then among the destinations of each, and none gets more than it has room
 * for. A backlog of one webhook, or of an environment with a thousand webhooks, doesn't starve the others.
 * @param offset where the turns start; moved on from pass to pass
 */
export function divide<Job>(destinations: Iterable<Destination<Job>>, budget: number, now: number, offset: number): ClaimShare<Job>[] {
  const environments = new Map<string, ClaimShare<Job>[]>();
  for (const destination of destinations) {
    if (destination.due_at === null) continue;
    const free = capacityOf(destination, now);
    if (free === 0) continue;
    const shares = environments.get(destination.environment_id) ?? [];
    shares.push({ destination, count: free });
    environments.set(destination.environment_id, shares);
  }
  const queues = rotate([...environments.values()], offset).map((shares) => rotate(shares, offset));
  const granted = new Map<Destination<Job>, ClaimShare<Job>>();
  let left = budget;
  while (left > 0 && queues.some((queue) => queue.length > 0)) {
    for (const queue of queues) {
      const share = queue.shift();
      if (!share || left === 0) continue;
      const take = Math.min(turn, share.count, left);
      left -= take;
      const sofar = granted.get(share.destination);
      if (sofar) sofar.count += take;
      else granted.set(share.destination, { destination: share.destination, count: take });
      if (share.count > take) queue.push({ destination: share.destination, count: share.count - take });
    }
  }
  return [...granted.values()];
}

function rotate<T>(list: readonly T[], offset: number): T[] {
  const start = list.length === 0 ? 0 : offset % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
