import { groupBy, type History, type Operation } from './history.js';
import { slackMs, toleranceMs } from './rules/successors.js';

/** Something may have ended a subject. `certain`: it has, by `end`; otherwise it may have at any time from `start` on. */
export type Withdrawal = {
  readonly subject: string;
  readonly start: number;
  readonly end: number;
  readonly certain: boolean;
  readonly by: Operation;
};

/** For how long a code is surely good, of the 60 s that it lives. */
const codeMs = 50_000;

/** What a history says was, or may have been, withdrawn: by request, by a second use, or by its time. */
export function withdrawalsOf(history: History): Map<string, Withdrawal[]> {
  const found = [...byRequest(history), ...byReplayedCodes(history), ...byReplayedTokens(history)];
  return groupBy(found, ({ subject }) => subject);
}

const byRequest = (history: History): Withdrawal[] =>
  history.flatMap((by) =>
    by.withdraws === undefined || by.outcome === 'refused'
      ? []
      : [{ subject: by.withdraws, start: by.start, end: by.end, certain: by.outcome === 'ok', by }],
  );

/** A code is spent by the first try. A second one ends all that the first gave (RFC 6749 4.1.2): its family. */
function byReplayedCodes(history: History): Withdrawal[] {
  const spent = [...groupBy(history, ({ redeems }) => redeems)].flatMap(([code, tries]) => {
    const ordered = tries.toSorted((one, other) => one.start - other.start);
    const accepted = tries.find(({ outcome }) => outcome === 'ok');
    const again = ordered.slice(1).map((by): Withdrawal => {
      const { start, end, outcome } = by;
      const certain = outcome === 'refused' && accepted !== undefined;
      return {
        subject: `family:${code}`,
        start: Math.min(start, accepted?.start ?? start),
        end: Math.max(end, accepted?.end ?? end),
        certain,
        by,
      };
    });
    return [...ordered.map((by): Withdrawal => ({ subject: `code:${code}`, start: by.start, end: by.end, certain: false, by })), ...again];
  });
  const expired = history.flatMap((by) =>
    (by.issues ?? [])
      .filter((subject) => subject.startsWith('code:'))
      .map((subject): Withdrawal => ({ subject, start: by.start + codeMs, end: by.start + codeMs, certain: false, by })),
  );
  return [...spent, ...expired];
}

/** A refresh token that comes again long after it was rotated is refused, and ends its grant (RFC 9700 4.14.2). */
const byReplayedTokens = (history: History): Withdrawal[] =>
  [...groupBy(history, ({ presents }) => presents?.token)].flatMap(([token, tries]) => {
    const [first] = tries.toSorted((one, other) => one.start - other.start);
    if (!first) return [];
    const ended = first.start + toleranceMs;
    const rotated = Math.min(...tries.filter(({ outcome }) => outcome === 'ok').map(({ end }) => end));
    const late = tries
      .filter(({ end }) => end > ended)
      .map((by): Withdrawal => {
        const certain = by.outcome === 'refused' && by.start > rotated + toleranceMs + slackMs;
        return { subject: `family:${by.presents?.family ?? ''}`, start: by.start, end: by.end, certain, by };
      });
    return [{ subject: `refresh:${token}`, start: ended, end: ended, certain: false, by: first }, ...late];
  });
