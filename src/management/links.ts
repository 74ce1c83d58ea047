import type { Actor } from '../domain/actor.js';
import type { LinkChange } from '../domain/changes.js';
import type { Context } from '../domain/context.js';
import type { ToMany, ToOne } from './resource.js';

/** The record whose id is in a column, which is called as its type. */
export const toOne = (to: string, description: string, more: Partial<ToOne> = {}): ToOne => ({
  kind: 'one',
  to,
  column: `${to}_id`,
  description,
  include: true,
  ...more,
});

/** The records that hold this one's id in their column `foreign`. */
export const toMany = (to: string, foreign: string, description: string, more: Partial<ToMany> = {}): ToMany => ({
  kind: 'many',
  to,
  by: { foreign },
  description,
  ...more,
});

/** Those that a link table names, `near` being the column of this one's id: named in writes, and changed through the relationship URL. */
export const toLinked = <Row, Target>(
  to: string,
  { table, near }: { readonly table: string; readonly near: string },
  description: string,
  run: (tx: Context, actor: Actor, row: Row, change: LinkChange<Target>) => Promise<unknown>,
  more: Partial<Pick<NonNullable<ToMany['change']>, 'needs' | 'touch'>> = {},
): ToMany => ({
  kind: 'many',
  to,
  by: { table, near, far: `${to}_id` },
  description,
  include: true,
  write: true,
  change: {
    touch: 'reach',
    replaces: true,
    run: (tx, actor, row, change) => run(tx, actor, row as Row, change as LinkChange<Target>),
    ...more,
  },
});
