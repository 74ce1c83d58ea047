import type { Request } from 'express';
import { dateTimeWords, dateWords } from '../../lib/date-words.js';
import { languages, type Language } from '../../lib/languages/languages.js';
import { format, formatToPieces, type Message, type MessageKey, type Values } from '../../lib/languages/messages.js';
import { languageOf } from './language.js';

/** What a view shows in the place of a placeholder otherwise than as plain text; `views/partials/rich.ejs` escapes each. */
export type Rich =
  | { readonly strong: string }
  | { readonly href: string; readonly text: string; readonly beside?: boolean }
  /** ISO 8601; `as` is how the reader's browser shows it */
  | { readonly time: string; readonly as?: 'time' | 'date' };

/** A time with its words. */
type Piece = Exclude<Rich, { time: string }> | { readonly time: string; readonly as?: 'time' | 'date'; readonly text: string };

/** The texts of one language, and how it writes times. */
export type Words = {
  readonly language: Language;
  readonly dir: 'ltr' | 'rtl';
  /** The text of the key. */
  t(key: MessageKey, values?: Values): string;
  say(message: Message): string;
  /** The text of the key in pieces, for `views/partials/rich.ejs`. */
  rich(key: MessageKey, parts: Readonly<Record<string, Rich | string | number>>): (string | Piece)[];
  /** An ISO 8601 time in UTC, the day alone. */
  dateWords(iso: string): string;
  /** An ISO 8601 time in UTC, to the minute. */
  dateTimeWords(iso: string): string;
  /** What `public/account.js` says, and `public/passkeys.js` on pages that ask for passkeys, by its names there. */
  scriptWords(passkeys: boolean): Readonly<Record<string, string>>;
};

const scriptNames = ['hide', 'hide_password', 'show', 'show_password'] as const;
const passkeyNames = ['away', 'failed', 'go_on', 'has_passkey', 'not_made', 'not_used'] as const;

function createWords(language: Language): Words {
  const date = (iso: string) => dateWords(iso, language);
  const dateTime = (iso: string) => dateTimeWords(iso, language);
  const withWords = (part: Rich): Piece =>
    'time' in part ? { ...part, text: part.as === 'date' ? date(part.time) : dateTime(part.time) } : part;
  return {
    language,
    dir: languages[language].dir,
    t: (key, values) => format(language, key, values),
    say: ({ key, values }) => format(language, key, values),
    rich(key, parts) {
      const entries = Object.entries(parts).map(([name, part]) => [name, typeof part === 'object' ? withWords(part) : part] as const);
      return formatToPieces<Piece>(language, key, Object.fromEntries(entries));
    },
    dateWords: date,
    dateTimeWords: dateTime,
    scriptWords: (passkeys) =>
      Object.fromEntries([...scriptNames, ...(passkeys ? passkeyNames : [])].map((name) => [name, format(language, `script.${name}`)])),
  };
}

const made = new Map<Language, Words>();

/** The words of a language. */
export function wordsIn(language: Language): Words {
  let words = made.get(language);
  if (!words) made.set(language, (words = createWords(language)));
  return words;
}

/** The words for whoever the request is answered to. */
export const wordsOf = (req: Request): Words => wordsIn(languageOf(req));
