import { uuidv7 } from '../lib/random.js';
import { insert, insertMissing, remove, table, update, type Scope } from './scope.js';

/** What rows have that are created, changed and deleted one by one. */
export type RecordRow = { environment_id: string; id: string; version: number; created_at: Date; updated_at: Date };

/** What a new one has from the start. */
export const newStamps = (now: Date) => ({ id: uuidv7(now.getTime()), created_at: now, updated_at: now });

/**
 * What tables of such rows have in common: each of their files exports, under names of its own, what is used.
 * @param asStored the row as the driver takes it, for tables with lists in `jsonb` columns
 */
export const rowFunctions = <Row extends { id: string }>(name: string, asStored = (row: Partial<Row>) => row) => {
  const rowOf = (scope: Scope, id: string) => table<Row>(scope, name).where({ id } as never);
  return {
    find: async (scope: Scope, id: string) => ((await rowOf(scope, id).first()) as Row | undefined) ?? null,
    /** The same, held until the transaction ends. */
    lock: async (scope: Scope, id: string) => ((await rowOf(scope, id).forUpdate().first()) as Row | undefined) ?? null,
    /** @throws {Duplicate} where a unique index refuses it */
    insert: (scope: Scope, row: Partial<Row>) => insert<Row>(scope, name, asStored(row)),
    /** The row as it is then; null when there is none. @param versioned false where the version stays, as for what a check has seen */
    update: (scope: Scope, id: string, changes: Partial<Row>, versioned = true) =>
      update<Row>(scope, name, { id } as Partial<Row>, asStored(changes), versioned),
    /** Whether there was one. */
    remove: async (scope: Scope, id: string) => (await remove<Row>(scope, name, { id } as Partial<Row>)) > 0,
  };
};

/**
 * What tables that link records have in common. A link that is there already stays.
 * @param owner the column of the record whose links they are, `target` that of what it is linked to, in `targets`
 */
export const linkFunctions = <Target>(name: string, owner: string, target: string, targets: string) => {
  const linksOf = (scope: Scope, id: string) => table(scope, name).where(`${name}.${owner}` as never, id);
  return {
    /** What it is linked to, by name. */
    list: async (scope: Scope, id: string): Promise<Target[]> => {
      const linked = linksOf(scope, id).join(`${targets} as t`, (on) =>
        on.on('t.environment_id', `${name}.environment_id`).andOn('t.id', `${name}.${target}`),
      );
      return (await linked.orderBy('t.name').select('t.*')) as unknown as Target[];
    },
    listIds: async (scope: Scope, id: string): Promise<string[]> => (await linksOf(scope, id).orderBy(target).pluck(target)) as string[],
    add: (scope: Scope, id: string, ids: readonly string[]): Promise<void> =>
      insertMissing(scope, name, ids.map((one) => ({ [owner]: id, [target]: one }))), // prettier-ignore
    remove: async (scope: Scope, id: string, ids: readonly string[]): Promise<void> => {
      scope.touched.add(name);
      await linksOf(scope, id)
        .whereIn(target as never, [...ids])
        .delete();
    },
  };
};
