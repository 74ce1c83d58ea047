import { ScimError } from '../errors.js';
import type { DirectoryCondition } from '../db/lists/directory-filter.js';
import { findAttribute, isUrn, parsePath, type FoundAttribute, type PatchPath } from './attribute-paths.js';
import { compileElementFilter, fits } from './filter.js';
import {
  fitting,
  isComplex,
  isUnassigned,
  maxValues,
  memberOf,
  readElement,
  readValue,
  withOnePrimary,
  type ScimValues,
} from './read-values.js';
import type { ResourceType } from './schemas.js';

/** One operation on one attribute (RFC 7644 3.5.2). */
export type PatchOperation = { readonly op: 'add' | 'replace' | 'remove'; readonly path: PatchPath; readonly value: unknown };

const maxOperations = 1_000;
const maxPathLength = 1_000;

const refuse = (scimType: 'invalidSyntax' | 'invalidPath' | 'noTarget' | 'invalidValue' | 'mutability', detail: string) =>
  new ScimError(400, scimType, detail);

function readPath(path: string): PatchPath {
  const parsed = path.length > maxPathLength ? null : parsePath(path);
  if (!parsed) throw refuse('invalidPath', 'The path of an operation can not be read (RFC 7644 3.5.2).');
  return parsed;
}

/** An operation without a path says by the names in its value what it concerns; such a name may be a path itself (Entra). */
function spread(op: PatchOperation['op'], value: unknown, type: ResourceType): PatchOperation[] {
  if (op === 'remove') throw refuse('noTarget', 'A removal needs a path (RFC 7644 3.5.2.2).');
  if (!isComplex(value)) throw refuse('invalidValue', 'An operation without a path needs an object as its value.');
  return Object.entries(value).flatMap(([name, one]) => {
    const { extension, schema } = type;
    const whole = [schema, extension].find((known) => known !== null && isUrn(name, known.id));
    if (!whole) return parsePath(name) ? [{ op, path: readPath(name), value: one }] : [];
    return isComplex(one) ? Object.entries(one).map(([sub, inner]) => ({ op, path: readPath(`${whole.id}:${sub}`), value: inner })) : [];
  });
}

function readOperation(one: unknown, type: ResourceType): PatchOperation[] {
  if (!isComplex(one)) throw refuse('invalidSyntax', 'An operation must be an object.');
  const named = memberOf(one, 'op');
  const op = typeof named === 'string' ? named.toLowerCase() : '';
  if (op !== 'add' && op !== 'replace' && op !== 'remove') throw refuse('invalidSyntax', 'op must be add, replace or remove.');
  const path = memberOf(one, 'path');
  const value = memberOf(one, 'value');
  if (op !== 'remove' && value === undefined) throw refuse('invalidValue', `${op} needs a value.`);
  if (path === undefined || path === null || path === '') return spread(op, value, type);
  if (typeof path !== 'string') throw refuse('invalidPath', 'The path of an operation must be a text.');
  if (type.extension && isUrn(path, type.extension.id))
    return spread(op === 'remove' ? 'replace' : op, op === 'remove' ? blank(type) : value, type).map((each) => ({
      ...each,
      path: readPath(`${path}:${each.path.name.split(':').at(-1)}`),
    }));
  return [{ op, path: readPath(path), value: value ?? null }];
}

/** Nothing for each attribute of the extension. */
const blank = ({ extension }: ResourceType): ScimValues =>
  Object.fromEntries((extension?.attributes ?? []).map(({ name }) => [name, null]));

/** The operations of a PATCH, in order. @throws {ScimError} 400 */
export function readOperations(type: ResourceType, body: ScimValues): PatchOperation[] {
  const operations = memberOf(body, 'operations');
  if (!Array.isArray(operations) || operations.length === 0) throw refuse('invalidSyntax', 'Operations must be a list of operations.');
  const read = operations.slice(0, maxOperations + 1).flatMap((one) => readOperation(one, type));
  // What has no path is one for each name in it.
  if (read.length > maxOperations) throw refuse('invalidValue', `A request has at most ${maxOperations} operations.`);
  return read;
}

/** What the path means; null for what the schemas don't have, which is ignored. @throws {ScimError} 400 `mutability` */
function patchTarget(type: ResourceType, { op, path, value }: PatchOperation, id: string): FoundAttribute | null {
  const found = findAttribute(type, path.name);
  const root = found && (found.of ?? found.attribute);
  if (!root || root.name === 'schemas') return null;
  // Okta names the resource in what it replaces.
  if (root.name === 'id' && op === 'replace' && value === id) return null;
  if (root.mutability === 'readOnly') throw refuse('mutability', `${root.name} can not be changed.`);
  return found;
}

type Held = Record<string, unknown>;

/** Where the attribute is filled in the resource, made on the way there. */
const holderOf = (resource: Held, keys: readonly string[]): Held =>
  keys.slice(0, -1).reduce((inner, key) => {
    const next = isComplex(inner[key]) ? { ...inner[key] } : {};
    inner[key] = next;
    return next;
  }, resource);

function put(holder: Held, name: string, value: unknown): void {
  if (isUnassigned(value) || (isComplex(value) && Object.keys(value).length === 0)) delete holder[name];
  else holder[name] = value;
}

/** A part that holds nothing any more is not there. */
function dropEmpty(resource: Held, name: string): void {
  const held = resource[name];
  if (!isComplex(held)) return;
  const filled = Object.entries(held).filter(([, value]) => !(isComplex(value) && Object.keys(value).length === 0));
  put(resource, name, Object.fromEntries(filled));
}

