import { named, own } from '../../lib/named.js';

export type Texts = Readonly<Record<string, string>>;

/** A language's texts, and those of them that are still English: each with the English text that was put in. */
export type Translation = { readonly texts: Texts; readonly untranslated: Texts };

/** What a language has once it has the keys of English: its own texts, and English in the place of what nobody has translated. */
export function withKeysOf(english: Texts, { texts, untranslated }: Translation): Translation {
  const isOpen = (key: string) => own(texts, key) === undefined || own(texts, key) === own(untranslated, key);
  const open = Object.entries(english).filter(([key]) => isOpen(key));
  return { texts: named({ ...texts, ...Object.fromEntries(open) }), untranslated: Object.fromEntries(open) };
}

/** The texts in the layout of English's file: its order and its empty lines. */
export const inLayoutOf = (english: string, texts: Texts): string =>
  english.replaceAll(/"([^"\\]+)": "(?:[^"\\]|\\.)*"/g, (_, key: string) => `"${key}": ${JSON.stringify(own(texts, key))}`);
