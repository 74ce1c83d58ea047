import { isDeepStrictEqual } from 'node:util';
import type { ApiError } from '../../../errors.js';
import type { Resource } from '../../../management/resource.js';
import { textOf, type BoundField, type Entries } from './fields.js';
import type { ResourceObject } from '../../../management/documents.js';
import { relatedIds } from '../records/objects.js';
import { sentenceOf } from '../texts.js';
import { named, own } from '../../../lib/named.js';

/** A resource object as a request would send it. */
export type FormDocument = {
  readonly data: { readonly attributes: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>;
};

/** A submitted form as input of an operation, and errors of fields that can't be parsed, by field name. */
export type FormInput = { readonly document: FormDocument; readonly errors: Readonly<Record<string, string>> };

const unreadable = Symbol('unreadable');

function valueOf({ kind, core, spec }: BoundField, entries: Entries, name: string): unknown {
  const text = entries.texts[name] ?? '';
  switch (kind) {
    case 'checkbox':
      return text === 'on';
    case 'checks':
      return [...(entries.chosen[name] ?? [])];
    case 'lines': {
      const { line } = spec;
      if (line) {
        const each = line.split?.(text) ?? text.split(/\r?\n/);
        const members = each.filter((one) => one.trim() !== '').map((one) => line.read(one.trim())); // prettier-ignore
        if (members.length === 0 && core?.nullable) return null;
        return members.includes(undefined) ? unreadable : members;
      }
      const values = text.split(/\r?\n|,(?=\s)/).map((line) => line.trim()).filter((line) => line !== ''); // prettier-ignore
      return values.length === 0 && core?.nullable ? null : values;
    }
    case 'number':
    case 'duration':
      if (text.trim() === '') return core?.nullable ? null : core?.optional ? undefined : '';
      return /^\d{1,15}$/.test(text.trim()) ? Number(text.trim()) : text;
    case 'json': {
      if (text.trim() === '') return core?.nullable ? null : {};
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return unreadable;
      }
    }
    case 'password':
      return text === '' ? undefined : text;
    case 'source':
      return text === '' && core?.nullable ? null : text.replaceAll('\r\n', '\n');
    case 'textarea':
      return text === '' && core?.nullable ? null : text.replaceAll('\r\n', ' ');
    case 'datetime-local': {
      const at = new Date(`${text}Z`);
      return text === '' ? null : Number.isNaN(at.getTime()) ? text : at.toISOString();
    }
    default: {
      const trimmed = text.trim();
      if (trimmed !== '') return trimmed;
      return core?.nullable ? null : core?.optional ? undefined : '';
    }
  }
}

function put(
  attributes: Record<string, unknown>,
  name: string,
  value: unknown,
  current: Readonly<Record<string, unknown>> | undefined,
): void {
  const [first = '', inner] = name.split('.');
  if (inner === undefined) attributes[first] = value;
  else
    attributes[first] = {
      ...(current?.[first] as object | null | undefined),
      ...(attributes[first] as object | undefined),
      [inner]: value,
    };
}

/** Members of an object that were left empty don't belong into it. */
function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined && one !== null);
  return Object.fromEntries(entries);
}

/** A member that isn't there, and stays what it is without being there. */
function isUntouched({ spec: { name, initial = '' } }: BoundField, { texts }: Entries, current: ResourceObject | null): boolean {
  const [first = '', inner] = name.split('.');
  if (inner === undefined) return false;
  const outer = current?.attributes[first] as Record<string, unknown> | null | undefined;
  return own(outer, inner) === undefined && texts[name] === initial;
}

const isSameSet = (one: readonly string[], other: readonly string[]) => isDeepStrictEqual(new Set(one), new Set(other));

/**
 * Reads a form into what the operations of the Management API take. A changed record sends only what differs from `current`.
 * @param target the id of the record to change, or null for a new one
 */
export function readForm(resource: Resource, fields: readonly BoundField[], entries: Entries, current: ResourceObject | null): FormInput {
  const attributes: Record<string, unknown> = named();
  const relationships: Record<string, unknown> = named();
  const errors: Record<string, string> = named();
  for (const field of fields) {
    const { name, relationship } = field.spec;
    if (relationship) {
      const target = resource.relationships[name]?.to ?? '';
      const ids = relationship === 'many' ? (entries.chosen[name] ?? []) : [entries.texts[name] ?? ''].filter((id) => id !== '');
      const linkage = ids.map((id) => ({ type: target, id }));
      if (relationship === 'many') {
        if (!current || !isSameSet(ids, relatedIds(current, name))) relationships[name] = { data: linkage };
      } else if (linkage[0]) relationships[name] = { data: linkage[0] };
      continue;
    }
    const was = current?.attributes[name];
    // A time that stands as it was shown, to the minute, is the one that it was.
    const isAsShown = field.kind === 'datetime-local' && entries.texts[name] === textOf(field.kind, was);
    const given = isAsShown ? was : isUntouched(field, entries, current) ? undefined : valueOf(field, entries, name);
    // A field that was emptied in a change is sent as null; the operation refuses it where that isn't allowed.
    const value = given === undefined && current && !name.includes('.') && Boolean(current.attributes[name]) ? '' : given;
    if (value === unreadable) errors[name] = field.spec.line?.wrong ?? 'This is not valid JSON.';
    else if (value !== undefined || name.includes('.')) put(attributes, name, value, current?.attributes);
  }
  for (const name of new Set(fields.filter(({ spec }) => spec.name.includes('.')).map(({ spec }) => spec.name.split('.')[0] as string))) {
    const value = withoutEmpty(attributes[name]) as object;
    attributes[name] = Object.keys(value).length === 0 && current?.attributes[name] === null ? null : value;
  }
  if (current)
    for (const name of Object.keys(attributes)) if (isDeepStrictEqual(attributes[name], current.attributes[name])) delete attributes[name];
  const data = {
    type: resource.type,
    ...(current ? { id: current.id } : {}),
    attributes,
    ...(Object.keys(relationships).length > 0 ? { relationships } : {}),
  };
  return { document: { data }, errors };
}

/** The refusals of an operation by field; what belongs to none of the form's fields comes under `form`. */
export function errorsByField(error: ApiError, fields: readonly BoundField[], entries: Entries): Record<string, string> {
  const errors: Record<string, string> = named();
  const names = fields.map(({ spec }) => spec.name);
  for (const one of error.errors) {
    const path = 'pointer' in (one.source ?? {}) ? (one.source as { pointer: string }).pointer.split('/').slice(3) : [];
    const missing = one.meta?.['field'];
    const attributePath = [...path, ...(typeof missing === 'string' ? [missing] : [])];
    const name =
      names.find((candidate) => candidate === `${attributePath[0]}.${attributePath[1]}`) ??
      names.find((candidate) => candidate === attributePath[0]);
    const position =
      /^\d+$/.test(attributePath[1] ?? '') && name !== undefined
        ? (entries.texts[name] ?? '').split(/\r?\n/).filter(Boolean)[Number(attributePath[1])]
        : undefined;
    const kind = fields.find(({ spec }) => spec.name === name)?.kind;
    const sentence = sentenceOf(one, name === undefined ? undefined : entries.texts[name], kind);
    errors[name ?? 'form'] ??= position === undefined ? sentence : `${position.slice(0, 200)}: ${sentence}`;
  }
  return errors;
}
