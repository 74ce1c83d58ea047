import { worstFirst, type CheckResult, type Diagnosis } from '../../domain/diagnostics/diagnose.js';
import { failLevels, type FailLevel } from './fail-levels.js';

/** 1 with a problem; 2 with something less that counts, by `failOn`; else 0. */
export function exitCodeOf({ checks }: Diagnosis, failOn: FailLevel): 0 | 1 | 2 {
  const has = (level: FailLevel) => checks.some((one) => one.level === level);
  if (has('problem')) return 1;
  return failLevels.slice(failLevels.indexOf(failOn)).some(has) ? 2 : 0;
}

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Names and answers of others must not move the cursor of whoever reads them, nor turn the line around. */
const printable = (text: string) => text.replace(unprintable, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

const indent = ' '.repeat(9);

function paragraph({ level, id, finding, why, fix, look }: CheckResult): string {
  const head = `${level.padEnd(indent.length - 1)} ${id}: ${printable(finding)}`;
  const commands = Object.entries({ fix, look }).filter(([, text]) => text !== null);
  return [
    head,
    ...(why === null ? [] : [`${indent}${why}`]),
    ...commands.map(([word, text]) => `${indent}${word}: ${printable(text ?? '')}`),
  ].join('\n');
}

const sentence = { ok: 'Nothing is wrong.', warning: 'Nothing is broken yet.', problem: 'Something is broken.' } as const;

/** Checks that were skipped for the same reason, in one paragraph. */
function skippedTogether(checks: readonly CheckResult[]): string[] {
  const reasons = [...new Set(checks.map(({ finding }) => finding))];
  const ofReason = (finding: string) => checks.filter((one) => one.finding === finding);
  return reasons
    .map((finding) => [finding, ofReason(finding)] as const)
    .map(([finding, same]) => `${'skipped'.padEnd(indent.length)}${same.map(({ id }) => id).join(', ')}\n${indent}${finding}`);
}

/** What the doctor found, for people: the worst first, what is well in one line. */
export function reportOf({ status, checks }: Diagnosis): string {
  const of = (level: CheckResult['level']) => checks.filter((one) => one.level === level);
  const reported = worstFirst(checks).filter(({ level }) => level !== 'ok' && level !== 'skipped');
  const okIds = of('ok').map(({ id }) => id);
  const paragraphs = [
    ...reported.map(paragraph),
    ...skippedTogether(of('skipped')),
    ...(okIds.length > 0 ? [`${'ok'.padEnd(indent.length)}${okIds.join(', ')}`] : []),
  ];
  return `${[...paragraphs, sentence[status]].join('\n\n')}\n`;
}
