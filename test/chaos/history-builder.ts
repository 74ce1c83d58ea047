import type { Aspects, Operation, Outcome } from './history.js';

/** A hand-made operation: what it says, its outcome, and from when to when (milliseconds). Replica and status don't matter to any rule. */
export function operation(outcome: Outcome, start: number, end: number, aspects: Aspects): Operation {
  return { id: start, kind: Object.keys(aspects)[0] ?? '', replica: 'A', status: 0, start, end, outcome, ...aspects };
}

/** What each broken rule says of which subject, as one line. */
export const told = (violations: readonly { rule: string; subject: string; says: string }[]) =>
  violations.map(({ rule, subject, says }) => `${rule.slice(0, 2)} ${subject} ${says}`);
