import { dateTimeWords } from '../../lib/date-words.js';
import { languages, type Language } from '../../lib/languages/languages.js';
import { once } from '../../lib/memo.js';
import { named } from '../../lib/named.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Value } from './page-parts.js';
import type { Tone } from './tone.js';
import { terms } from './words.js';

/** Plain text; a dash for nothing. */
export const text = (value: unknown): Value =>
  value === null || value === undefined || value === '' ? nothing : { kind: 'text', text: words(value) };

/** A text of account pages, in its language. */
export const spoken = (content: string, tag: Language): Value => ({
  kind: 'text',
  text: content,
  language: { tag, dir: languages[tag].dir },
});

export const nothing: Value = { kind: 'quiet', text: '–' };

export const quiet = (value: string): Value => ({ kind: 'quiet', text: value });

export const code = (value: unknown, copy = false): Value =>
  value === null || value === undefined || value === '' ? nothing : { kind: 'code', text: words(value), copy };

export const link = (label: string, path: string): Value => ({ kind: 'link', text: label, path });

export const state = (tone: Tone, word: string): Value => ({ kind: 'state', tone, word });

/** What shows the `status` of records as an icon and a word, each by its value; one that isn't among them as it is. */
export function statusStates(states: Readonly<Record<string, readonly [Tone, string]>>): (record: ResourceObject) => Value {
  const known = named(states);
  return ({ attributes: { status } }) => state(...(known[words(status)] ?? (['quiet', words(status)] as const)));
}

export const stack = (...values: Value[]): Value => ({ kind: 'stack', values });

export const number = (value: unknown): Value => (typeof value === 'number' ? { kind: 'number', text: figure(value) } : nothing);

export const yesNo = (value: unknown): Value => ({ kind: 'text', text: value === true ? terms.yes : terms.no });

export const web = (value: unknown): Value => (typeof value === 'string' && value !== '' ? { kind: 'web', text: value } : nothing);

export const lines = (value: unknown): Value =>
  Array.isArray(value) && value.length > 0 ? { kind: 'lines', items: value.map(words) } : nothing;

/** Up to `most` words of a list, and how many there are beyond. */
export function tags(value: unknown, most = 50): Value {
  if (!Array.isArray(value) || value.length === 0) return nothing;
  const items = value.map(words);
  return { kind: 'tags', items: items.slice(0, most), more: Math.max(0, items.length - most) };
}

export const json = (value: unknown): Value => ({ kind: 'pre', text: JSON.stringify(value, null, 2) });

/** `12,345` */
export const figure = (value: number): string => value.toLocaleString('en-GB');

/** The same of what was counted up to `most`: `100,000+` for more. */
export const figureUpTo = (value: number, most: number): string => (value > most ? `${figure(most)}+` : figure(value));

/** `99.9 %`: rounded down, so that only all of it is 100 %. */
export const percentage = (part: number, whole: number): string => `${Math.floor((part / whole) * 1000) / 10} %`;

/** The share of deliveries that arrived among those that were tried: one that waits for another attempt has not. Null: none was tried. */
export function arrivedShare({ succeeded, failed, retrying }: { succeeded: number; failed: number; retrying: number }): string | null {
  const tried = succeeded + failed + retrying;
  return tried === 0 ? null : percentage(succeeded, tried);
}

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;
const relative = once(() => new Intl.RelativeTimeFormat('en-GB', { numeric: 'auto' }));

/** `3 minutes ago`, `in 2 hours`. */
function relativeWords(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000);
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative().format(Math.trunc(seconds / size), unit);
  }
  return seconds > 5 ? `in ${seconds} seconds` : 'just now';
}

/** A time, relative to now, with the exact one at hand. */
export function time(iso: unknown, now: Date): Value {
  if (typeof iso !== 'string') return nothing;
  return { kind: 'time', iso, words: relativeWords(new Date(iso), now), exact: dateTimeWords(iso) };
}

/** `2592000` as "30 days"; a number of seconds that is no round time stays one. */
export function durationWords(seconds: number): string {
  for (const [unit, size] of units.slice(2)) {
    if (seconds >= size && seconds % size === 0) return `${figure(seconds / size)} ${unit}${seconds === size ? '' : 's'}`;
  }
  return `${figure(seconds)} seconds`;
}

export const duration = (value: unknown, none = '–'): Value => (typeof value === 'number' ? text(durationWords(value)) : quiet(none));

/** `client_credentials` as "Client credentials". */
export const inWords = (name: string): string => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll(/[_.]/g, ' ');

/** An attribute as text; nothing for null. */
export function words(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean);
}
