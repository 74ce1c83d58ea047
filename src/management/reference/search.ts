import { named } from '../../lib/named.js';

/** A piece of the documentation that a search finds: where it is and what it says, as plain text. */
export type Entry = {
  readonly kind: 'guide' | 'operation' | 'collection' | 'attribute' | 'event type';
  readonly title: string;
  /** What it is a part of: the guide, the collection. */
  readonly section: string;
  readonly path: string;
  readonly text: string;
};

/** A stretch of text; `hit` marks what was searched for. */
export type Segment = { readonly text: string; readonly hit: boolean };

export type SearchHit = Pick<Entry, 'kind' | 'section' | 'path'> & {
  readonly title: readonly Segment[];
  readonly excerpt: readonly Segment[];
};

/** The result of a search. `loose`: nothing holds all of the words, these hold some. `total` counts what `findings` cuts off, too. */
export type Findings = { readonly findings: readonly SearchHit[]; readonly total: number; readonly loose: boolean };

/** The longest query that is looked at, and the most words of it. */
export const maxQueryLength = 200;
const [mostTerms, mostFindings, around] = [8, 30, 90];

/** Synonyms: other words for the documentation's terms. */
const synonyms: Readonly<Record<string, string>> = named({
  signup: 'registration',
  signin: 'sign-in',
  login: 'sign-in',
  logout: 'sign-out',
});

/** The words of a query: lower case, each once. */
export function termsOf(query: string): string[] {
  const words = query
    .slice(0, maxQueryLength)
    .toLowerCase()
    .split(/[\s,;()"'`?]+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
  return [...new Set(words)].slice(0, mostTerms);
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');

const count = (text: string, term: string): number => text.split(term).length - 1;

/** How well an entry answers a word; 0 when it doesn't hold it. */
function weightOf(entry: Entry, term: string): number {
  const [title, section, text] = [entry.title.toLowerCase(), entry.section.toLowerCase(), entry.text.toLowerCase()];
  const inTitle =
    title === term ? 60 : new RegExp(`(^|[^\\p{L}\\p{N}])${escaped(term)}`, 'u').test(title) ? 25 : title.includes(term) ? 10 : 0;
  return inTitle + (section.includes(term) ? 4 : 0) + Math.min(6, count(text, term));
}

type Scored = { readonly entry: Entry; readonly held: number; readonly weight: number };

function score(entry: Entry, terms: readonly string[], phrase: string): Scored {
  const weights = terms.map((term) => {
    const other = synonyms[term];
    return weightOf(entry, term) || (other === undefined ? 0 : weightOf(entry, other) / 2);
  });
  const whole = terms.length > 1 && entry.title.toLowerCase().includes(phrase) ? 40 : 0;
  const phraseScore = terms.length > 1 && entry.text.toLowerCase().includes(phrase) ? 25 : 0;
  const held = weights.filter((weight) => weight > 0).length;
  return { entry, held, weight: weights.reduce((sum, weight) => sum + weight, 0) + whole + phraseScore };
}

export function marked(text: string, terms: readonly string[]): Segment[] {
  if (terms.length === 0) return [{ text, hit: false }];
  const longestFirst = [...terms].sort((one, other) => other.length - one.length).map(escaped);
  return text
    .split(new RegExp(`(${longestFirst.join('|')})`, 'iu'))
    .map((part, index) => ({ text: part, hit: index % 2 === 1 }))
    .filter((part) => part.text !== '');
}

/** The part of the text where most of the words stand close together, cut at words. */
function excerptOf(text: string, terms: readonly string[]): string {
  const lower = text.toLowerCase();
  const positions = terms.map((term) => lower.indexOf(term)).filter((position) => position >= 0);
  const start = Math.max(0, Math.min(...(positions.length > 0 ? positions : [0])) - around);
  const end = Math.min(text.length, start + 2.5 * around);
  const from = start === 0 ? 0 : text.indexOf(' ', start) + 1;
  const to = end === text.length ? end : Math.max(from, text.lastIndexOf(' ', end));
  return `${from > 0 ? '… ' : ''}${text.slice(from, to)}${to < text.length ? ' …' : ''}`;
}

/** Finds entries that hold all words of the query, the best first; when there are none, those that hold some. */
export function search(entries: readonly Entry[], query: string): Findings {
  const terms = termsOf(query);
  if (terms.length === 0) return { findings: [], total: 0, loose: false };
  const scored = entries.map((entry) => score(entry, terms, terms.join(' '))).filter(({ held }) => held > 0);
  const strict = scored.filter(({ held }) => held === terms.length);
  const found = (strict.length > 0 ? strict : scored).sort((one, other) => other.held - one.held || other.weight - one.weight);
  const shown = [...terms, ...terms.flatMap((term) => synonyms[term] ?? [])];
  const findings = found.slice(0, mostFindings).map(({ entry: { kind, section, path, title, text } }) => ({
    kind,
    section,
    path,
    title: marked(title, shown),
    excerpt: marked(excerptOf(text, shown), shown),
  }));
  return { findings, total: found.length, loose: strict.length === 0 && found.length > 0 };
}
