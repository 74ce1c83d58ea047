import { ScimError } from '../errors.js';
import type { ScimValues } from './read-values.js';

/** What a request asks of an answer (RFC 7644 3.4.2, 3.9). */
export type ScimQuery = {
  readonly filter: string | null;
  /** The first is 1. */
  readonly start_index: number;
  readonly count: number;
  readonly attributes: readonly string[];
  readonly excluded: readonly string[];
};

const defaultCount = 100;
const mostCount = 200;
const mostNames = 100;
const mostSkipped = 2 ** 31 - 1;

const refuse = (detail: string) => new ScimError(400, 'invalidValue', detail);

/** A whole number; null where there is none. @throws {ScimError} 400 */
function wholeNumber(value: unknown, name: string): number | null {
  if (value === undefined || value === null || value === '') return null;
  const number = typeof value === 'string' && /^[+-]?\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) throw refuse(`${name} must be a whole number.`);
  return number;
}

/** Names of attributes, as a list or between commas. @throws {ScimError} 400 */
function names(value: unknown, name: string): string[] {
  const list = typeof value === 'string' ? value.split(',') : (value ?? []);
  if (!Array.isArray(list) || !list.every((one) => typeof one === 'string')) throw refuse(`${name} must be names of attributes.`);
  const found = (list as string[]).map((one) => one.trim()).filter(Boolean);
  if (found.length > mostNames) throw refuse(`${name} must be at most ${mostNames} names.`);
  return found;
}

/**
 * Reads the parameters of a list, as a query or the body of a search has them. What is below the range counts as its lower end, what is above as its upper.
 * @throws {ScimError} 400
 */
export function readScimQuery(values: ScimValues): ScimQuery {
  const filter = values['filter'] ?? null;
  if (filter !== null && typeof filter !== 'string') throw new ScimError(400, 'invalidFilter', 'filter must be a text.');
  return {
    filter,
    start_index: Math.min(Math.max(wholeNumber(values['startIndex'], 'startIndex') ?? 1, 1), mostSkipped),
    count: Math.min(Math.max(wholeNumber(values['count'], 'count') ?? defaultCount, 0), mostCount),
    attributes: names(values['attributes'], 'attributes'),
    excluded: names(values['excludedAttributes'], 'excludedAttributes'),
  };
}

/** The parameters of a request's address. @throws {ScimError} 400 for one that is there twice */
export function queryValues(url: string): ScimValues {
  const mark = url.indexOf('?');
  const parameters = [...new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))];
  if (new Set(parameters.map(([name]) => name)).size < parameters.length) throw refuse('A parameter must not be sent twice.');
  return Object.fromEntries(parameters);
}
