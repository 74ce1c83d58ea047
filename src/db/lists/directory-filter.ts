import { isUuid } from '../../lib/random.js';

export type Comparison = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'ge' | 'lt' | 'le' | 'pr';

/** What a filter of a directory asks of a row (RFC 7644 3.4.2.2). The names in it are the code's own; values are what came. */
export type DirectoryCondition =
  | { readonly kind: 'and' | 'or'; readonly of: readonly DirectoryCondition[] }
  | { readonly kind: 'not'; readonly of: DirectoryCondition }
  /** A column of the row. */
  | { readonly kind: 'column'; readonly column: FilterColumn; readonly op: Comparison; readonly value: FilterValue }
  /** A value of the resource, or of the element that is asked of. `keys` that lead through an array have `many`. */
  | { readonly kind: 'value'; readonly keys: readonly Key[]; readonly op: Comparison; readonly value: FilterValue }
  /** One element of an array fits the condition as a whole. */
  | { readonly kind: 'element'; readonly keys: readonly Key[]; readonly of: DirectoryCondition }
  /** Somebody is a member of the row's group, or the row's person is in a group; null: anybody, any. */
  | { readonly kind: 'member' | 'group'; readonly id: string | null };

export type FilterValue = string | number | boolean | null;
export type Key = { readonly name: string; readonly many: boolean };

/** `time` compares with moments, `key` in any case, `text` as it is, `flag` with true and false. */
export type FilterColumn = { readonly name: string; readonly holds: 'uuid' | 'key' | 'text' | 'flag' | 'time' };

/** A piece of SQL with a `?` for each of its values. */
export type Fragment = { readonly sql: string; readonly values: readonly unknown[] };

const operators = { eq: '=', ne: '<>', gt: '>', ge: '>=', lt: '<', le: '<=' } as const;
const never: Fragment = { sql: 'false', values: [] };

const escaped = (text: string) => text.replaceAll(/[\\%_]/g, (character) => `\\${character}`);

/** A comparison of texts. Those that are absent fit `ne` alone. */
function textFragment(expression: string, op: Comparison, text: string): Fragment {
  switch (op) {
    case 'pr':
      return { sql: `${expression} is not null`, values: [] };
    case 'co':
      return { sql: `${expression} like ?`, values: [`%${escaped(text)}%`] };
    case 'sw':
      return { sql: `${expression} like ?`, values: [`${escaped(text)}%`] };
    case 'ew':
      return { sql: `${expression} like ?`, values: [`%${escaped(text)}`] };
    case 'eq':
      return { sql: `${expression} = ?`, values: [text] };
    case 'ne':
      return { sql: `${expression} is distinct from ?`, values: [text] };
    default:
      return { sql: `${expression} collate "C" ${operators[op]} ? collate "C"`, values: [text] };
  }
}

function columnFragment(column: FilterColumn, op: Comparison, value: FilterValue): Fragment {
  const name = `d.${column.name}`;
  if (op === 'pr') return { sql: `${name} is not null`, values: [] };
  switch (column.holds) {
    case 'uuid':
      return isUuid(String(value)) && op === 'eq'
        ? { sql: `${name} = ?`, values: [value] }
        : textFragment(`${name}::text`, op, String(value));
    case 'key':
      return textFragment(name, op, String(value).toLowerCase());
    case 'text':
      return textFragment(name, op, String(value));
    case 'flag':
      return { sql: `${name} ${op === 'ne' ? '<>' : '='} ?`, values: [value] };
    case 'time': {
      const operator = op === 'eq' || op === 'ne' || op === 'gt' || op === 'ge' || op === 'lt' || op === 'le' ? operators[op] : '=';
      // Answers say milliseconds. Not every time that is one here is one for the database.
      return { sql: `date_trunc('milliseconds', ${name}) ${operator} ?::timestamptz`, values: [new Date(String(value))] };
    }
  }
}

const pathOf = (keys: readonly Key[]) => `$${keys.map(({ name, many }) => `.${JSON.stringify(name)}${many ? '[*]' : ''}`).join('')}`;

