import { z } from 'zod';
import type { Filter, Resource } from '../resource.js';
import { named } from '../../lib/named.js';

const includable = (resource: Resource) =>
  Object.entries(resource.relationships)
    .filter(([, one]) => one.include)
    .map(([name]) => name);

/** `include` and `fields[...]` of an answer that bears records. */
export function recordParameters(resource: Resource): Record<string, z.ZodType> {
  const names = includable(resource);
  const fields = [...Object.keys(resource.attributes.shape), ...Object.keys(resource.relationships)];
  return {
    ...(names.length > 0
      ? {
          include: z
            .string()
            .optional()
            .meta({
              description: `Related records to add, comma-separated paths of at most three relationships (a.b.c): ${names.join(', ')}.`,
              example: names[0],
            }),
        }
      : {}),
    [`fields[${resource.type}]`]: z
      .string()
      .optional()
      .meta({ description: `Only these fields, comma-separated: ${fields.join(', ')}.` }),
  };
}

function filterParameters(name: string, filter: Filter): [string, z.ZodType][] {
  const description = filter.list === false ? filter.description : `${filter.description} Several, comma-separated, mean any of them.`;
  const schema = () => z.string().optional().meta({ description });
  if (!filter.comparisons) return [[`filter[${name}]`, schema()]];
  return filter.comparisons.map((comparison) => [`filter[${name}][${comparison}]`, schema()]);
}

const pageParameters: Record<string, z.ZodType> = named({
  'page[size]': z.int().min(1).max(100).optional().meta({ description: 'Records a page; 25 unless given.' }),
  'page[after]': z.string().optional().meta({ description: 'The page after this cursor; take it from links.next.' }),
  'page[before]': z.string().optional().meta({ description: 'The page before this cursor; take it from links.prev.' }),
});

/** Everything that a list takes. */
export function listParameters(resource: Resource): Record<string, z.ZodType> {
  const sorts = Object.keys(resource.sorts);
  return {
    ...Object.fromEntries(Object.entries(resource.filters).flatMap(([name, filter]) => filterParameters(name, filter))),
    sort: z
      .string()
      .optional()
      .meta({
        description: `Comma-separated, \`-\` for descending: ${sorts.join(', ')}. ${resource.defaultSort ?? '-created_at'} unless given.`,
      }),
    ...recordParameters(resource),
    ...pageParameters,
  };
}

/** What paged linkage takes. */
export const linkageParameters = pageParameters;

const requestId = {
  'X-Request-Id': z.string().optional().meta({ description: '1 to 128 safe characters; echoed, and the id of every error.' }),
};

/** Headers that a request may bear, by what it does. */
export const headerParameters = {
  read: {
    ...requestId,
    'If-None-Match': z.string().optional().meta({ description: 'The ETag of an answer at hand: 304 if it is still right.' }),
  },
  create: {
    ...requestId,
    'Idempotency-Key': z.string().optional().meta({
      description: 'Makes a repetition within 24 hours safe: it gets the first answer again, but for secrets (`meta.secret_shown_before`).',
    }),
  },
  change: {
    ...requestId,
    'If-Match': z.string().optional().meta({ description: 'The ETag that was seen: 412 if the resource changed since.' }),
    'Idempotency-Key': z.string().optional().meta({
      description: 'Makes a repetition within 24 hours safe: it gets the first answer again, but for secrets (`meta.secret_shown_before`).',
    }),
  },
  remove: {
    ...requestId,
    'If-Match': z.string().optional().meta({ description: 'The ETag that was seen: 412 if the resource changed since.' }),
  },
} as const;
