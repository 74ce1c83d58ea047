import type { Knex } from 'knex';
import type { Language } from '../../lib/languages/languages.js';
import { rowFunctions, type RecordRow } from '../records.js';
import { holdLock, table, type Scope } from '../scope.js';

/** A row of `page_texts`: what an environment says in the place of one built-in text. */
export type PageTextRow = RecordRow & {
  /** Of data/languages/en.json. */
  key: string;
  locale: Language;
  text: string;
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

/** @throws {Duplicate} `page_texts_key` when there is one of the key in the language */
export const { insert: insertPageText, update: changePageText, remove: removePageText } = rowFunctions<PageTextRow>('page_texts');
