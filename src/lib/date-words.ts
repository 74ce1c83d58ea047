import type { Language } from './languages/languages.js';
import { localeOf } from './languages/messages.js';
import { memo } from './memo.js';

type Formats = { readonly date: Intl.DateTimeFormat; readonly time: Intl.DateTimeFormat; readonly both: Intl.DateTimeFormat };

const formatsOf = memo((language: Language): Formats => {
  const locale = language === 'en' ? 'en-GB' : localeOf(language);
  const options = { timeZone: 'UTC' } as const;
  return {
    date: new Intl.DateTimeFormat(locale, { ...options, dateStyle: 'long' }),
    time: new Intl.DateTimeFormat(locale, { ...options, timeStyle: 'short' }),
    both: new Intl.DateTimeFormat(locale, { ...options, dateStyle: 'long', timeStyle: 'short' }),
  };
});

/** `21 November 2026` for an ISO 8601 time, in UTC. */
export const dateWords = (iso: string, language: Language = 'en'): string => formatsOf(language).date.format(new Date(iso));

/** `21 November 2026 at 09:05 UTC` for an ISO 8601 time. */
export function dateTimeWords(iso: string, language: Language = 'en'): string {
  const at = new Date(iso);
  const { date, time, both } = formatsOf(language);
  // The English of one data set has "at" there, that of another has not.
  return language === 'en' ? `${date.format(at)} at ${time.format(at)} UTC` : `${both.format(at)} UTC`;
}

/** `09:05 UTC` for an ISO 8601 time. */
export const timeWords = (iso: string): string => `${formatsOf('en').time.format(new Date(iso))} UTC`;
