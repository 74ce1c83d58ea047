import { inEnglish } from '../../lib/languages/english.js';
import { catalogueOf, message, type Message, type MessageKey } from '../../lib/languages/messages.js';
import { named, own } from '../../lib/named.js';
import type { Words } from './words.js';

/** The codes of refusals that have a sentence for the person: what is wrong and, where it isn't obvious, what to do. */
export type ErrorTextCode = MessageKey extends infer Key ? (Key extends `error.${infer Code}` ? Code : never) : never;

const prefix = 'error.';

/** Those sentences in English, by code. */
export const errorTexts = Object.fromEntries(
  Object.entries(catalogueOf('en')).flatMap(([key, text]) => (key.startsWith(prefix) ? [[key.slice(prefix.length), text]] : [])),
) as Readonly<Record<ErrorTextCode, string>>;

export const errorMessage = (code: ErrorTextCode): Message => message(`error.${code}`);

/** The sentence for any code; for one without, a general one, never the bare code. */
export const messageOf = (code: string): Message =>
  errorMessage(own(errorTexts, code) === undefined ? 'invalid_value' : (code as ErrorTextCode));

export const errorText = (code: string): string => inEnglish(messageOf(code));

/** JSON's `{field: [codes]}` as the pages' `{field: sentence}`; a too short password names the minimum. */
export function fieldErrorTexts(
  { say, t }: Pick<Words, 'say' | 't'>,
  fields: Record<string, readonly string[]>,
  limits: { password_min_length?: number } = {},
): Record<string, string> {
  const sentence = (code: string) =>
    code === 'password_too_short' && limits.password_min_length
      ? t('refusal.password_min', { count: limits.password_min_length })
      : say(messageOf(code));
  const joined = (codes: readonly string[]) => codes.map(sentence).reduce((first, second) => t('common.sentences', { first, second }));
  return named(Object.fromEntries(Object.entries(fields).map(([name, codes]) => [name, joined(codes)])));
}
