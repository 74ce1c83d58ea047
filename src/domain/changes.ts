import { isDeepStrictEqual } from 'node:util';

/** The members of `before` that are different in `after`: `previous_attributes` of an `*.updated` event. */
export function previousAttributes(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = Object.keys(before).filter((name) => name !== 'updated_at' && !isDeepStrictEqual(before[name], after[name]));
  return Object.fromEntries(names.map((name) => [name, before[name]]));
}

/** What a to-many relationship gets and loses, or exactly what it has from then on. */
export type LinkChange<Target> = {
  readonly add?: readonly Target[];
  readonly remove?: readonly Target[];
  readonly replace?: readonly Target[] | undefined;
};

/** The ids that a change of links adds and removes in fact, by those that are there. */
export function linkDifferences(held: readonly string[], { add = [], remove = [], replace }: LinkChange<{ readonly id: string }>) {
  const [requested, gone] = [(replace ?? add).map(({ id }) => id), new Set(remove.map(({ id }) => id))];
  return {
    added: requested.filter((id) => !held.includes(id)),
    removed: held.filter((id) => (replace ? !requested.includes(id) : gone.has(id))),
  };
}
