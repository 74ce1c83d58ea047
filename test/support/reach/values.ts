import type { z } from 'zod';

/** Texts of many kinds; a text attribute takes those that its schema accepts. */
const texts = [
  'https://walked.example/there',
  'walked@example.com',
  'walked.example.com',
  'walked',
  '+441632960961',
  'Europe/London',
  'en',
  '1990-01-31',
  '#1a2b3c',
];

type Definition = { type: string; innerType?: z.ZodType; element?: z.ZodType; entries?: Record<string, string>; shape?: z.ZodRawShape };
const definitionOf = (schema: z.ZodType) => (schema as unknown as { def: Definition }).def;

function raw(schema: z.ZodType): unknown[] {
  const def = definitionOf(schema);
  switch (def.type) {
    case 'optional':
    case 'default':
      return def.innerType ? raw(def.innerType) : [];
    case 'nullable':
      return [...(def.innerType ? raw(def.innerType) : []), null];
    case 'boolean':
      return [true, false];
    case 'enum':
      return Object.values(def.entries ?? {});
    case 'number':
      return [2, 10, 61, 299, 300, 3600, 86_400];
    case 'array':
      return [...(def.element ? raw(def.element).map((one) => [one]) : []), []];
    case 'object':
      return [
        Object.fromEntries(
          Object.entries(def.shape ?? {}).flatMap(([name, one]) => valuesOf(one as z.ZodType, 1).map((value) => [name, value])),
        ),
        {},
      ];
    case 'record':
      return [{ walked: 'walked' }, {}];
    case 'string':
      return texts;
    default:
      return [];
  }
}

/** Values that the schema accepts, the most telling first, at most so many; none when it is of a kind that nobody thought of. */
export function valuesOf(schema: z.ZodType, limit = 3): unknown[] {
  const accepted = raw(schema).filter((value) => schema.safeParse(value).success);
  return accepted.slice(0, limit);
}
