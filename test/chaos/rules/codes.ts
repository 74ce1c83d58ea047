import { groupBy, type History, type Violation } from '../history.js';

const rule = 'R1 a code is used at most once';

/** R1 (RFC 6749 4.1.2): one redemption of a code is ok at most, and none after it was refused. Answers that are unknown prove nothing. */
export function checkCodes(history: History): Violation[] {
  const violations: Violation[] = [];
  for (const [code, tries] of groupBy(history, ({ redeems }) => redeems)) {
    const [first, second] = tries.filter(({ outcome }) => outcome === 'ok');
    if (first && second) violations.push({ rule, subject: code, says: 'was redeemed twice', operations: [first, second] });
    else if (first) {
      const refused = tries.find(({ outcome, end }) => outcome === 'refused' && end < first.start);
      if (refused) violations.push({ rule, subject: code, says: 'was refused, and redeemed after that', operations: [refused, first] });
    }
  }
  return violations;
}
