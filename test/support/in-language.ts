import type { Language } from '../../src/lib/languages/languages.js';
import { catalogueOf, format, type MessageKey } from '../../src/lib/languages/messages.js';

type Pattern = { readonly key: MessageKey; readonly text: RegExp };

/** The English texts as patterns, with what stands in the place of each placeholder; texts with plurals are left out. */
const patterns: readonly Pattern[] = Object.entries(catalogueOf('en')).flatMap(([key, text]): Pattern[] => {
  if (text.includes(', plural')) return [];
  const seen = new Set<string>();
  const pieces = text.split(/\{(\w+)\}/).map((piece, index) => {
    if (index % 2 === 0) return piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return seen.has(piece) ? `\\k<${piece}>` : (seen.add(piece), `(?<${piece}>.+)`);
  });
  return [{ key: key as MessageKey, text: new RegExp(`^${pieces.join('')}$`) }];
});

/** How much of a text is its own words, whatever stands in its places. */
const ownWords = ({ text }: Pattern): number => text.source.replaceAll(/\(\?<\w+>\.\+\)/g, '').length;

/** Those that say most first; "{first} {second}", which fits everything, is none. */
const ordered = patterns
  .filter((one) => /\p{L}{2}/u.test(one.text.source.replaceAll(/<\w+>/g, '')))
  .toSorted((a, b) => ownWords(b) - ownWords(a));

function textIn(language: Language, english: string): string {
  for (const { key, text } of ordered) {
    const found = text.exec(english);
    if (found) return format(language, key, { ...found.groups });
  }
  return english;
}

/** The value with every text in it that the English catalogue has, in another language. */
export function inLanguage<Value>(language: Language, value: Value): Value {
  if (language === 'en') return value;
  if (typeof value === 'string') return (value.length > 300 ? value : textIn(language, value)) as Value;
  if (Array.isArray(value)) return value.map((one) => inLanguage(language, one)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inLanguage(language, one)])) as Value;
}
