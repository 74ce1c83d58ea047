import { groupBy, type History, type Operation, type Violation } from '../history.js';

const rule = 'R6 a limit is never exceeded';

/**
 * R6 (specification 10.1.4): of the requests that count in one window no more are ok than the limit allows, over all replicas. A window is known by when its
 * answers say that it ends; an answer that took long leaves open which one it means. Leases count before they are used, so they add nothing. Each crash of the
 * database lets counting start anew: its table is unlogged.
 */
export function checkLimits(history: History): Violation[] {
  const crashes = history.filter(({ fault }) => fault?.crash);
  return [...groupBy(history, ({ takes }) => takes?.window)].flatMap(([subject, all]) => {
    const accepted = all.filter(({ outcome, start, end, takes }) => outcome === 'ok' && end - start < (takes?.window_ms ?? 0) / 4);
    for (const counted of windowsOf(accepted)) {
      const [first, last] = [counted[0] as Operation, counted.at(-1) as Operation];
      const crashed = crashes.filter(({ start, end }) => start <= last.end && end >= first.start).length;
      const allowed = (first.takes?.limit ?? 0) * (1 + crashed);
      if (counted.length <= allowed) continue;
      const says = `${counted.length} requests were let through in one window of ${first.takes?.window_ms} ms; ${allowed} may be`;
      return [{ rule, subject, says, operations: [first, last] }];
    }
    return [];
  });
}

/** The requests of each window: those of one end at about the same moment, and the next ends a whole window later. */
function windowsOf(accepted: readonly Operation[]): Operation[][] {
  const endOf = ({ start, takes }: Operation) => start + (takes?.reset_ms ?? 0);
  const windows: Operation[][] = [];
  for (const one of accepted.toSorted((a, b) => endOf(a) - endOf(b))) {
    const current = windows.at(-1);
    if (current && endOf(one) < endOf(current[0] as Operation) + (one.takes?.window_ms ?? 0) / 2) current.push(one);
    else windows.push([one]);
  }
  return windows.map((counted) => counted.toSorted((a, b) => a.start - b.start));
}
