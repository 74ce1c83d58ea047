import type { Value } from '../../parts/page-parts.js';
import { clientColumn, linkedName, linkedRecord } from '../../parts/records/linked-record.js';
import type { ResourceObject } from '../../../management/documents.js';
import { acrLabel, anyRoleChoices, clientChoices, externalServerChoices, organizationChoices, organizationGroupChoices, statusField } from '../../parts/forms/choices.js'; // prettier-ignore
import { includedRecord, relatedId } from '../../parts/records/objects.js';
import { type FieldSpec, type Presentation } from '../../parts/records/presentation.js';
import { code, duration, lines, state, tags, text, time, words } from '../../parts/values.js';
import { requirementFields } from '../apis/requirement-fields.js';
import { terms } from '../../parts/words.js';

/** For whom a grant is, by its relationships. */
const people = [
  ['organization', terms.organization, organizationChoices, 'display_name', 'organizations'],
  ['organization_group', terms.group, organizationGroupChoices, 'display_name', 'organization_groups'],
  ['role', terms.role, anyRoleChoices, 'name', 'roles'],
] as const;

const plain = { spellcheck: 'false', autocapitalize: 'none' } as const;

const fields: readonly FieldSpec[] = [
  { name: 'client', label: terms.client, relationship: 'one', on: 'create', choices: clientChoices },
  { name: 'external_server', label: 'External server', relationship: 'one', on: 'create', choices: externalServerChoices },
  { name: 'external_client_id', label: 'Client ID there', hint: 'What the external server calls the client. Leave empty for clients of metadata documents.', attributes: plain },
  { name: 'resources', label: terms.resources, hint: 'Identifiers, one per line. Leave empty for all.', attributes: plain },
  { name: 'scopes', label: terms.scopes, hint: 'One per line; none for all.', attributes: plain },
  { name: 'authorization_details_types', label: terms.authorization_details, hint: 'Types as the server names them, one per line. People aren’t asked about these details.', attributes: plain },
  ...people.map(([name, label, choices]): FieldSpec => ({ name, label, relationship: 'one', optional: true, choices, hint: 'Only for its people. Leave empty for everybody.' })),
  ...requirementFields('assertions'),
  statusField('It lets nobody have assertions.'),
]; // prettier-ignore

const whom = (record: ResourceObject, included: readonly ResourceObject[]): string => {
  const some = people.filter(([name]) => relatedId(record, name) !== null);
  const names = some.map(([name, label, , attribute]) => words(includedRecord(record, name, included)?.attributes[attribute] ?? label));
  return names.length === 0 ? 'Everybody' : names.join(', ');
};

const statusOf = ({ attributes: a }: ResourceObject): Value =>
  a['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled);

const include = ['client', 'external_server', ...people.map(([name]) => name)].join(',');

export const outboundGrantsPresentation: Presentation = {
  path: 'outbound_grants',
  title: 'Outbound grants',
  under: 'advanced',
  one: 'outbound grant',
  lead: 'Which clients get identity assertions for which external servers, and for whom.',
  empty: { title: 'No outbound grants yet', text: 'A client needs a grant to call an API behind an external server for people who sign in here.' },
  include,
  columns: [
    clientColumn,
    { label: 'External server', value: (record, _view, { included }) => text(includedRecord(record, 'external_server', included)?.attributes['name']) },
    { label: 'For whom', value: (record, _view, { included }) => text(whom(record, included)) },
    { label: terms.status, value: statusOf },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'external_server', label: 'External server', choices: externalServerChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record, included = []) =>
    `${linkedName(record, 'client', included)} → ${words(includedRecord(record, 'external_server', included)?.attributes['name'] ?? 'External server')}`,
  state: statusOf,
  summary: (record, { now }, included) => {
    const { attributes: a } = record;
    return [
      { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
      { label: 'External server', value: linkedRecord(record, 'external_server', 'external_servers', 'name', included) },
      { label: 'Client ID there', value: code(a['external_client_id'], true) },
      { label: terms.resources, value: lines(a['resources'] ?? [terms.all]) },
      { label: terms.scopes, value: tags(a['scopes'] ?? [terms.all], 200) },
      { label: terms.authorization_details, value: tags(a['authorization_details_types']) },
      ...people.map(([name, label, , attribute, path]) => ({ label, value: linkedRecord(record, name, path, attribute, included) })),
      { label: terms.required_authentication_context, value: text(acrLabel(a['required_acr'])) },
      { label: terms.maximum_authentication_age, value: duration(a['max_authentication_age'], terms.the_session) },
      { label: terms.created, value: time(a['created_at'], now) },
    ];
  },
  fields,
  create: { label: 'Create outbound grant', title: 'Let a client act at an external server', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete outbound grant', text: 'The client gets no more assertions by it. Tokens that it has got live on at the external server.' },
}; // prettier-ignore
