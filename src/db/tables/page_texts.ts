import type { Knex } from 'knex';
import type { Language } from '../../lib/languages/languages.js';
import { holdLock, insert, remove, table, update, type Scope } from '../scope.js';

/** A row of `page_texts`: what an environment says in the place of one built-in text. */
export type PageTextRow = {
  environment_id: string;
  id: string;
  /** Of data/languages/en.json. */
  key: string;
  locale: Language;
  text: string;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** All texts of an environment, for what the process remembers of it. */
export const listPageTexts = (knex: Knex, environment_id: string): Promise<Pick<PageTextRow, 'id' | 'key' | 'locale' | 'text'>[]> =>
  knex<PageTextRow>('page_texts').where({ environment_id }).select('id', 'key', 'locale', 'text');

/** How many texts of its own the environment has: so many until the transaction ends, but for its own. */
export async function countPageTexts(scope: Scope): Promise<number> {
  await holdLock(scope, 'page_texts');
  const [row] = (await table<PageTextRow>(scope, 'page_texts').count('* as count')) as unknown as { count: string }[];
  return Number(row?.count ?? 0);
}

/** Stores a text. @throws {Duplicate} `page_texts_key` when there is one of the key in the language */
export const insertPageText = (scope: Scope, row: Partial<PageTextRow>): Promise<PageTextRow> =>
  insert<PageTextRow>(scope, 'page_texts', row);

/** Changes a text and returns it as it is then; null when there is none. */
export const changePageText = (scope: Scope, id: string, changes: Partial<PageTextRow>): Promise<PageTextRow | null> =>
  update<PageTextRow>(scope, 'page_texts', { id }, changes);

/** Deletes a text. Returns whether there was one. */
export const removePageText = async (scope: Scope, id: string): Promise<boolean> =>
  (await remove<PageTextRow>(scope, 'page_texts', { id })) > 0;
