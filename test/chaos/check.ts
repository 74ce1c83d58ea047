import type { History, Operation, Violation } from './history.js';
import { checkAnswers } from './rules/answers.js';
import { checkCodes } from './rules/codes.js';
import { checkDeliveries } from './rules/deliveries.js';
import { checkGrantsKept } from './rules/grants-kept.js';
import { checkLimits } from './rules/limits.js';
import { checkRecordsKept } from './rules/records-kept.js';
import { checkSuccessors } from './rules/successors.js';
import { checkWithdrawn } from './rules/withdrawn.js';

/** Judges a history by all rules, from the record alone. */
export const check = (history: History): Violation[] =>
  [checkCodes, checkSuccessors, checkGrantsKept, checkRecordsKept, checkWithdrawn, checkDeliveries, checkLimits, checkAnswers].flatMap(
    (rule) => rule(history),
  );

const seconds = (ms: number) => (ms / 1000).toFixed(3).padStart(8);

export function lineOf({ id, kind, replica, start, end, outcome, status, ...aspects }: Operation): string {
  const about = JSON.stringify(aspects, (_key, value: unknown) =>
    typeof value === 'string' && value.length > 60 ? `${value.slice(0, 57)}...` : value,
  );
  return `  #${id} ${seconds(start)} to ${seconds(end)} s  ${replica}  ${kind}: ${outcome} (${status})  ${about}`;
}

/** A violation with its excerpt of the history. */
export const reportOf = ({ rule, subject, says, operations }: Violation): string =>
  [`VIOLATION of ${rule}`, `  ${subject} ${says}`, ...operations.map(lineOf)].join('\n');
