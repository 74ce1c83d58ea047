import { isStorable, jsonObject } from './json-object.js';
import { named, own } from './named.js';
import { holdsInvisible, holdsStack } from './plain-words.js';

export const detailFieldKinds = ['text', 'number', 'money', 'date', 'choice'] as const;

export type DetailField = {
  readonly name: string;
  readonly kind: (typeof detailFieldKinds)[number];
  /** Whether it holds several values of the kind. */
  readonly list?: boolean | undefined;
  readonly required?: boolean | undefined;
  /** The most: members of a list, else characters of a text, the number, the amount; null or left out: as many as any has. */
  readonly max?: number | null | undefined;
  /** Of money: the one that is taken. Amounts compare in one currency alone, so that what has a `max` has it. */
  readonly currency?: string | undefined;
  /** Of a choice: its values. */
  readonly choices?: readonly string[] | undefined;
};

/** What the objects of one type say, as requests are held against it. */
export type DetailShape = { readonly name: string; readonly fields: readonly DetailField[] };

/** One of the objects of `authorization_details` (RFC 9396 2). */
export type Detail = { readonly type: string; readonly [field: string]: unknown };

/** Money: the amount in decimals, as a text, so that nothing of it is rounded. */
export type Money = { readonly currency: string; readonly amount: string };

/** Of objects in one request, and of the bytes of all. */
export const [maxDetails, maxDetailsBytes] = [10, 8192];

export const [maxTextLength, maxListLength] = [1000, 50];

const amountShape = /^(?:0|[1-9]\d{0,14})(?:\.\d{1,4})?$/;
export const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));
const dayShape = /^\d{4}-\d{2}-\d{2}$/;

/** Ten-thousandths of an amount. */
function unitsOf(amount: string): bigint {
  const [whole = '0', rest = ''] = amount.split('.');
  return BigInt(whole + rest.padEnd(4, '0'));
}

const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER && !Object.is(value, -0);

const isDay = (value: string): boolean => {
  if (!dayShape.test(value)) return false;
  const at = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(value);
};

export function asMoney(value: unknown): Money | null {
  const { currency, amount, ...others } = jsonObject(value) ?? {};
  if (typeof currency !== 'string' || typeof amount !== 'string' || Object.keys(others).length > 0) return null;
  return currencies.has(currency) && amountShape.test(amount) ? { currency, amount } : null;
}

/** One value of the field as it is kept; undefined where it is none. `most`: null where the list is what is bounded. */
function valueOf({ kind, choices = [], currency }: DetailField, value: unknown, most: number | null): unknown {
  if (kind === 'number') return isNumber(value) && (most === null || value <= most) ? value : undefined;
  if (kind === 'money') {
    const money = asMoney(value);
    if (!money || ((currency !== undefined || most !== null) && money.currency !== currency)) return undefined;
    return most === null || unitsOf(money.amount) <= BigInt(most) * 10_000n ? money : undefined;
  }
  if (typeof value !== 'string') return undefined;
  if (kind === 'date') return isDay(value) ? value : undefined;
  if (kind === 'choice') return choices.includes(value) ? value : undefined;
  const isGood = value.trim() !== '' && value.isWellFormed() && !holdsInvisible(value) && !holdsStack(value);
  return isGood && [...value].length <= (most ?? maxTextLength) ? value : undefined;
}

