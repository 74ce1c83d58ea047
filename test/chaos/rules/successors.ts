import { groupBy, type History, type Operation, type Violation } from '../history.js';

const rule = 'R2 a refresh token has one successor';

/** For how long a rotated token answers with its successor, and what clocks of one machine may differ by, in milliseconds. */
export const toleranceMs = 30_000;
export const slackMs = 1000;

/** R2 (RFC 9700 4.14.2): however often a token of a public client is presented, one successor comes back, never itself, and none after the tolerance. */
export const checkSuccessors = (history: History): Violation[] =>
  [...groupBy(history, ({ presents }) => presents?.token)].flatMap(([token, tries]) => {
    const accepted = tries.filter(({ outcome }) => outcome === 'ok').sort((one, other) => one.end - other.end);
    const [first] = accepted;
    return first ? ofToken(token, first, accepted) : [];
  });

const successorOf = (operation: Operation) => operation.presents?.successor ?? '';

function ofToken(token: string, first: Operation, accepted: readonly Operation[]): Violation[] {
  const subject = `refresh:${token}`;
  if (successorOf(first) === token) return [{ rule, subject, says: 'was not rotated', operations: [first] }];
  const other = accepted.find((one) => successorOf(one) !== successorOf(first));
  if (other) return [{ rule, subject, says: 'has two successors', operations: [first, other] }];
  const late = accepted.find((one) => one.start > first.end + toleranceMs + slackMs);
  if (late) return [{ rule, subject, says: 'was accepted long after it was rotated', operations: [first, late] }];
  return [];
}
