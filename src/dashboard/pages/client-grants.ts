import { apiResourceChoices, clientChoices } from '../choices.js';
import { recordPath, type Presentation } from '../presentation.js';
import { relatedId, includedRecord } from '../resource-objects.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, lines, link, quiet, tags, text, time, words } from '../values.js';

const subjects = [
  { value: 'client', label: 'For itself', hint: 'Client credentials: no person is involved. Not for public clients.' },
  {
    value: 'user',
    label: 'To ask people for',
    hint: 'The Management API, and APIs that say so, take people’s tokens from clients with such a grant only.',
  },
];
const exchanges = [
  { value: 'none', label: 'None' },
  { value: 'delegation', label: 'Delegation', hint: 'Its tokens say that it acts for the person: the claim act names it.' },
  { value: 'impersonation', label: 'Impersonation', hint: 'Its tokens are as if the person had called; the audit log tells, each time.' },
];
const exchangeLabel = (grant: ResourceObject) => text(exchanges.find(({ value }) => value === grant.attributes['token_exchange'])?.label);
const subjectLabel = (grant: ResourceObject) => text(grant.attributes['subject_type'] === 'user' ? 'To ask people for' : 'For itself');

const nameIn = (record: ResourceObject, relationship: string, included: readonly ResourceObject[]) =>
  includedRecord(record, relationship, included)?.attributes['name'];

/** What clients may do for themselves, and what they may ask people for. */
export const client_grants: Presentation = {
  path: 'client_grants',
  title: 'Client grants',
  navigation: { group: 'Applications', icon: ['M4 10.5 8 14.5 16.5 5.5'] },
  one: 'client grant',
  lead: 'Which scopes of an API a client gets for itself (client credentials), and which it may ask people for where that takes a grant.',
  empty: {
    title: 'No grants yet',
    text: 'A service that calls your API on its own behalf needs a grant: this client, that API, these scopes. So does an application that asks people for permissions of the Management API.',
  },
  include: 'client,api_resource',
  recordInclude: 'client,api_resource',
  columns: [
    { label: 'Client', value: (record, _look, { included }) => text(nameIn(record, 'client', included) ?? relatedId(record, 'client')) },
    { label: 'API', value: (record, _look, { included }) => text(nameIn(record, 'api_resource', included)) },
    { label: 'For', value: subjectLabel },
    { label: 'Scopes', value: (record) => tags(record.attributes['scopes'], 4) },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: 'Client', choices: clientChoices },
    { name: 'api_resource', label: 'API', choices: apiResourceChoices },
    { name: 'subject_type', label: 'For', choices: async () => subjects.map(({ value, label }) => ({ value, label })) },
  ],
  name: (record, included = []) =>
    `${words(nameIn(record, 'client', included) ?? relatedId(record, 'client'))} → ${words(nameIn(record, 'api_resource', included) ?? 'API')}`,
  summary: (record, { now }, included) => {
    const [client, api] = [includedRecord(record, 'client', included), includedRecord(record, 'api_resource', included)];
    return [
      {
        label: 'Client',
        value: client ? link(words(client.attributes['name']), recordPath('clients', client.id)) : code(relatedId(record, 'client')),
      },
      { label: 'API', value: api ? link(words(api.attributes['name']), recordPath('api_resources', api.id)) : quiet('–') },
      { label: 'For', value: subjectLabel(record) },
      { label: 'Scopes', value: tags(record.attributes['scopes'], 200) },
      { label: 'Token exchange', value: exchangeLabel(record) },
      { label: 'Subject audiences', value: lines(record.attributes['subject_audiences']) },
      { label: 'Created', value: time(record.attributes['created_at'], now) },
      { label: 'Id', value: code(record.id, true) },
    ];
  },
  fields: [
    { name: 'client', label: 'Client', relationship: 'one', on: 'create', choices: clientChoices },
    { name: 'api_resource', label: 'API resource', relationship: 'one', on: 'create', choices: apiResourceChoices },
    {
      name: 'subject_type',
      label: 'What for',
      kind: 'radios',
      on: 'create',
      initial: 'client',
      choices: async () => subjects,
    },
    { name: 'scopes', label: 'Scopes', hint: 'One a line, out of the permissions of the API.', optional: false },
    {
      name: 'token_exchange',
      label: 'Token exchange',
      hint: 'Whether it gets tokens of this API for those of people that it was called with (RFC 8693).',
      kind: 'radios',
      initial: 'none',
      choices: async () => exchanges,
    },
    {
      name: 'subject_audiences',
      label: 'Subject audiences',
      hint: 'Whose tokens it may bring to an exchange: identifiers of APIs, one a line, usually of the one that it is itself. Tokens that were issued to it, it always may.',
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
  ],
  create: { label: 'Create grant', title: 'Let a client call an API' },
  remove: {
    label: 'Delete grant',
    text: 'The client gets no further tokens of this kind for this API, and those that it has stop working. People’s tokens for an API that is open to every client go on.',
  },
};
