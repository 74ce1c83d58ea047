/**
 * A column of rows as an array literal of PostgreSQL, for values that need no quotes: ids, numbers, booleans and words of the code. `pg` would look
 * at each value on its own and quote it.
 */
export function plainArray<Row>(rows: readonly Row[], of: (row: Row) => string | number | boolean | null): string {
  let list = '';
  for (const row of rows) list += `,${of(row) ?? 'NULL'}`;
  return `{${list.slice(1)}}`;
}
