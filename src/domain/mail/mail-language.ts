import { canonicalLocale, lookupRanges } from '../../lib/language-range.js';
import { lookUp, type Language } from '../../lib/languages/languages.js';

export type MailLanguage = {
  /** The languages of templates that serve, the best first (RFC 4647 3.4). */
  readonly templates: readonly string[];
  /** The language of the built-in text. */
  readonly builtIn: Language;
};

/**
 * The language of a mail, for templates and built-in texts alike (specification 15.11.2): of those that are wanted, the best first, the first that has a built-in
 * text. One before it that has none serves where the environment has a template in it. English when none of them has a text.
 * @param preferred BCP 47 tags as people, providers and pages say them; null for what isn't known
 */
export function mailLanguage(preferred: readonly (string | null)[]): MailLanguage {
  const templates: string[] = [];
  for (const tag of preferred) {
    const canonical = tag === null ? null : canonicalLocale(tag);
    if (canonical === null) continue;
    templates.push(...lookupRanges(canonical));
    const builtIn = lookUp([canonical]);
    if (builtIn !== null) return { templates: [...new Set([...templates, builtIn])], builtIn };
  }
  return { templates: [...new Set([...templates, 'en'])], builtIn: 'en' };
}
