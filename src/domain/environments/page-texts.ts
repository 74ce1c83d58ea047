import { newStamps } from '../../db/records.js';
import { changePageText, countPageTexts, insertPageText, listPageTexts, type PageTextRow } from '../../db/tables/page_texts.js';
import type { Language } from '../../lib/languages/languages.js';
import type { OwnTexts } from '../../lib/languages/messages.js';
import { createOwnTexts, isPageTextKey, textProblem } from '../../lib/languages/own-texts.js';
import type { Context, Deps } from '../context.js';
import { Refusal, refuseDuplicates, type Problem } from '../refusal.js';

export type PageTextInput = { readonly key: string; readonly locale: Language; readonly text: string };

const maxTexts = 2_000;

const duplicates = { page_texts_key: { attribute: 'key', detail: 'This text is changed in this language already.' } } as const;

/** Changes a built-in text: pages say it from the commit on. @throws {Refusal} 409 `already_exists`, `too_many` */
export async function createPageText(tx: Context, input: PageTextInput): Promise<PageTextRow> {
  if ((await countPageTexts(tx.scope)) >= maxTexts)
    throw new Refusal({ status: 409, code: 'too_many', detail: `An environment has at most ${maxTexts} page texts.` });
  const row = { ...input, ...newStamps(tx.clock.now()) };
  return refuseDuplicates(duplicates, () => insertPageText(tx.scope, row));
}

/** Changes what is given; null when it is gone. */
export const updatePageText = (tx: Context, id: string, changes: { readonly text?: string }): Promise<PageTextRow | null> =>
  changePageText(tx.scope, id, { ...changes, updated_at: tx.clock.now() });

/** What speaks against a text; a text that isn't given is not looked at. */
export function pageTextProblems({ key, locale, text }: Partial<PageTextInput>): Problem[] {
  if (key === undefined || locale === undefined || text === undefined || !isPageTextKey(key)) return [];
  const problem = textProblem(key, locale, text);
  return problem ? [{ status: 422, attribute: 'text', ...problem }] : [];
}

/** The texts that the environment has in the place of built-in ones; null for none. One that doesn't fit is told in the log. */
export async function pageTextsOf({ db: { knex }, logger }: Pick<Deps, 'db' | 'logger'>, environment_id: string): Promise<OwnTexts | null> {
  const stored = await listPageTexts(knex, environment_id);
  if (stored.length === 0) return null;
  return createOwnTexts(stored, ({ id, key, locale }, { code }) =>
    logger.error({ event: 'page_text.unusable', environment_id, page_text_id: id, key, locale, code }, 'a page text does not fit its page'),
  );
}
