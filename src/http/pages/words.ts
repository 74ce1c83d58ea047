import type { Request } from 'express';
import { dateTimeWords, dateWords } from '../../lib/date-words.js';
import { languages, nameOrder, type Language } from '../../lib/languages/languages.js';
import { format, formatToPieces, type Message, type MessageKey, type OwnTexts, type Values } from '../../lib/languages/messages.js';
import { languageOf } from './language.js';
import { memo, ofEach } from '../../lib/memo.js';

/** What a view shows in the place of a placeholder otherwise than as plain text; `views/partials/rich.ejs` escapes each. */
export type Rich =
  | { readonly strong: string }
  | { readonly href: string; readonly text: string; readonly newTab?: boolean }
  /** an IP address, or what is said when there is none */
  | { readonly address: string }
  /** ISO 8601; `as` is how the reader's browser shows it */
  | { readonly time: string; readonly as?: 'time' | 'date' };

/** A time with its words. */
type Piece = Exclude<Rich, { time: string }> | { readonly time: string; readonly as?: 'time' | 'date'; readonly text: string };

/** The texts of one language, and how it writes times. */
export type Words = {
  readonly language: Language;
  readonly dir: 'ltr' | 'rtl';
  readonly nameOrder: ReturnType<typeof nameOrder>;
  t(key: MessageKey, values?: Values): string;
  say(message: Message): string;
  /** The text of the key in pieces, for `views/partials/rich.ejs`. */
  rich(key: MessageKey, fills: Readonly<Record<string, Rich | string | number>>): (string | Piece)[];
  /** An ISO 8601 time in UTC, the day alone. */
  dateWords(iso: string): string;
  /** An ISO 8601 time in UTC, to the minute. */
  dateTimeWords(iso: string): string;
  /** What `public/account.js` says, and `public/passkeys.js` on pages that ask for passkeys, by its names there. */
  scriptWords(passkeys: boolean): Readonly<Record<string, string>>;
};

const scriptNames = ['hide', 'hide_password', 'show', 'show_password'] as const;
const passkeyNames = ['away', 'failed', 'go_on', 'has_passkey', 'not_made', 'not_used'] as const;

function createWords(language: Language, own: OwnTexts | null): Words {
  const date = (iso: string) => dateWords(iso, language);
  const dateTime = (iso: string) => dateTimeWords(iso, language);
  const scriptWords = memo((passkeys: boolean): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...scriptNames, ...(passkeys ? passkeyNames : [])].map((name) => [name, format(language, `script.${name}`, {}, own)]),
    ),
  );
  const withWords = (part: Rich): Piece =>
    'time' in part ? { ...part, text: part.as === 'date' ? date(part.time) : dateTime(part.time) } : part;
  return {
    language,
    dir: languages[language].dir,
    nameOrder: nameOrder(language),
    t: (key, values) => format(language, key, values, own),
    say: ({ key, values }) => format(language, key, values, own),
    rich(key, fills) {
      const entries = Object.entries(fills).map(([name, part]) => [name, typeof part === 'object' ? withWords(part) : part] as const);
      return formatToPieces<Piece>(language, key, Object.fromEntries(entries), own);
    },
    dateWords: date,
    dateTimeWords: dateTime,
    scriptWords,
  };
}

/** The words of the languages, by the texts that come before the built-in ones; they go with these. */
const wordsWith = ofEach((own: OwnTexts) => memo((language: Language) => createWords(language, own)));
const builtIn = memo((language: Language) => createWords(language, null));

/** The words of a language. @param own texts of the environment that come before the built-in ones */
export const wordsIn = (language: Language, own: OwnTexts | null = null): Words =>
  own === null ? builtIn(language) : wordsWith(own)(language);

/** The texts that the environment of the request has of its own; null before it is known which that is. */
const ownTexts = ({ ctx }: Partial<Request>): OwnTexts | null => ctx?.environment.page_texts ?? null;

/** The words for whoever the request is answered to. @param language that of the person unless told */
export const wordsOf = (req: Request, language: Language = languageOf(req)): Words => wordsIn(language, ownTexts(req));
