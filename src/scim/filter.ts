import { parse, type Filter } from 'scim2-parse-filter';
import type { FilterColumn, Comparison, DirectoryCondition, FilterValue, Key } from '../db/lists/directory-filter.js';
import { ScimError } from '../errors.js';
import { named, own } from '../lib/named.js';
import { findAttribute, type FoundAttribute } from './attribute-paths.js';
import { enterpriseSchema, type ResourceType } from './schemas.js';

const maxLength = 1_000;
const maxComparisons = 10;

const refuse = (detail: string) => new ScimError(400, 'invalidFilter', detail);

/** Attributes that are columns; `displayName` is one of groups alone. */
const userColumns = named<FilterColumn>({ userName: { name: 'user_name_key', holds: 'key' }, active: { name: 'active', holds: 'flag' } });
const groupColumns = named<FilterColumn>({ displayName: { name: 'display_name_key', holds: 'key' } });
const commonColumns = named<FilterColumn>({
  id: { name: 'id', holds: 'uuid' },
  externalId: { name: 'external_id', holds: 'text' },
  'meta.created': { name: 'created_at', holds: 'time' },
  'meta.lastModified': { name: 'updated_at', holds: 'time' },
});

/** What was parsed: texts are numbers of `literals`. `correlated`: the filter has the form `emails[type eq "work"].value eq "x"`. */
type Parsed = { readonly filter: Filter; readonly literals: readonly string[]; readonly correlated: boolean };

/** Reads the grammar (RFC 7644 3.4.2.2). The parser reads escapes as JSON does not: it is handed numbers for the texts. @throws {ScimError} 400 `invalidFilter` */
function parseFilter(text: string): Parsed {
  if (text.length > maxLength) throw refuse(`The filter is longer than ${maxLength} characters.`);
  const literals: string[] = [];
  try {
    const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, (quoted) => `"${literals.push(JSON.parse(quoted) as string) - 1}"`);
    return { filter: parse(bare), literals, correlated: bare.includes('].') };
  } catch {
    throw refuse('The filter can not be read (RFC 7644 3.4.2.2).');
  }
}

