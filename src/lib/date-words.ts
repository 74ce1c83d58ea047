import type { Language } from './languages/languages.js';
import { localeOf } from './languages/messages.js';

type Formats = { readonly date: Intl.DateTimeFormat; readonly time: Intl.DateTimeFormat; readonly both: Intl.DateTimeFormat };

const made = new Map<Language, Formats>();

function formatsOf(language: Language): Formats {
  const known = made.get(language);
  if (known) return known;
  const locale = language === 'en' ? 'en-GB' : localeOf(language);
  const options = { timeZone: 'UTC' } as const;
  const formats: Formats = {
    date: new Intl.DateTimeFormat(locale, { ...options, dateStyle: 'long' }),
    time: new Intl.DateTimeFormat(locale, { ...options, timeStyle: 'short' }),
    both: new Intl.DateTimeFormat(locale, { ...options, dateStyle: 'long', timeStyle: 'short' }),
  };
  made.set(language, formats);
  return formats;
}

/** `21 November 2026` for an ISO 8601 time, in UTC. */
export function dateWords(iso: string, language: Language = 'en'): string {
  return formatsOf(language).date.format(new Date(iso));
}

/** `21 November 2026 at 09:05 UTC` for an ISO 8601 time. */
export function dateTimeWords(iso: string, language: Language = 'en'): string {
  const at = new Date(iso);
  const { date, time, both } = formatsOf(language);
  // The English of one data set has "at" there, that of another has not.
  return language === 'en' ? `${date.format(at)} at ${time.format(at)} UTC` : `${both.format(at)} UTC`;
}