/** Whether both say the same, whatever the order of members. */
const canonical = (value: unknown): string => {
  const object = jsonObject(value);
  if (object)
    return `{${Object.keys(object)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonical(object[name])}`)
      .join()}}`;
  return Array.isArray(value) ? `[${value.map(canonical).join()}]` : JSON.stringify(value);
};

export const isSameDetail = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

function fieldValue(field: DetailField, value: unknown): unknown {
  if (!field.list) return valueOf(field, value, field.max ?? null);
  if (!Array.isArray(value) || value.length === 0 || value.length > (field.max ?? maxListLength)) return undefined;
  const members = value.map((one: unknown) => valueOf(field, one, null));
  const isGood = !members.includes(undefined) && new Set(members.map(canonical)).size === members.length;
  return isGood ? members : undefined;
}

/** The object as it is kept: known fields alone, in the order of its type; or, as a text, what is wrong with it. */
export function readDetail(type: DetailShape, object: Readonly<Record<string, unknown>>): Detail | string {
  const unknown = Object.keys(object).find((name) => name !== 'type' && !type.fields.some((field) => field.name === name));
  if (unknown !== undefined) return `${plain(unknown)} is no field of the type ${plain(type.name)}`;
  const values: Record<string, unknown> = named({ type: type.name });
  for (const field of type.fields) {
    const given = own(object, field.name);
    if (given === undefined && !field.required) continue;
    const value = given === undefined ? undefined : fieldValue(field, given);
    if (value === undefined)
      return given === undefined ? `${field.name} is missing` : `${field.name} is no ${field.kind} as its type has it`;
    values[field.name] = value;
  }
  return { ...values, type: type.name };
}

/** A name of the request's as an error may repeat it (RFC 6749 5.2). */
const plain = (name: string): string => (/^[\w.:/-]{1,100}$/.test(name) ? name : 'what is named');

/** A list of objects, of lists, of amounts: nothing that can be allowed is deeper. */
const maxDepth = 4;

/** The objects of the parameter, of which nothing has been checked but that they are objects with a type; or, as a text, what is wrong. */
export function parseDetails(text: string): readonly Detail[] | string {
  if (Buffer.byteLength(text) > maxDetailsBytes) return `must have at most ${maxDetailsBytes} bytes`;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return 'must be JSON';
  }
  if (!Array.isArray(list) || !isStorable(list, maxDepth))
    return 'must be a list of objects without deeper ones, and hold nothing that can not be stored';
  if (list.length === 0 || list.length > maxDetails) return `must have 1 to ${maxDetails} objects`;
  const isDetail = (one: unknown): one is Detail => typeof own(jsonObject(one), 'type') === 'string';
  return list.every(isDetail) ? list : 'must be a list of objects, each with a type';
}

/** Whether the value gives no more than the other: the same, a smaller amount or number, fewer members of a list. */
function isWithin(value: unknown, most: unknown): boolean {
  if (typeof most === 'number') return isNumber(value) && value <= most;
  if (Array.isArray(most))
    return Array.isArray(value) && value.length > 0 && value.length <= most.length && isSubsetOf(value.map(canonical), most.map(canonical));
  const limit = asMoney(most);
  if (!limit) return typeof most === 'string' && value === most;
  const money = asMoney(value);
  return money !== null && money.currency === limit.currency && unitsOf(money.amount) <= unitsOf(limit.amount);
}

const isSubsetOf = (some: readonly string[], all: readonly string[]) =>
  new Set(some).size === some.length && some.every((one) => all.includes(one));

/** A field that is absent may stand for "any": both have the same ones. */
function isDetailWithin(detail: Detail, most: Detail): boolean {
  const names = Object.keys(most);
  if (Object.keys(detail).length !== names.length || detail.type !== most.type) return false;
  return names.every((name) => Object.hasOwn(detail, name) && isWithin(detail[name], most[name]));
}

/**
 * The details, if they give no more than those that were allowed, each of which stands for one (RFC 9396 6); else null. What isn't an amount, a number or
 * a list has to be the same.
 */
export function narrowDetails(requested: readonly Detail[], allowed: readonly Detail[]): readonly Detail[] | null {
  const takenBy: (number | undefined)[] = [];
  const assign = (at: number, seen: Set<number>): boolean =>
    allowed.some((most, index) => {
      if (seen.has(index) || !isDetailWithin(requested[at] as Detail, most)) return false;
      seen.add(index);
      const other = takenBy[index];
      if (other !== undefined && !assign(other, seen)) return false;
      takenBy[index] = at;
      return true;
    });
  return requested.every((_one, at) => assign(at, new Set())) ? requested : null;
}

/** The details in a JWT that is known to be ours; null where it has none. */
export const detailsIn = (value: unknown): readonly Detail[] | null =>
  Array.isArray(value) ? value.filter((one): one is Detail => typeof own(jsonObject(one), 'type') === 'string') : null;
