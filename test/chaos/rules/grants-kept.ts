import type { History, Operation, Violation } from '../history.js';
import { withdrawalsOf } from '../withdrawals.js';

const rule = 'R3 no acknowledged write is missing';

/** R3 of what is issued (codes, tokens, clients, users, keys): it is not refused unless something may have withdrawn it. */
export function checkGrantsKept(history: History): Violation[] {
  const withdrawals = withdrawalsOf(history);
  const issued = new Map<string, Operation>();
  for (const operation of history)
    if (operation.outcome === 'ok') for (const subject of operation.issues ?? []) issued.set(subject, issued.get(subject) ?? operation);
  return history.flatMap((use) => {
    if (use.outcome !== 'refused' || use.uses === undefined) return [];
    const sources = use.uses.map((subject) => issued.get(subject)).filter((one) => one !== undefined);
    // Something that it rests on isn't known to be there: it may be refused.
    if (sources.length === 0 || sources.some(({ end }) => end >= use.start)) return [];
    const possible = use.uses.flatMap((subject) => withdrawals.get(subject) ?? []).some(({ start, by }) => by !== use && start < use.end);
    const says = 'was acknowledged, nobody withdrew it, and it is refused';
    return possible ? [] : [{ rule, subject: use.uses[0] ?? '', says, operations: [...new Set(sources), use] }];
  });
}
