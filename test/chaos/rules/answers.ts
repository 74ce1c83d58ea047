import type { History, Violation } from '../history.js';

const rule = 'R7 a fault is answered by 503 with Retry-After, or not at all';

/** R7 (RFC 9110 10.2.3, 15.6.4): whatever happens no answer is a server error but 503, and that and 429 say when to come again. */
export function checkAnswers(history: History): Violation[] {
  return history.flatMap((one) => {
    const { kind, replica, status, retry_after } = one;
    // A delivery's status is the receiver's.
    if (replica === '-') return [];
    if (status >= 500 && status !== 503) return [{ rule, subject: kind, says: `was answered by ${status}`, operations: [one] }];
    if ((status === 503 || status === 429) && !/^[1-9]\d*$/.test(retry_after ?? ''))
      return [{ rule, subject: kind, says: `was answered by ${status} without Retry-After`, operations: [one] }];
    return [];
  });
}
