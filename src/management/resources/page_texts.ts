import { z } from 'zod';
import { createPageText, pageTextProblems, updatePageText, type PageTextInput } from '../../domain/environments/page-texts.js';
import { noReach } from '../../domain/reach/reach.js';
import { removePageText, type PageTextRow } from '../../db/tables/page_texts.js';
import { languageTags } from '../../lib/languages/languages.js';
import { isPageTextKey, maxOwnText } from '../../lib/languages/own-texts.js';
import { boundedText, equalTo, stamps, stampSorts, textSort } from '../fields.js';
import { resource } from '../declaration.js';
import { changed } from '../resource.js';

const key = boundedText(64).refine((name) => isPageTextKey(name), {
  message: 'must be the key of a text of the account pages, such as login.title (docs/reference/page-texts.md lists them)',
  params: { code: 'invalid_value' },
});
const locale = z.enum(languageTags);

export const page_texts = resource<PageTextRow, PageTextInput, Partial<Pick<PageTextInput, 'text'>>>({
  type: 'page_text',
  path: 'page_texts',
  description:
    'Texts of the pages of sign-in, registration, account and consent that the environment says otherwise, one for each key and language: plain text in [ICU MessageFormat](https://unicode-org.github.io/icu/userguide/format_parse/messages/). Deleting one brings the built-in text back. Whoever writes them tells people what to do where they sign in: give the permission to those alone whom you would let do that.',
  attributes: z.object(stamps),
  // Words alone let nobody in: where links and buttons lead is not theirs to say.
  reach: { of: () => noReach },
  settable: {
    key: ['plain', key, 'needed and fixed'],
    locale: ['plain', locale, 'needed and fixed'],
    text: ['plain', boundedText(maxOwnText), 'needed'],
  },
  filters: { key: equalTo('key', boundedText(64), 'The text.'), locale: equalTo('locale', locale, 'The language.') },
  sorts: { ...stampSorts('page_texts'), key: textSort('page_texts.key') },
  create: {
    problems: (_ctx, given) => pageTextProblems(given),
    run: async (tx, _actor, input) => ({ row: await createPageText(tx, input) }),
  },
  update: {
    problems: (_ctx, given, { key: of, locale: language }) => pageTextProblems({ key: of, locale: language, ...given }),
    run: async (tx, _actor, row, input) => ({ row: changed(await updatePageText(tx, row.id, input)) }),
  },
  remove: { run: async (tx, _actor, row) => void (await removePageText(tx.scope, row.id)) },
  display: ({ key: of, locale: language }) => `${of} (${language})`,
});
