import type { z } from 'zod';
import type { Turn } from './turns.js';

type Issue = z.core.$ZodIssue;
type Path = readonly (string | number)[];

/** What a schema has by its kind, as far as it says how large a value may be. */
type Definition = {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly element?: z.ZodType;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly options?: readonly z.ZodType[];
  readonly keyType?: z.ZodType;
  readonly valueType?: z.ZodType;
};

const definitionOf = (schema: z.ZodType): Definition => schema._zod.def as unknown as Definition;

/** The check of a schema that says how long a value may be. */
type Length = { readonly check: string; readonly maximum: number; readonly error?: (issue: object) => unknown };

const lengthOf = (schema: z.ZodType): Length | undefined =>
  schema._zod.def.checks?.map((one) => one._zod.def as unknown as Length).find(({ check }) => check === 'max_length');

/** The most members of an object whose schema doesn't name them. */
const mostMembers = 1_000;
/** The most problems that are reported; the check ends there. */
const mostIssues = 20;

const units = { string: 'characters', array: 'items', record: 'members' };

/** What zod says of a value that is too long. */
function tooBig(origin: keyof typeof units, { maximum, error }: Pick<Length, 'maximum' | 'error'>, path: Path): Issue {
  const issue = { code: 'too_big', origin, maximum, inclusive: true, path: [...path] };
  const own = error?.(issue);
  const message = typeof own === 'string' ? own : `Too big: expected ${origin} to have <=${maximum} ${units[origin]}`;
  return { ...issue, message } as Issue;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Of several schemas that may take the value the first that isn't exceeded decides, or what the last one has against it. */
function measureOptions(options: readonly z.ZodType[], value: unknown, path: Path): Issue[] {
  let found: Issue[] = [];
  for (const option of options) {
    const { type } = definitionOf(option);
    if ((type === 'string' || type === 'array') && type !== (Array.isArray(value) ? 'array' : typeof value)) continue;
    found = measure(option, value, path);
    if (found.length === 0) return found;
  }
  return found;
}

function measureEach(entries: readonly [string | number, z.ZodType, unknown][], path: Path): Issue[] {
  const found: Issue[] = [];
  for (const [name, schema, value] of entries) {
    found.push(...measure(schema, value, [...path, name]));
    if (found.length >= mostIssues) break;
  }
  return found;
}

/** What is longer in a value than its schema lets it be; nothing else is looked at, and it goes no deeper than the schema does. */
function measure(schema: z.ZodType, value: unknown, path: Path): Issue[] {
  const { innerType, in: input, options, type, element, shape = {}, keyType, valueType } = definitionOf(schema);
  const inner = innerType ?? input;
  if (inner) return measure(inner, value, path);
  if (options) return measureOptions(options, value, path);
  const length = lengthOf(schema);
  if (type === 'string' && typeof value === 'string')
    return length && value.length > length.maximum ? [tooBig('string', length, path)] : [];
  if (type === 'array' && Array.isArray(value)) {
    if (length && value.length > length.maximum) return [tooBig('array', length, path)];
    return measureEach(value.map((one, index) => [index, element as z.ZodType, one]), path); // prettier-ignore
  }
  if (type === 'object' && isObject(value)) {
    const known = Object.entries(shape).filter(([name]) => Object.hasOwn(value, name));
    return measureEach(known.map(([name, member]) => [name, member, value[name]]), path); // prettier-ignore
  }
  if (type === 'record' && isObject(value)) {
    const names = Object.keys(value);
    if (names.length > mostMembers) return [tooBig('record', { maximum: mostMembers }, path)];
    return measureEach(names.flatMap((name) => [[name, keyType as z.ZodType, name], [name, valueType as z.ZodType, value[name]]]), path); // prettier-ignore
  }
  return [];
}

/** A value as its schema has it, or at most some problems more than can be told. */
export type Measured<Value> =
  { readonly success: true; readonly data: Value } | { readonly success: false; readonly issues: readonly Issue[] };

/**
 * Checks an object against its schema once lists and texts have been measured: a member in which anything is longer than it may be is refused for that
 * alone. A schema looks at every item of a list, and by each of its patterns at every text, before it asks how long they are.
 */
export function parseMeasured<Schema extends z.ZodObject>(schema: Schema, value: Record<string, unknown>): Measured<z.infer<Schema>> {
  const oversized = measure(schema, value, []);
  const tops = new Set<unknown>(oversized.map(({ path }) => path[0]));
  const measured = tops.size === 0 ? value : Object.fromEntries(Object.entries(value).filter(([name]) => !tops.has(name)));
  const parsed = schema.safeParse(measured);
  if (parsed.success && tops.size === 0) return parsed;
  const others = parsed.success ? [] : parsed.error.issues.filter(({ path }) => path.length === 0 || !tops.has(path[0]));
  return { success: false, issues: [...oversized, ...others] };
}

/** The lists of an object whose items are objects that say nothing of each other: nothing but its length is asked of the list. */
const listsIn = ({ shape }: z.ZodObject, value: Record<string, unknown>): [name: string, list: z.ZodType, items: unknown[]][] =>
  Object.entries(shape as Readonly<Record<string, z.ZodType>>).flatMap(([name, member]) => {
    let list = member;
    for (let inner = definitionOf(list).innerType; inner; inner = definitionOf(list).innerType) list = inner;
    const { type, element } = definitionOf(list);
    const items = Object.hasOwn(value, name) ? value[name] : undefined;
    const byItem = type === 'array' && definitionOf(element as z.ZodType).type === 'object';
    return byItem && Array.isArray(items) && (list._zod.def.checks ?? []).length === Number(lengthOf(list) !== undefined)
      ? [[name, list, items]]
      : [];
  });

/**
 * What speaks against a value by the schema of an object, measured as `parseMeasured` does, item by item of the lists of objects in it: `turn` is awaited
 * between them, and no item is looked at once there are as many issues as are told.
 */
export async function findIssues(schema: z.ZodObject, value: unknown, turn: Turn): Promise<Issue[]> {
  if (!isObject(value)) return schema.safeParse(value).error?.issues ?? [];
  const lists = listsIn(schema, value);
  const parsed = parseMeasured(schema, { ...value, ...Object.fromEntries(lists.map(([name]) => [name, []])) });
  const found = parsed.success ? [] : [...parsed.issues];
  for (const [name, list, items] of lists) {
    const length = lengthOf(list);
    if (length && items.length > length.maximum) found.push(tooBig('array', length, [name]));
    for (const [index, item] of items.entries()) {
      if (found.length >= mostIssues) return found;
      await turn();
      const issues = await findIssues(definitionOf(list).element as z.ZodObject, item, turn);
      found.push(...issues.map((issue) => ({ ...issue, path: [name, index, ...issue.path] })));
    }
  }
  return found;
}
