import { groupBy, type History, type Operation, type Violation } from '../history.js';

const rule = 'R6 a limit is never exceeded';

/** Moments are counted in whole milliseconds. */
const roundingMs = 10;

/**
 * R6 (specification 10.1.4): of the requests that surely began and ended within one window no more are ok than the limit allows, over all replicas.
 * Leases count before they are used, so they add nothing. Each crash of the database lets counting start anew: its table is unlogged.
 */
export function checkLimits(history: History): Violation[] {
  const crashes = history.filter(({ fault }) => fault?.crash);
  return [...groupBy(history, ({ takes }) => takes?.window)].flatMap(([window, all]) => {
    const accepted = all.filter(({ outcome }) => outcome === 'ok').sort((one, other) => one.start - other.start);
    for (const [index, first] of accepted.entries()) {
      const { limit, window_ms } = first.takes ?? { limit: 0, window_ms: 0 };
      const until = first.start + window_ms - roundingMs;
      const within = inside(accepted, index, until);
      const crashed = crashes.filter(({ start, end }) => start <= until && end >= first.start).length;
      const allowed = limit * (1 + crashed);
      if (within.length <= allowed) continue;
      const says = `${within.length} requests were let through within ${window_ms} ms; ${allowed} may be`;
      return [{ rule, subject: window, says, operations: [first, within.at(-1) as Operation] }];
    }
    return [];
  });
}

function inside(accepted: readonly Operation[], from: number, until: number): Operation[] {
  const within: Operation[] = [];
  for (let index = from; index < accepted.length; index++) {
    const one = accepted[index] as Operation;
    if (one.start > until) break;
    if (one.end <= until) within.push(one);
  }
  return within;
}
