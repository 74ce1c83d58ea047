import { longListOrders, mostSorted } from '../list-order.js';
import { z } from 'zod';
import { targetOf, type Filter, type ResourceRegistry, type Resource } from '../resource.js';
import { named } from '../../lib/named.js';
import { maxFilterValues, maxIncludeDepth, maxIncludePaths, maxSorts } from '../query.js';

/** Every path that `include` takes for a resource, shorter ones first: at most three relationships deep. */
function includable(registry: ResourceRegistry, resource: Resource, depth = maxIncludeDepth): string[] {
  if (depth === 0) return [];
  const direct = Object.entries(resource.relationships).filter(([, one]) => one.include);
  const deeper = direct.flatMap(([name, one]) => includable(registry, targetOf(registry, one), depth - 1).map((path) => `${name}.${path}`));
  return [...direct.map(([name]) => name), ...deeper];
}

/** A parameter that takes several values with commas between them (OpenAPI 3.1, `style` form without `explode`); `items` has its limits. */
const commaSeparated = (items: z.ZodArray, description: string, example?: readonly string[]) =>
  items.optional().meta({ description, ...(example ? { example } : {}), param: { style: 'form', explode: false } });

const oneOf = (values: readonly string[]) => z.enum(values as [string, ...string[]]);

export function recordParameters(registry: ResourceRegistry, resource: Resource): Record<string, z.ZodType> {
  const paths = includable(registry, resource);
  const fields = [...Object.keys(resource.attributes.shape), ...Object.keys(resource.relationships)];
  const include = 'Related records to add: paths of at most three relationships (a.b.c).';
  return {
    ...(paths.length > 0 ? { include: commaSeparated(z.array(oneOf(paths)).max(maxIncludePaths), include, paths.slice(0, 1)) } : {}),
    [`fields[${resource.type}]`]: commaSeparated(z.array(oneOf(fields)), 'Only these fields.', fields.slice(0, 1)),
  };
}

/** One value among several, as `filter` takes them: a comma would make it two, and U+0000 can't be stored. */
// oxlint-disable-next-line no-control-regex -- a control character is what is refused
const withoutComma = (schema: z.ZodType): z.ZodType => (schema instanceof z.ZodString ? schema.regex(/^[^,\u0000]*$/) : schema);

function filterParameters(name: string, { description, schema, list, comparisons }: Filter): [string, z.ZodType][] {
  const single = () => schema.optional().meta({ description });
  if (comparisons) return comparisons.map((comparison) => [`filter[${name}][${comparison}]`, single()]);
  if (list === false) return [[`filter[${name}]`, single()]];
  return [
    [
      `filter[${name}]`,
      commaSeparated(z.array(withoutComma(schema)).min(1).max(maxFilterValues), `${description} Several mean any of them.`),
    ],
  ];
}

const cursor = z.string().min(1).max(2048);

const pageParameters: Record<string, z.ZodType> = named({
  'page[size]': z.int().min(1).max(100).optional().meta({ description: 'Records a page; 25 unless given.' }),
  'page[after]': cursor.optional().meta({ description: 'The page after this cursor; take it from links.next.' }),
  'page[before]': cursor.optional().meta({ description: 'The page before this cursor; take it from links.prev.' }),
});

const feedParameters: Record<string, z.ZodType> = named({
  'page[after]': cursor
    .optional()
    .meta({ description: 'Where to go on: a cursor, `oldest` (unless given) or `now`. With `sort` a cursor of that list.' }),
});

export function listParameters(registry: ResourceRegistry, resource: Resource): Record<string, z.ZodType> {
  const sorts = Object.keys(resource.sorts);
  const standard = resource.defaultSort ?? '-created_at';
  const sort = `The order, most important first; \`-\` for descending. ${standard} unless given.${resource.entries ? '' : ` A list of more than ${mostSorted.toLocaleString('en')} records refuses other orders than these (\`unsupported_sort\`). ${longListOrders(resource)}.`}`;
  return {
    ...Object.fromEntries(Object.entries(resource.filters).flatMap(([name, filter]) => filterParameters(name, filter))),
    sort: commaSeparated(
      z
        .array(oneOf(sorts.flatMap((name) => [name, `-${name}`])))
        .min(1)
        .max(maxSorts),
      sort,
      [standard],
    ),
    ...recordParameters(registry, resource),
    ...pageParameters,
    ...(resource.isFeed && feedParameters),
  };
}

export const linkageParameters = pageParameters;

const requestId = {
  'X-Request-Id': z.string().optional().meta({
    description: '1 to 128 letters, digits and `_ . : -`: echoed, and the id of every error. Anything else is replaced.',
    example: 'order-42',
  }),
};

const idempotencyKey = {
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(255)
    .regex(/^(?! *$)[\x20-\x7e]+$/)
    .optional()
    .meta({
      description: 'Makes a repetition within 24 hours safe: it gets the first answer again, but for secrets (`meta.secret_shown_before`).',
    }),
};

const ifMatch = { 'If-Match': z.string().optional().meta({ description: 'The ETag that was seen: 412 if the resource changed since.' }) };

export const headerParameters = {
  read: {
    ...requestId,
    'If-None-Match': z.string().optional().meta({ description: 'The ETag of an answer at hand: 304 if it is still right.' }),
    'Read-After': z.string().optional().meta({
      description: 'What a write answered by this name: a list or an export has that write then, also where it is read from a replica.',
    }),
  },
  create: { ...requestId, ...idempotencyKey },
  change: { ...requestId, ...ifMatch, ...idempotencyKey },
  remove: { ...requestId, ...ifMatch },
  call: requestId,
} as const;
