import { groupBy, type History, type Operation, type Outcome, type Violation } from '../history.js';

const rule = 'R3 no acknowledged write is missing';

/** All tries to leave one value in a record: a repetition under the same `Idempotency-Key` is the same write. */
type Write = {
  readonly value: string;
  readonly tries: readonly Operation[];
  readonly outcome: Outcome;
  readonly start: number;
  /** By when it was done, as far as anybody knows: its first ok answer, or the first read or delivery that shows its value; else infinity. */
  readonly doneBy: number;
};

/** R3 of records: a read that began after an acknowledged write shows it, or what was written later; what an unknown write left may appear at any time. */
export function checkRecordsKept(history: History): Violation[] {
  const about = groupBy(history, ({ writes, reads, delivers }) => writes?.record ?? reads?.record ?? delivers?.record);
  return [...about].flatMap(([record, operations]) => {
    const writes = writesOf(operations);
    const removals = operations.filter((one) => one.writes?.value === null && one.outcome !== 'refused');
    const reads = operations.filter((one) => one.reads !== undefined && one.outcome === 'ok');
    return reads.flatMap((read) => {
      const wrong = problemOf(read, writes, removals);
      return wrong ? [{ rule, subject: record, ...wrong }] : [];
    });
  });
}

const shows = (operation: Operation, value: string) =>
  (operation.reads?.value === value && operation.outcome === 'ok') || operation.delivers?.value === value;

function writesOf(operations: readonly Operation[]): Write[] {
  const byValue = groupBy(operations, ({ writes }) => writes?.value ?? undefined);
  return [...byValue].map(([value, tries]) => {
    const outcomes = new Set(tries.map(({ outcome }) => outcome));
    const seen = operations.filter((one) => shows(one, value));
    const done = [...tries.filter(({ outcome }) => outcome === 'ok'), ...seen];
    return {
      value,
      tries,
      outcome: outcomes.has('ok') ? 'ok' : outcomes.has('unknown') ? 'unknown' : 'refused',
      start: Math.min(...tries.map(({ start }) => start)),
      doneBy: Math.min(...done.map(({ end }) => end)),
    };
  });
}

/** The operation that shows by when a write was done. */
const witness = (write: Write) => write.tries.find(({ outcome }) => outcome === 'ok') ?? (write.tries[0] as Operation);

function problemOf(
  read: Operation,
  writes: readonly Write[],
  removals: readonly Operation[],
): Pick<Violation, 'says' | 'operations'> | null {
  const value = read.reads?.value ?? null;
  if (value === null) {
    const lost = writes.find(({ doneBy }) => doneBy < read.start);
    if (!lost || removals.some(({ start }) => start < read.end)) return null;
    return { says: 'was acknowledged, nobody removed it, and it is not there', operations: [witness(lost), read] };
  }
  const write = writes.find((one) => one.value === value);
  if (!write) return { says: `shows "${value}", which nobody wrote`, operations: [read] };
  if (write.outcome === 'refused') return { says: 'shows a value that was refused', operations: [...write.tries, read] };
  const removed = removals.find(({ outcome, end }) => outcome === 'ok' && end < read.start);
  if (removed) return { says: 'is there again after it was removed', operations: [removed, read] };
  const newer = writes.find(({ tries, start, doneBy }) => start > write.doneBy && doneBy < read.start && tries.length > 0);
  return newer ? { says: 'shows an older value than the one acknowledged', operations: [witness(write), witness(newer), read] } : null;
}
