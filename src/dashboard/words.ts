import { own } from '../lib/named.js';
import words from './words.json' with { type: 'json' };

/**
 * Every text that the dashboard says, out of one file: `terms` name a thing (a field, column, filter, button or state), `hints` stand below
 * fields and choices, `sentences` say what happens, `counts` say how many (ICU MessageFormat). A term is the RFC's where there is one, else the one that administrators know from other providers.
 */
export const { terms, nouns, counts, hints, sentences } = words;

/** A text with what its `{placeholders}` stand for. */
export const fill = (text: string, values: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(own(values, name) ?? placeholder));
