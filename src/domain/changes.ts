import { isDeepStrictEqual } from 'node:util';

/** The members of `before` that are different in `after`: `previous_attributes` of an `*.updated` event. */
export function previousAttributes(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = Object.keys(before).filter((name) => name !== 'updated_at' && !isDeepStrictEqual(before[name], after[name]));
  return Object.fromEntries(names.map((name) => [name, before[name]]));
}
