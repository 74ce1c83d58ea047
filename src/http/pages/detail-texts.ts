import { listDetailTypesOfNames, type AuthorizationDetailTypeRow } from '../../db/tables/authorization_detail_types.js';
import type { Context } from '../../domain/context.js';
import type { Environment } from '../../domain/environment.js';
import { readDetail, type Detail } from '../../lib/authorization-details.js';
import { detailSentence, languageOfSentence } from '../../lib/detail-sentence.js';
import { isLanguage, languages, type Language } from '../../lib/languages/languages.js';
import type { PageDetailText } from './application-models.js';
import type { Words } from './words.js';

/** A detail as its type's sentence says it in the language of the page, else in the environment's, else in another. */
export function detailText(
  { default_locale }: Pick<Environment, 'default_locale'>,
  { language }: Pick<Words, 'language'>,
  type: AuthorizationDetailTypeRow,
  detail: Detail,
): PageDetailText {
  const requested: Language[] = isLanguage(default_locale) ? [language, default_locale] : [language];
  const lang = languageOfSentence(type.sentence, requested);
  return { text: detailSentence(type, detail, [lang]), lang, dir: languages[lang].dir };
}

/** How details that were allowed or asked for are said; null for one whose type is gone, disabled, or says something else by now. */
export async function detailReader(
  { environment, scope }: Context,
  words: Pick<Words, 'language'>,
  details: readonly Detail[],
): Promise<(detail: Detail) => PageDetailText | null> {
  const rows = details.length === 0 ? [] : await listDetailTypesOfNames(scope, [...new Set(details.map(({ type }) => type))]);
  const types = new Map(rows.map((type) => [type.name, type]));
  return (detail) => {
    const type = types.get(detail.type);
    return type?.status === 'enabled' && typeof readDetail(type, detail) !== 'string' ? detailText(environment, words, type, detail) : null;
  };
}
