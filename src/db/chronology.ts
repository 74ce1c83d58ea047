import type { Condition, SortKey, Source } from './list-source.js';

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