const folded = (value: FilterValue) => (typeof value === 'string' ? value.toLowerCase() : value);

/** The object that holds the value where `keys` lead. */
const nested = (keys: readonly Key[], value: unknown): unknown =>
  keys.reduceRight((inner: unknown, { name, many }) => ({ [name]: many ? [inner] : inner }), value);

/** The object that an element has to contain to fit, where the condition asks for equal values and nothing else: an index finds these. */
function containedIn(condition: DirectoryCondition): Readonly<Record<string, unknown>> | null {
  if (condition.kind === 'value' && condition.op === 'eq' && condition.value !== null)
    return nested(condition.keys, folded(condition.value)) as Record<string, unknown>;
  if (condition.kind !== 'and') return null;
  const all = condition.of.map(containedIn);
  const names = all.flatMap((one) => Object.keys(one ?? {}));
  return all.includes(null) || new Set(names).size < names.length ? null : (Object.assign({}, ...all) as Record<string, unknown>);
}

function valueFragment(base: string, keys: readonly Key[], op: Comparison, value: FilterValue): Fragment {
  const path = pathOf(keys);
  if (op === 'pr') return { sql: `jsonb_path_exists(${base}, ?::jsonpath)`, values: [path] };
  // Nothing is kept that has no value.
  if (value === null) return { sql: `${op === 'ne' ? '' : 'not '}jsonb_path_exists(${base}, ?::jsonpath)`, values: [path] };
  const contained = { sql: `${base} @> ?::jsonb`, values: [JSON.stringify(nested(keys, folded(value)))] };
  if (op === 'eq') return contained;
  if (op === 'ne') return { sql: `not (${contained.sql})`, values: contained.values };
  const { sql, values } = textFragment(`(v.value #>> '{}')`, op, String(folded(value)));
  return { sql: `exists (select from jsonb_path_query(${base}, ?::jsonpath) as v(value) where ${sql})`, values: [path, ...values] };
}

function elementFragment(base: string, keys: readonly Key[], of: DirectoryCondition): Fragment {
  const contained = containedIn(of);
  if (contained) return { sql: `${base} @> ?::jsonb`, values: [JSON.stringify(nested(keys, contained))] };
  const { sql, values } = fragmentOf(of, 'e.value');
  return { sql: `exists (select from jsonb_path_query(${base}, ?::jsonpath) as e(value) where ${sql})`, values: [pathOf(keys), ...values] };
}

function linkFragment(near: string, far: string, id: string | null): Fragment {
  if (id !== null && !isUuid(id)) return never;
  const one = id === null ? '' : ` and m.${far} = ?`;
  const sql = `exists (select from organization_group_members m where m.environment_id = d.environment_id and m.${near} = d.id${one})`;
  return { sql, values: id === null ? [] : [id] };
}

/**
 * The condition as SQL over a row `d`. Everything that came is a value of it, never a part of its text.
 * @param base where values of the resource are: the row's own, or an element of an array
 */
export function fragmentOf(condition: DirectoryCondition, base = 'd.folded'): Fragment {
  switch (condition.kind) {
    case 'and':
    case 'or': {
      const fragments = condition.of.map((one) => fragmentOf(one, base));
      return { sql: `(${fragments.map(({ sql }) => sql).join(` ${condition.kind} `)})`, values: fragments.flatMap(({ values }) => values) };
    }
    case 'not': {
      const { sql, values } = fragmentOf(condition.of, base);
      return { sql: `(${sql}) is not true`, values };
    }
    case 'column':
      return columnFragment(condition.column, condition.op, condition.value);
    case 'value':
      return valueFragment(base, condition.keys, condition.op, condition.value);
    case 'element':
      return elementFragment(base, condition.keys, condition.of);
    case 'member':
      return linkFragment('group_id', 'directory_user_id', condition.id);
    case 'group':
      return linkFragment('directory_user_id', 'group_id', condition.id);
  }
}
