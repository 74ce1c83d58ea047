import type { Value } from '../../parts/page-parts.js';
import type { ResourceObject } from '../../../management/documents.js';
import { clientChoices, connectionChoices, statusField } from '../../parts/forms/choices.js';
import { includedRecord, relatedId } from '../../parts/records/objects.js';
import { recordPath, type FieldSpec, type Presentation } from '../../parts/records/presentation.js';
import { link, state, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const fields: readonly FieldSpec[] = [
  { name: 'client', label: terms.client, relationship: 'one', on: 'create', choices: clientChoices },
  {
    name: 'connection',
    label: terms.connection,
    relationship: 'one',
    on: 'create',
    choices: connectionChoices,
    hint: 'One that keeps tokens for clients.',
  },
  {
    name: 'scopes',
    label: terms.scopes,
    optional: false,
    hint: 'The provider’s, one per line. Taking one away ends the tokens that the client has.',
    attributes: { spellcheck: 'false', autocapitalize: 'none' },
  },
  statusField('The client gets no tokens.'),
];

const named = (record: ResourceObject, name: string, attribute: string, included: readonly ResourceObject[]): string =>
  words(includedRecord(record, name, included)?.attributes[attribute] ?? relatedId(record, name));

const linked = (record: ResourceObject, name: string, path: string, attribute: string, included: readonly ResourceObject[]): Value => {
  const found = includedRecord(record, name, included);
  return found ? link(words(found.attributes[attribute]), recordPath(path, found.id)) : text(relatedId(record, name));
};

const statusOf = ({ attributes: a }: ResourceObject): Value =>
  a['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled);

export const providerGrantsPresentation: Presentation = {
  path: 'provider_grants',
  title: 'Provider grants',
  under: 'advanced',
  one: 'provider grant',
  lead: 'Which clients get people’s access tokens at which providers. The people are asked.',
  empty: {
    title: 'No provider grants yet',
    text: 'A client needs a grant to call the API of a provider for people who have an account there.',
  },
  include: 'client,connection',
  columns: [
    { label: terms.client, value: (record, _view, { included }) => text(named(record, 'client', 'name', included)) },
    { label: terms.connection, value: (record, _view, { included }) => text(named(record, 'connection', 'display_name', included)) },
    { label: terms.scopes, value: (record) => tags(record.attributes['scopes'], 6) },
    { label: terms.status, value: statusOf },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'connection', label: terms.connection, choices: connectionChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record, included = []) =>
    `${named(record, 'client', 'name', included)} → ${named(record, 'connection', 'display_name', included)}`,
  state: statusOf,
  summary: (record, { now }, included) => [
    { label: terms.client, value: linked(record, 'client', 'clients', 'name', included) },
    { label: terms.connection, value: linked(record, 'connection', 'connections', 'display_name', included) },
    { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
  ],
  fields,
  create: { label: 'Create provider grant', title: 'Let a client call a provider’s API for people', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete provider grant', text: 'The client gets no more tokens at the provider, and those that it has end.' },
};
