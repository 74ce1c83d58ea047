import { ScimError } from '../errors.js';
import { named } from '../lib/named.js';
import { isUrn } from './attribute-paths.js';
import { commonAttributes, type Attribute, type ResourceType } from './schemas.js';

export type ScimValues = Readonly<Record<string, unknown>>;

const maxTextLength = 4_096;
const maxCertificateLength = 16_384;
/** Of what an index holds. */
const maxKeyLength = 512;
/** Values of one attribute; of a group's members more (specification 16.6). */
export const maxValues = 100;
/** Of a resource as JSON: a page shows 200 of them, and each operation of a PATCH looks through all of one. */
const maxResourceLength = 65_536;

export const isComplex = (value: unknown): value is ScimValues => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member of that lower-case name, however it is written. */
export const memberOf = (values: ScimValues, name: string): unknown =>
  Object.entries(values).find(([key]) => key.toLowerCase() === name)?.[1];

const refuse = (name: string, must: string) => new ScimError(400, 'invalidValue', `${name} must be ${must}.`);

/** The resource, unless it is too long to be kept. @throws {ScimError} 400 `invalidValue` */
export function fitting(values: ScimValues): ScimValues {
  if (JSON.stringify(values).length <= maxResourceLength) return values;
  throw refuse('The resource', `at most ${maxResourceLength} characters long, as JSON`);
}

/** Whether nothing is said: null and an empty list count as absent (RFC 7643 2.5). */
export const isUnassigned = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

/** One text or one of true and false, which Entra writes as texts. @throws {ScimError} 400 `invalidValue` */
function readSimple({ type }: Attribute, value: unknown, name: string): unknown {
  if (type === 'boolean') {
    const flag = typeof value === 'string' ? { true: true, false: false }[value.toLowerCase() as 'true'] : value;
    if (typeof flag !== 'boolean') throw refuse(name, 'true or false');
    return flag;
  }
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') throw refuse(name, 'a text');
  const longest = type === 'binary' ? maxCertificateLength : maxTextLength;
  if (text.length > longest) throw refuse(name, `at most ${longest} characters long`);
  return text;
}

/** One value of an attribute, single or one of several. @throws {ScimError} 400 `invalidValue` */
export function readElement(attribute: Attribute, value: unknown, name: string): unknown {
  if (attribute.type !== 'complex') return readSimple(attribute, value, name);
  // `manager` as Entra sends it, and lists of plain texts: the value alone.
  if (!isComplex(value)) {
    const plain = attribute.subAttributes?.find((one) => one.name === 'value');
    if (!plain) throw refuse(name, 'an object');
    return { value: readSimple(plain, value, name) };
  }
  return readMembers(attribute.subAttributes ?? [], value, name);
}

/** The value of an attribute as it is kept; null where nothing is left of it. @throws {ScimError} 400 `invalidValue` */
export function readValue(attribute: Attribute, value: unknown, name: string): unknown {
  if (isUnassigned(value)) return null;
  if (!attribute.multiValued) {
    const read = readElement(attribute, value, name);
    return isComplex(read) && Object.keys(read).length === 0 ? null : read;
  }
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  if (list.length > maxValues) throw refuse(name, `at most ${maxValues} values`);
  return withOnePrimary(list.filter((one) => !isUnassigned(one)).map((one) => readElement(attribute, one, name)));
}

/** Of several primary values the last one is (RFC 7644 3.5.2.1). */
export function withOnePrimary(values: readonly unknown[]): unknown[] {
  const last = values.findLastIndex((one) => isComplex(one) && one['primary'] === true);
  return values.map((one, at) => (at !== last && isComplex(one) && one['primary'] === true ? { ...one, primary: false } : one));
}

/** The members of an object that the attributes have, under their own names; what is read-only or unknown is passed over. @throws {ScimError} 400 */
function readMembers(attributes: readonly Attribute[], values: ScimValues, owner: string): ScimValues {
  const read = named<unknown>();
  for (const [name, value] of Object.entries(values)) {
    const attribute = attributes.find((one) => one.name.toLowerCase() === name.toLowerCase());
    if (!attribute || attribute.mutability === 'readOnly') continue;
    const stored = readValue(attribute, value, owner === '' ? attribute.name : `${owner}.${attribute.name}`);
    if (stored !== null) read[attribute.name] = stored;
  }
  return { ...read };
}

/**
 * A resource as a request bears it, with its extension under its URN; without its members, which are a group's own list.
 * @throws {ScimError} 400 `invalidValue`
 */
export function readResource({ schema, extension }: ResourceType, body: ScimValues): ScimValues {
  const externalId = commonAttributes.filter(({ name }) => name === 'externalId');
  const core = readMembers([...externalId, ...schema.attributes.filter(({ name }) => name !== 'members')], body, '');
  if (!extension) return core;
  const extended = Object.entries(body).find(([name]) => isUrn(name, extension.id))?.[1];
  if (isUnassigned(extended)) return core;
  if (!isComplex(extended)) throw refuse(extension.id, 'an object');
  const read = readMembers(extension.attributes, extended, '');
  return Object.keys(read).length === 0 ? core : { ...core, [extension.id]: read };
}

/** A text that resources are found by; null where there is none. @throws {ScimError} 400 `invalidValue` */
export function keyText(values: ScimValues, name: string): string | null {
  const text = values[name];
  if (typeof text !== 'string' || text === '') return null;
  if (text.length > maxKeyLength) throw refuse(name, `at most ${maxKeyLength} characters long`);
  return text;
}

/** One that a resource can't be without. @throws {ScimError} 400 `invalidValue` */
export function requiredText(values: ScimValues, name: string): string {
  const text = keyText(values, name);
  if (text === null || text.trim() === '') throw refuse(name, 'given');
  return text;
}
