import { z } from 'zod';
import { compares, holdsOneOf, isOneOf, linkedTo, matches, searches, type Searched } from '../db/lists/conditions.js';
import type { LinkTable } from '../db/lists/list.js';
import type { SortKey } from '../db/lists/list-source.js';
import { holdsInvisible, holdsStack } from '../lib/plain-words.js';
import type { Filter, Resource } from './resource.js';

/** A time as the API writes it: ISO 8601 UTC with milliseconds. */
export const isoTime = z.iso.datetime({ precision: 3 });
export const uuid = z.uuid();
/** Attributes that nearly every resource ends with. */
export const stamps = { created_at: isoTime, updated_at: isoTime };

/** Text without control characters, trimmed of nothing. */
export const boundedText = (max: number, min = 1) =>
  z
    .string()
    .min(min)
    .max(max)
    // oxlint-disable-next-line no-control-regex -- control characters are what is refused
    .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not hold control characters');

/** A name that people are shown: nothing in it that nobody sees, or that turns the words around it. */
export const shownName = (max: number) =>
  boundedText(max)
    .refine((name) => name.trim() !== '', { message: 'must hold more than spaces', params: { code: 'too_short' } })
    .refine((name) => !holdsInvisible(name), 'must not hold invisible characters or directions of writing')
    .refine((name) => !holdsStack(name), 'must not have more than six marks on a character');

/** An absolute http(s) URL without user name and password. */
export const webUrl = z
  .string()
  .max(2048)
  .refine((value) => /^https?:\/\/[^/?#@\\]+(?:[/?#]|$)/i.test(value) && URL.canParse(value) && !/\s/.test(value), {
    message: 'must be an absolute http or https URL without user name and password',
    params: { code: 'invalid_url' },
  });

/** Which numbers are seconds, and the most of them: forms ask for these as a number and a unit. Survives `meta`, not `nullable`. */
export const durations = z.registry<{ most: number }>();

/** A lifetime in whole seconds. */
export const lifetime = (min: number, max: number) => z.int().min(min).max(max).register(durations, { most: max });

export const uniqueTexts = (item: z.ZodType<string>, max: number) =>
  z
    .array(item)
    .max(max)
    .refine((values) => new Set(values).size === values.length, {
      message: 'must not hold a value twice',
      params: { code: 'duplicate_value' },
    });

/** `filter[name]=a,b`: the column holds one of them. */
export const equalTo = (column: string, schema: z.ZodType, description: string): Filter => ({
  description,
  schema,
  condition: (_ctx, values) => isOneOf(column, values),
});

/** `filter[status]` of what becomes of a link by its times: SQL by status, in which `?` is the time. */
export const statusByTime = <S extends string>(conditions: Readonly<Record<S, string>>): Filter => ({
  description: 'What became of it.',
  schema: z.enum(Object.keys(conditions) as [S, ...S[]]),
  condition: (ctx, values) =>
    matches(`(${(values as S[]).map((value) => `(${conditions[value]})`).join(' or ')})`, values.map(() => ctx.clock.now())), // prettier-ignore
});

/** How long a link that somebody is sent is good. */
export const linkLifetime = ({ least, most }: { readonly least: number; readonly most: number }) =>
  lifetime(least, most).meta({ description: 'How long the link is good, in seconds: 604800, a week, unless said.' });

/** The same filter: an index finds the records that fit. */
export const byIndex = (filter: Filter): Filter => ({ ...filter, byIndex: true });

/** `filter[name]=true`. */
export const flagFilter = (column: string, description: string): Filter => ({
  description,
  schema: z.enum(['true', 'false']),
  condition: (_ctx, values) =>
    isOneOf(
      column,
      values.map((value) => value === 'true'),
    ),
});

/** `filter[name][gte]=...` and `[lt]`: an ISO 8601 time. `expression`: what lists are sorted by instead of a column that may be null. */
export const timeRange = (column: string, description: string, expression?: string): Filter => ({
  description,
  schema: z.iso.datetime({ offset: true }),
  list: false,
  comparisons: ['gte', 'gt', 'lt', 'lte'],
  condition: (_ctx, values, comparison) =>
    compares({ column, comparison: comparison ?? 'gte', value: new Date(values[0] as string), ...(expression && { expression }) }),
});

/** `filter[search]=abc def`: see {@link searches}. Names of columns that are never null, or where their texts are kept. */
export const searchFilter = (searched: readonly string[] | Searched, what: string): Filter => ({
  description: `${what} holds each of these words, in any case; words of one or two characters are what a word begins with. Or the whole id.`,
  schema: z.string().min(1).max(255),
  list: false,
  condition: (_ctx, values) =>
    searches(Array.isArray(searched) ? `lower(' ' || ${searched.join(` || ' ' || `)})` : (searched as Searched), values[0] as string),
});

/** `filter[name]=id`: linked to one of them. `needs`: to read what the answer tells of. */
export const linked = (link: LinkTable, description: string, ...needs: readonly string[]): Filter => ({
  description,
  schema: z.uuid(),
  needs: () => needs,
  condition: (_ctx, values) => linkedTo(link, values as string[]),
});

/** The array column holds one of them. */
export const holding = (column: string, schema: z.ZodType<string>, description: string): Filter => ({
  description,
  schema,
  condition: (_ctx, values) => holdsOneOf(column, values as string[]),
});

/** The orders that every stored resource has. */
export const stampSorts = (table: string): Record<string, Omit<SortKey, 'descending'>> => ({
  created_at: { expression: `${table}.created_at`, type: 'timestamptz' },
  updated_at: { expression: `${table}.updated_at`, type: 'timestamptz' },
});

/** The same orders: each has an index. */
export const indexed = (sorts: Resource['sorts']): Resource['sorts'] =>
  Object.fromEntries(Object.entries(sorts).map(([name, sort]) => [name, { ...sort, indexed: true }]));

/** An order by a text column that is never null. */
export const textSort = (expression: string): Omit<SortKey, 'descending'> => ({ expression, type: 'text' });