/** What an element has to hold for the condition, where that is plain enough to make one of it. */
function elementOf(condition: DirectoryCondition): ScimValues | null {
  if (condition.kind === 'value' && condition.op === 'eq') return { [condition.keys.at(-1)?.name ?? '']: condition.value };
  if (condition.kind !== 'and') return null;
  const all = condition.of.map(elementOf);
  return all.includes(null) ? null : (Object.assign({}, ...all) as ScimValues);
}

/** Elements as texts, to find equal ones by. */
const textsOf = (elements: readonly unknown[]): ReadonlySet<string> => new Set(elements.map((one) => JSON.stringify(one)));

const listOf = (value: unknown): unknown[] => (isUnassigned(value) ? [] : Array.isArray(value) ? (value as unknown[]) : [value]);

/** Changes some elements of a multi-valued attribute: those that the filter chooses, or all where only a part is named. */
function patchElements(type: ResourceType, held: readonly unknown[], operation: PatchOperation, found: FoundAttribute): unknown[] {
  const { op, path, value } = operation;
  const attribute = found.of ?? found.attribute;
  const name = path.sub ?? (found.of ? found.attribute.name : null);
  const part = name === null ? null : attribute.subAttributes?.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (part === undefined) return [...held];
  const condition = path.filter === null ? null : compileElementFilter(type, attribute.name, path.filter);
  const chosen = (element: unknown) => condition === null || fits(element, condition);
  if (op === 'remove' || isUnassigned(value)) {
    if (part === null) return held.filter((element) => !chosen(element));
    return held.map((element) =>
      chosen(element) && isComplex(element) ? Object.fromEntries(Object.entries(element).filter(([key]) => key !== part.name)) : element,
    );
  }
  const label = `${attribute.name}${part ? `.${part.name}` : ''}`;
  const given = part
    ? { [part.name]: readElement(part, value, label) }
    : (readElement(attribute, Array.isArray(value) ? value[0] : value, label) as ScimValues);
  const changed = held.map((element) => (chosen(element) && isComplex(element) ? { ...element, ...given } : element));
  if (held.some(chosen)) return last(changed, held, given);
  const made = condition === null ? {} : elementOf(condition);
  if (made === null) throw refuse('noTarget', `No value of ${attribute.name} fits the filter of the path.`);
  return withOnePrimary([...held, { ...made, ...given }]);
}

/** A value that was just made the primary one is the only one, wherever it stands in the list. */
function last(changed: readonly unknown[], held: readonly unknown[], given: ScimValues): unknown[] {
  if (given['primary'] !== true) return [...changed];
  const at = changed.findLastIndex((one, index) => one !== held[index]);
  return changed.map((one, index) => (index !== at && isComplex(one) && one['primary'] === true ? { ...one, primary: false } : one));
}

function patchList(held: readonly unknown[], { op, value }: PatchOperation, { attribute }: FoundAttribute): unknown[] {
  const given = listOf(readValue(attribute, value, attribute.name));
  if (op === 'replace') return given;
  if (op === 'remove') {
    if (listOf(value).length === 0) return [];
    const [texts, values] = [textsOf(given), new Set(given.map((one) => (isComplex(one) ? one['value'] : undefined)))];
    const isNamed = (element: unknown) => isComplex(element) && element['value'] !== undefined && values.has(element['value']);
    return held.filter((element) => !texts.has(JSON.stringify(element)) && !isNamed(element));
  }
  const texts = textsOf(held);
  return withOnePrimary([...held, ...given.filter((one) => !texts.has(JSON.stringify(one)))]);
}

function patchSingle(holder: Held, { op, value }: PatchOperation, { attribute, keys }: FoundAttribute): void {
  const name = keys.at(-1) ?? '';
  const read = op === 'remove' ? null : readValue(attribute, value, keys.at(-1) ?? '');
  // Parts that aren't named stay (RFC 7644 3.5.2.3).
  put(holder, name, isComplex(read) && isComplex(holder[name]) ? { ...(holder[name] as ScimValues), ...read } : read);
}

/**
 * The resource after the operations, in their order; nothing of it is filled unless all succeed. Adding what is there and removing what isn't succeed.
 * @throws {ScimError} 400
 */
export function applyOperations(type: ResourceType, resource: ScimValues, operations: readonly PatchOperation[], id: string): ScimValues {
  const after: Held = { ...resource };
  for (const operation of operations) {
    const found = patchTarget(type, operation, id);
    if (!found) continue;
    const { attribute, of, keys } = found;
    const several = of?.multiValued ? of : attribute.multiValued ? attribute : null;
    if (several === null) {
      if (operation.path.filter !== null) throw refuse('invalidPath', `${attribute.name} does not hold several values to choose from.`);
      patchSingle(holderOf(after, keys), operation, found);
      dropEmpty(after, keys[0] ?? '');
      continue;
    }
    const path = of?.multiValued ? keys.slice(0, -1) : keys;
    const holder = holderOf(after, path);
    const name = path.at(-1) ?? '';
    const held = listOf(holder[name]);
    const byElement = operation.path.filter !== null || of !== null;
    const changed = byElement ? patchElements(type, held, operation, found) : patchList(held, operation, found);
    if (changed.length > maxValues) throw refuse('invalidValue', `${name} must be at most ${maxValues} values.`);
    put(holder, name, changed);
    // Lists alone let it grow: every operation looks through all of it.
    fitting(after);
  }
  return after;
}
