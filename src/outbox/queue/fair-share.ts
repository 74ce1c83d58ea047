import { room, type Lane } from './lane.js';

/** A lane and how many jobs to claim for it. */
export type Share<Job> = { readonly lane: Lane<Job>; room: number };

/** What a lane gets in one turn. */
const turn = 5;

/**
 * Divides a budget of claims: environments take turns, within an environment its lanes take turns, and no lane gets more than it has room
 * for. So a backlog of one webhook, or of an environment with a thousand webhooks, doesn't push the others out.
 * @param offset where the turns start; moved on from pass to pass
 */
export function divide<Job>(lanes: Iterable<Lane<Job>>, budget: number, now: number, offset: number): Share<Job>[] {
  const environments = new Map<string, Share<Job>[]>();
  for (const lane of lanes) {
    if (lane.due_at === null) continue;
    const free = room(lane, now);
    if (free === 0) continue;
    const shares = environments.get(lane.environment_id) ?? [];
    shares.push({ lane, room: free });
    environments.set(lane.environment_id, shares);
  }
  const queues = rotate([...environments.values()], offset).map((shares) => rotate(shares, offset));
  const granted = new Map<Lane<Job>, Share<Job>>();
  let left = budget;
  while (left > 0 && queues.some((queue) => queue.length > 0)) {
    for (const queue of queues) {
      const share = queue.shift();
      if (!share || left === 0) continue;
      const take = Math.min(turn, share.room, left);
      left -= take;
      const sofar = granted.get(share.lane);
      if (sofar) sofar.room += take;
      else granted.set(share.lane, { lane: share.lane, room: take });
      if (share.room > take) queue.push({ lane: share.lane, room: share.room - take });
    }
  }
  return [...granted.values()];
}

function rotate<T>(list: readonly T[], offset: number): T[] {
  const start = list.length === 0 ? 0 : offset % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