/** What the value has to be for an attribute of the type. @throws {ScimError} 400 */
function valueOf(
  { attribute }: FoundAttribute,
  name: string,
  op: Comparison,
  value: FilterValue,
  column: FilterColumn | undefined,
): FilterValue {
  if (op === 'pr') return null;
  const isBoolean = attribute.type === 'boolean';
  const equality = op === 'eq' || op === 'ne';
  if ((isBoolean || value === null) && !equality) throw refuse(`${name} compares with eq, ne and pr alone.`);
  if (isBoolean && typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  if (value === null && !column) return null;
  if (typeof value !== (isBoolean ? 'boolean' : 'string')) throw refuse(`${name} compares with ${isBoolean ? 'true or false' : 'a text'}.`);
  if (column?.holds !== 'time') return value;
  if (Number.isNaN(Date.parse(String(value))) || /^(?:co|sw|ew)$/.test(op)) throw refuse(`${name} compares with a time.`);
  return value;
}

/** The keys of a found attribute: which of them hold several. */
function keysOf({ attribute, of, keys }: FoundAttribute): Key[] {
  const many = (depth: number) => (of && depth === keys.length - 2 ? of.multiValued : depth === keys.length - 1 && attribute.multiValued);
  return keys.map((name, depth) => ({ name, many: many(depth) }));
}

/** Attributes without a value of their own: a comparison of such a one means its `value` (RFC 7643 2.4). */
function comparable(type: ResourceType, name: string): FoundAttribute {
  const found = findAttribute(type, name);
  if (!found) throw refuse(`There is no attribute ${name.slice(0, 200)} to filter by.`);
  if (found.attribute.type !== 'complex') return found;
  const value = findAttribute(type, `${name}.value`);
  if (!value) throw refuse(`${name.slice(0, 200)} has parts: name one of them.`);
  return value;
}

/** A comparison by who is in a group; null for an attribute that isn't of that kind. @throws {ScimError} 400 */
function linkOf(keys: readonly string[], name: string, op: Comparison, value: FilterValue): DirectoryCondition | null {
  const kind = keys[0] === 'members' ? 'member' : keys[0] === 'groups' ? 'group' : null;
  if (kind === null) return null;
  const link = (id: string | null): DirectoryCondition => ({ kind, id });
  if (op === 'pr') return link(null);
  if (keys[1] !== 'value' || typeof value !== 'string' || (op !== 'eq' && op !== 'ne'))
    throw refuse(`${name} compares with eq and an id alone.`);
  return op === 'eq' ? link(value) : { kind: 'not', of: link(value) };
}

/** Compiles filters of one kind of resource. */
class Compiler {
  #comparisons = 0;

  constructor(
    readonly type: ResourceType,
    readonly parsed: Parsed,
  ) {}

  /** @param prefix the attribute whose element is asked about */
  compile(filter: Filter, prefix: string | null): DirectoryCondition {
    switch (filter.op) {
      case 'and':
      case 'or':
        return this.#listed(filter as Extract<Filter, { filters: Filter[] }>, prefix);
      case 'not':
        return { kind: 'not', of: this.compile((filter as { filter: Filter }).filter, prefix) };
      case '[]':
        return this.#element(filter as Extract<Filter, { valFilter: Filter }>, prefix, []);
      default:
        return this.#comparison(filter as Extract<Filter, { attrPath: string }>, prefix);
    }
  }

  #listed({ op, filters }: Extract<Filter, { filters: Filter[] }>, prefix: string | null): DirectoryCondition {
    const [first, second] = filters;
    // The parser says `emails[type eq "work"].value eq "x"` so; both ask about one element.
    if (this.parsed.correlated && op === 'and' && filters.length === 2 && first?.op === '[]' && second && 'attrPath' in second) {
      const { attrPath } = first as Extract<Filter, { valFilter: Filter }>;
      if (second.attrPath.startsWith(`${attrPath}.`)) {
        const sub = { ...second, attrPath: second.attrPath.slice(attrPath.length + 1) };
        return this.#element(first as Extract<Filter, { valFilter: Filter }>, prefix, [sub]);
      }
    }
    return { kind: op as 'and' | 'or', of: filters.map((one) => this.compile(one, prefix)) };
  }

  #element(
    { attrPath, valFilter }: Extract<Filter, { valFilter: Filter }>,
    prefix: string | null,
    more: readonly Filter[],
  ): DirectoryCondition {
    const found = prefix === null ? findAttribute(this.type, attrPath) : null;
    if (found?.attribute.type !== 'complex' || !found.attribute.multiValued)
      throw refuse(`${attrPath.slice(0, 200)} does not hold several values to choose from.`);
    const elementFilters = [valFilter, ...more].map((one) => this.compile(one, attrPath));
    const of: DirectoryCondition =
      elementFilters.length === 1 ? (elementFilters[0] as DirectoryCondition) : { kind: 'and', of: elementFilters };
    // A group is one of its members by id alone: its own row tells.
    if (found.keys[0] === 'members' || found.keys[0] === 'groups') return of;
    return { kind: 'element', keys: keysOf(found), of };
  }

  #comparison(filter: Extract<Filter, { attrPath: string }>, prefix: string | null): DirectoryCondition {
    this.#comparisons += 1;
    if (this.#comparisons > maxComparisons) throw refuse(`The filter has more than ${maxComparisons} comparisons.`);
    const name = prefix === null ? filter.attrPath : `${prefix}.${filter.attrPath}`;
    const found = comparable(this.type, name);
    const op = filter.op as Comparison;
    const path = found.keys.join('.');
    const column = prefix === null ? (commonColumns[path] ?? (this.type.name === 'User' ? userColumns : groupColumns)[path]) : undefined;
    const sent = 'compValue' in filter ? filter.compValue : null;
    const value = valueOf(found, name, op, typeof sent === 'string' ? (this.parsed.literals[Number(sent)] ?? '') : sent, column);
    const link = linkOf(found.keys, name, op, value);
    if (link) return link;
    if (column) return { kind: 'column', column, op, value };
    const isOwn = this.type.schema.attributes.some((one) => one.name === found.keys[0]) || found.keys[0] === enterpriseSchema.id;
    if (!isOwn || this.type.name === 'Group') throw refuse(`${name.slice(0, 200)} is nothing to filter by.`);
    const keys = keysOf(found);
    // Within an element the keys begin at the element.
    return { kind: 'value', keys: prefix === null ? keys : keys.slice(-1), op, value };
  }
}

/**
 * A filter as a condition of rows, by attributes that the schemas have and nothing else.
 * @throws {ScimError} 400 `invalidFilter` for what can't be read, is too long, or names what there isn't
 */
export function compileFilter(type: ResourceType, text: string): DirectoryCondition {
  const parsed = parseFilter(text);
  return new Compiler(type, parsed).compile(parsed.filter, null);
}

/** Which elements of the attribute a filter between brackets chooses. @throws {ScimError} 400 */
export function compileElementFilter(type: ResourceType, attribute: string, text: string): DirectoryCondition {
  const parsed = parseFilter(text);
  return new Compiler(type, parsed).compile(parsed.filter, attribute);
}

/** Whether an element of a multi-valued attribute fits a condition of elements. */
export function fits(element: unknown, condition: DirectoryCondition): boolean {
  switch (condition.kind) {
    case 'and':
      return condition.of.every((one) => fits(element, one));
    case 'or':
      return condition.of.some((one) => fits(element, one));
    case 'not':
      return !fits(element, condition.of);
    case 'value': {
      const held = own(element as Record<string, unknown>, condition.keys.at(-1)?.name ?? '') ?? null;
      return compares(held, condition.op, condition.value);
    }
    default:
      return false;
  }
}

function compares(held: unknown, op: Comparison, value: FilterValue): boolean {
  const one = typeof held === 'string' ? held.toLowerCase() : held;
  const other = typeof value === 'string' ? value.toLowerCase() : value;
  if (op === 'pr') return held !== null;
  if (op === 'eq') return one === other;
  if (op === 'ne') return one !== other;
  if (typeof one !== 'string' || typeof other !== 'string') return false;
  const tests = {
    co: one.includes(other),
    sw: one.startsWith(other),
    ew: one.endsWith(other),
    gt: one > other,
    ge: one >= other,
    lt: one < other,
    le: one <= other,
  };
  return tests[op];
}
