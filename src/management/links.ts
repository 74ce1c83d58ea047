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
