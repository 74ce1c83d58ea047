import type { ResourceObject } from '../../../management/documents.js';
import type { Value } from '../page-parts.js';
import { code, link, nothing, text, words } from '../values.js';
import { terms } from '../words.js';
import { includedRecord, relatedId, relatedIds } from './objects.js';
import { recordPath, type ColumnSpec } from './presentation.js';

/** The record that is linked to, by its name where the reader may see it; `none` where there is no link. */
export function linkedRecord(
  record: ResourceObject,
  name: string,
  path: string,
  attribute: string,
  included: readonly ResourceObject[],
  none: Value = nothing,
): Value {
  const id = relatedId(record, name);
  const found = includedRecord(record, name, included);
  return found ? link(words(found.attributes[attribute]), recordPath(path, found.id)) : id === null ? none : code(id);
}

/** What it is called, or its id. */
export const linkedName = (record: ResourceObject, relationship: string, included: readonly ResourceObject[] = [], attribute = 'name') =>
  words(includedRecord(record, relationship, included)?.attributes[attribute] ?? relatedId(record, relationship));

/** The names of several. */
export function linkedNames(record: ResourceObject, relationship: string, included: readonly ResourceObject[]): unknown[] {
  const ids = new Set(relatedIds(record, relationship));
  return included.filter(({ id }) => ids.has(id)).map(({ attributes }) => attributes['name']);
}

export const userColumn: ColumnSpec = {
  label: terms.user,
  value: (record, _view, { included }) => linkedRecord(record, 'user', 'users', 'email', included),
};

export const clientColumn: ColumnSpec = {
  label: terms.client,
  value: (record, _view, { included }) => text(linkedName(record, 'client', included)),
};
