import type { History, Violation } from '../history.js';
import { withdrawalsOf } from '../withdrawals.js';

const rule = 'R4 what is withdrawn is refused within a second, everywhere';
const withinMs = 1000;

/** R4 (specification 5.12.1): a request that began more than a second after an acknowledged withdrawal isn't ok at any replica. */
export function checkWithdrawn(history: History): Violation[] {
  const withdrawals = withdrawalsOf(history);
  return history.flatMap((use) => {
    if (use.outcome !== 'ok') return [];
    const earlier = (use.uses ?? [])
      .flatMap((subject) => withdrawals.get(subject) ?? [])
      .find(({ certain, end, by }) => certain && by !== use && use.start > end + withinMs);
    if (!earlier) return [];
    const says = `was accepted ${Math.round(use.start - earlier.end)} ms after it was withdrawn`;
    return [{ rule, subject: earlier.subject, says, operations: [earlier.by, use] }];
  });
}
