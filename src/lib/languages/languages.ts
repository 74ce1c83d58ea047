import { match } from '@formatjs/intl-localematcher';
import { own } from '../named.js';

/** The languages that people are spoken to in: the BCP 47 tag, what its speakers call it, and the direction that it is written in. */
export const languages = {
  en: { name: 'English', dir: 'ltr' },
  de: { name: 'Deutsch', dir: 'ltr' },
  fr: { name: 'Français', dir: 'ltr' },
  es: { name: 'Español', dir: 'ltr' },
  'pt-BR': { name: 'Português (Brasil)', dir: 'ltr' },
  it: { name: 'Italiano', dir: 'ltr' },
  nl: { name: 'Nederlands', dir: 'ltr' },
  pl: { name: 'Polski', dir: 'ltr' },
  tr: { name: 'Türkçe', dir: 'ltr' },
  uk: { name: 'Українська', dir: 'ltr' },
  ja: { name: '日本語', dir: 'ltr' },
  ko: { name: '한국어', dir: 'ltr' },
  'zh-CN': { name: '简体中文', dir: 'ltr' },
  ar: { name: 'العربية', dir: 'rtl' },
  he: { name: 'עברית', dir: 'rtl' },
} as const satisfies Record<string, { name: string; dir: 'ltr' | 'rtl' }>;

export type Language = keyof typeof languages;

const familyFirst: ReadonlySet<Language> = new Set(['ja', 'ko', 'zh-CN']);

type NameMember = 'first_name' | 'last_name';

/** The order in which a language says a person's names, and in which forms ask for them. */
export const nameOrder = (language: Language): readonly [NameMember, NameMember] =>
  familyFirst.has(language) ? ['last_name', 'first_name'] : ['first_name', 'last_name'];

/** The full name as the language says it; empty for somebody without one. */
export const fullName = (language: Language, names: Readonly<Record<NameMember, string | null>>): string =>
  nameOrder(language)
    .map((name) => names[name])
    .filter(Boolean)
    .join(' ');

export const languageTags = Object.keys(languages) as [Language, ...Language[]];

/** Whether the text is the tag of one of the languages, written as here. */
export const isLanguage = (tag: unknown): tag is Language => typeof tag === 'string' && own(languages, tag) !== undefined;

/** What a range may end at, and the language that is meant: nearer than any other are the one Portuguese and the one Chinese that there is. */
const ends: ReadonlyMap<string, Language> = new Map<string, Language>([
  ...languageTags.map((tag) => [tag, tag] as const),
  ['pt', 'pt-BR'],
  ['zh', 'zh-CN'],
  ['zh-Hans', 'zh-CN'],
]);

/** The most language ranges of a request that are read, and the most characters of each. */
const maxRanges = 20;
const maxLength = 35;
const none = 'und';

/** The tag as BCP 47 writes it; null for what is none. Traditional characters are another script, which readers of the simplified ones are not asked to take. */
function canonical(range: string): string | null {
  if (range.length > maxLength || !/^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i.test(range)) return null;
  try {
    const locale = new Intl.Locale(range);
    return locale.language === 'zh' && locale.maximize().script === 'Hant' ? null : locale.baseName;
  } catch {
    return null;
  }
}

/** The language for the ranges that somebody asks for, the best first (RFC 4647 3.4, lookup); null when it is none of them. */
export function lookUp(ranges: readonly string[]): Language | null {
  // As nearly everybody's first one is, and the environment's always: it ends at itself.
  const first = ends.get(ranges[0] ?? '');
  if (first !== undefined) return first;
  const preferred = ranges.slice(0, maxRanges).flatMap((range) => canonical(range) ?? []);
  if (preferred.length === 0) return null;
  return ends.get(match(preferred, [...ends.keys()], none, { algorithm: 'lookup' })) ?? null;
}
