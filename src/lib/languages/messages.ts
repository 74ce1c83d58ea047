import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntlMessageFormat } from 'intl-messageformat';
import type english from '../../../data/languages/en.json';
import { named } from '../named.js';
import { packageRoot } from '../package-root.js';
import { languages, type Language } from './languages.js';
import { memo } from '../memo.js';

/** The names of all texts that people are shown; each has one in every language (`data/languages/<tag>.json`). */
export type MessageKey = keyof typeof english;

/** The texts of one language, in ICU MessageFormat, as plain text: no markup. */
export type Catalogue = Readonly<Record<MessageKey, string>>;

/** What the placeholders of a text stand for; a message is put in the same language first. */
export type Values = Readonly<Record<string, string | number | Message>>;

/** A text that is yet to be put in somebody's language. */
export type Message = { readonly key: MessageKey; readonly values: Values };

export const message = (key: MessageKey, values: Values = {}): Message => ({ key, values });

const waits = {
  code: ['refusal.wait_minutes', 'refusal.wait_seconds'],
  requests: ['refusal.too_many_requests_minutes', 'refusal.too_many_requests_seconds'],
} as const;

/** How long somebody has to wait for another code, or after too many requests: in minutes from a minute and a half on, rounded up. */
export function waitMessage(what: keyof typeof waits, seconds: number): Message {
  const [inMinutes, inSeconds] = waits[what];
  return seconds > 90 ? message(inMinutes, { count: Math.ceil(seconds / 60) }) : message(inSeconds, { count: seconds });
}

const directory = join(packageRoot, 'data', 'languages');

export const catalogueOf = memo(
  (language: Language) => named(JSON.parse(readFileSync(join(directory, `${language}.json`), 'utf8')) as Catalogue) as Catalogue,
);

/** A text without placeholders, quotes of ICU's or plurals is what it says. */
const isPlain = (text: string): boolean => !text.includes('{') && !text.includes("''");

/** The locale by which numbers and dates are written: digits as in codes and keyboards also where a language has its own. */
export const localeOf = (language: Language): string => (language === 'ar' ? 'ar-u-nu-latn' : language);

const formatsOf = memo((language: Language) => memo((text: string) => createFormat(language, text)));

/** A value that stays a text of its own in a line of the other direction (Unicode UAX 9, first strong isolate). */
const isolated = (value: string): string => `\u2068${value}\u2069`;

/** Texts that stand in the place of built-in ones. */
export type OwnTexts = {
  /** The text of the key, ready to be filled in; null: the built-in one is shown. */
  formatOf(language: Language, key: MessageKey): IntlMessageFormat | null;
};

/** The text of a language as something to fill in: nothing in it is taken for a tag. @throws {SyntaxError} when it is no ICU MessageFormat */
export const createFormat = (language: Language, text: string): IntlMessageFormat =>
  new IntlMessageFormat(text, localeOf(language), undefined, { ignoreTag: true });

/** The values as they go into a text of the language. */
function placed(language: Language, values: Values, own: OwnTexts | null): Record<string, string | number> {
  const rtl = languages[language].dir === 'rtl';
  const substitute = (value: string | number | Message) => {
    if (typeof value === 'object') return format(language, value.key, value.values, own);
    return rtl && typeof value === 'string' ? isolated(value) : value;
  };
  return named(Object.fromEntries(Object.entries(values).map(([name, value]) => [name, substitute(value)])));
}

/** The text of the key in the language. @param own texts that come before the built-in ones @throws {Error} when a value is missing */
export function format(language: Language, key: MessageKey, values: Values = {}, own: OwnTexts | null = null): string {
  const changed = own?.formatOf(language, key);
  if (changed) return String(changed.format(placed(language, values, own)));
  const text = catalogueOf(language)[key];
  return isPlain(text) ? text : String(formatsOf(language)(text).format(placed(language, values, own)));
}

/** The same in pieces: the text between the placeholders, and what each of `substitutes` stands for, as it was given. */
export function formatToPieces<Piece extends object>(
  language: Language,
  key: MessageKey,
  substitutes: Readonly<Record<string, Piece | string | number>>,
  own: OwnTexts | null = null,
): (string | Piece)[] {
  const values = Object.entries(substitutes);
  const plain = placed(
    language,
    Object.fromEntries(values.filter((entry): entry is [string, string | number] => typeof entry[1] !== 'object')),
    own,
  );
  const text = own?.formatOf(language, key) ?? formatsOf(language)(catalogueOf(language)[key]);
  const pieces = text.formatToParts<Piece>({ ...named(substitutes), ...plain });
  return pieces.map(({ value }) => (typeof value === 'object' ? (value as Piece) : String(value)));
}
