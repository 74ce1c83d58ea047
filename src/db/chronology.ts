import { boundedBy, type Condition, type SortKey, type Source } from './list-source.js';

/** By less than this the clocks of two processes that wrote to one row are apart. */
const apartMs = 600_000;

/**
 * What ranges of one time say of the time that a list is sorted by: what was made since Monday has changed since Monday. With it the list begins where its rows
 * can be, rather than at its end. Exact to ten minutes, which is why these stand beside the conditions and don't replace them.
 */
export function impliedRanges(conditions: readonly Condition[], source: Source, sort: SortKey | undefined): Condition[] {
  const { chronology = [], table } = source;
  const place = (column: string) => chronology.findIndex((one) => column === one || column === `${table}.${one}`);
  const sorted = sort === undefined ? -1 : place(sort.expression);
  if (sorted < 0) return [];
  return conditions.flatMap(({ range }): Condition[] => {
    const at = range === undefined ? -1 : place(range.column);
    if (range === undefined || at < 0 || at === sorted) return [];
    const from = range.comparison.startsWith('g');
    // The sorted time comes after one that is bounded from below, or before one that is bounded from above: then it is bounded too.
    if (from !== at < sorted) return [];
    const bound = new Date(range.value.getTime() + (from ? -apartMs : apartMs));
    const column = `${table}.${chronology[sorted] as string}`;
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
  const { comparison, column } = range;
  if (comparison.startsWith('l') !== sort.descending) return condition;
  // PostgreSQL's times are whole microseconds.
  const step = { lt: "- interval '1 microsecond'", lte: '', gt: "+ interval '1 microsecond'", gte: '' }[comparison];
  const [operator, nearer] = sort.descending ? ['<=', 'least'] : ['>=', 'greatest'];
  return (query) =>
    void query.whereRaw(
      `${sort.expression} ${operator} ${nearer}(?::timestamptz, ?::timestamptz ${step}) and ${source.table}.${column} is not null`,
      [value, range.value],
    );
}
