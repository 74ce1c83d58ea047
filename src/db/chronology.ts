import { beginsOf, boundedBy, type Condition, type SortKey, type Source, type TimeRange } from './list-source.js';

/** By less than this the clocks of two processes that wrote to one row are apart. */
const apartMs = 600_000;

/** Where a column stands in the chronology of the source; negative when it has no place there. */
const placeOf = (column: string, { chronology = [], table }: Source): number =>
  chronology.findIndex((one) => column === one || column === `${table}.${one}`);

const isFrom = ({ comparison }: TimeRange): boolean => comparison.startsWith('g');

/**
 * Whether no row can be in all ranges: one ends before another begins. PostgreSQL sees that only of a time that it reads the rows by; in any other order it would
 * look through all of them.
 */
export function leaveNothing(conditions: readonly Condition[], source: Source): boolean {
  const ranges = conditions.flatMap(({ range }) => range ?? []);
  return ranges.filter(isFrom).some((from) =>
    ranges.some((to) => {
      if (isFrom(to)) return false;
      const length = to.value.getTime() - from.value.getTime();
      if (from.column === to.column) return length < 0 || (length === 0 && (from.comparison === 'gt' || to.comparison === 'lt'));
      const at = placeOf(from.column, source);
      return at >= 0 && at < placeOf(to.column, source) && length < -apartMs;
    }),
  );
}

/**
 * What ranges of one time say of the time that a list is sorted by: what was made since Monday has changed since Monday. With it the list begins where its rows
 * can be, rather than at its end. Exact to ten minutes, which is why these stand beside the conditions and don't replace them.
 */
export function impliedRanges(conditions: readonly Condition[], source: Source, sort: SortKey | undefined): Condition[] {
  const sorted = sort === undefined ? -1 : placeOf(sort.expression, source);
  if (sorted < 0) return [];
  return conditions.flatMap(({ range }): Condition[] => {
    const at = range === undefined ? -1 : placeOf(range.column, source);
    if (range === undefined || at < 0 || at === sorted) return [];
    const from = isFrom(range);
    // The sorted time comes after one that is bounded from below, or before one that is bounded from above: then it is bounded too.
    if (from !== at < sorted) return [];
    const bound = new Date(range.value.getTime() + (from ? -apartMs : apartMs));
    const column = `${source.table}.${source.chronology?.[sorted] as string}`;
    return [(query) => void query.where(column, from ? '>=' : '<=', bound)];
  });
}

/**
 * The condition, beyond a position whose sorted value is given: where it is a range of just that, one bound for both. Of two on one column PostgreSQL begins at the
 * farther one, and reads all that lies between them.
 * @param sort the order of reading
 */
export function beyondOf(condition: Condition, source: Source, sort: SortKey | undefined, value: string | undefined): Condition {
  const { range, isRange } = condition;
  if (!range || !isRange || !sort || value === undefined || boundedBy(range, source) !== sort.expression) return condition;
  const { comparison } = range;
  if (isFrom(range) === sort.descending) return condition;
  // PostgreSQL's times are whole microseconds.
  const step = { lt: "- interval '1 microsecond'", lte: '', gt: "+ interval '1 microsecond'", gte: '' }[comparison];
  const [operator, nearer] = sort.descending ? ['<=', 'least'] : ['>=', 'greatest'];
  return (query) =>
    void query.whereRaw(`${sort.expression} ${operator} ${nearer}(?::timestamptz, ?::timestamptz ${step})${beginsOf(range)}`, [
      value,
      range.value,
    ]);
}
