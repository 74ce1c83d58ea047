import type { Value } from '../../parts/page-parts.js';
import { clientColumn, linkedName, linkedRecord } from '../../parts/records/linked-record.js';
import type { ResourceObject } from '../../../management/documents.js';
import { clientChoices, connectionChoices, statusField } from '../../parts/forms/choices.js';
import { type FieldSpec, type Presentation } from '../../parts/records/presentation.js';
import { state, tags, text, time } from '../../parts/values.js';
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
    clientColumn,
    { label: terms.connection, value: (record, _view, { included }) => text(linkedName(record, 'connection', included, 'display_name')) },
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
    `${linkedName(record, 'client', included)} → ${linkedName(record, 'connection', included, 'display_name')}`,
  state: statusOf,
  summary: (record, { now }, included) => [
    { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
    { label: terms.connection, value: linkedRecord(record, 'connection', 'connections', 'display_name', included) },
    { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
  ],
  fields,
  create: { label: 'Create provider grant', title: 'Let a client call a provider’s API for people', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete provider grant', text: 'The client gets no more tokens at the provider, and those that it has end.' },
};
