import { apiResourceChoices, clientChoices } from '../../parts/forms/choices.js';
import { linkedRecord } from '../../parts/records/linked-record.js';
import { type Presentation } from '../../parts/records/presentation.js';
import { relatedId, includedRecord } from '../../parts/records/objects.js';
import type { ResourceObject } from '../../../management/documents.js';
import { lines, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const subjects = [
  { value: 'client', label: terms.client, hint: 'Client credentials: no person is involved. Not for public clients.' },
  { value: 'user', label: terms.user, hint: 'Required for the Management API and for APIs that only allow clients with a grant.' },
];
const exchanges = [
  { value: 'none', label: terms.none },
  { value: 'delegation', label: 'Delegation', hint: 'Tokens name the client in the act claim.' },
  {
    value: 'impersonation',
    label: 'Impersonation',
    hint: 'Tokens look as if the person had called. Each exchange is recorded in the audit log.',
  },
];
const exchangeLabel = (grant: ResourceObject) => text(exchanges.find(({ value }) => value === grant.attributes['token_exchange'])?.label);
const subjectLabel = (grant: ResourceObject) => text(grant.attributes['subject_type'] === 'user' ? terms.user : terms.client);

const nameIn = (record: ResourceObject, relationship: string, included: readonly ResourceObject[]) =>
  includedRecord(record, relationship, included)?.attributes['name'];

export const clientGrantsPresentation: Presentation = {
  path: 'client_grants',
  title: 'Client grants',
  under: 'clients',
  one: 'client grant',
  lead: 'The API scopes that a client gets for itself (client credentials), or may request from people.',
  empty: {
    title: 'No grants yet',
    text: 'A service that calls your API on its own behalf needs a grant. So does an application that requests Management API permissions from people.',
  },
  include: 'client,api_resource',
  columns: [
    {
      label: terms.client,
      value: (record, _view, { included }) => text(nameIn(record, 'client', included) ?? relatedId(record, 'client')),
    },
    { label: terms.api, value: (record, _view, { included }) => text(nameIn(record, 'api_resource', included)) },
    { label: terms.subject_type, value: subjectLabel },
    { label: terms.scopes, value: (record) => tags(record.attributes['scopes'], 4) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'api_resource', label: terms.api, choices: apiResourceChoices },
    { name: 'subject_type', label: terms.subject_type, choices: async () => subjects.map(({ value, label }) => ({ value, label })) },
  ],
  name: (record, included = []) =>
    `${words(nameIn(record, 'client', included) ?? relatedId(record, 'client'))} → ${words(nameIn(record, 'api_resource', included) ?? terms.api)}`,
  summary: (record, { now }, included) => {
    return [
      { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
      { label: terms.api, value: linkedRecord(record, 'api_resource', 'api_resources', 'name', included) },
      { label: terms.subject_type, value: subjectLabel(record) },
      { label: terms.scopes, value: tags(record.attributes['scopes'], 200) },
      { label: terms.token_exchange, value: exchangeLabel(record) },
      { label: terms.assertions, value: text(record.attributes['assertions'] === true ? terms.allowed : terms.refused) },
      { label: 'Subject audiences', value: lines(record.attributes['subject_audiences']) },
      { label: terms.created, value: time(record.attributes['created_at'], now) },
    ];
  },
  fields: [
    { name: 'client', label: terms.client, relationship: 'one', on: 'create', choices: clientChoices },
    { name: 'api_resource', label: terms.api_resource, relationship: 'one', on: 'create', choices: apiResourceChoices },
    { name: 'subject_type', label: terms.subject_type, kind: 'radios', on: 'create', initial: 'client', choices: async () => subjects },
    {
      name: 'scopes',
      label: terms.scopes,
      hint: 'One per line, out of the permissions of the API that you hold yourself. credentials:write, of the Management API, gives control over all APIs: it includes every permission of every other API.',
      optional: false,
    },
    {
      name: 'token_exchange',
      label: terms.token_exchange,
      hint: 'Whether it can exchange people’s tokens for tokens of this API (RFC 8693).',
      kind: 'radios',
      initial: 'none',
      choices: async () => exchanges,
    },
    {
      name: 'subject_audiences',
      label: 'Subject audiences',
      hint: 'The APIs whose tokens it may exchange: one identifier per line, usually its own. It may always exchange tokens that were issued to it.',
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
    {
      name: 'assertions',
      label: terms.assertions,
      hint: 'Whether it gets people’s tokens for identity assertions of a connection (ID-JAG), where the API takes them.',
    },
  ],
  create: { label: terms.create_client_grant, title: 'Let a client call an API' },
  remove: {
    label: 'Delete client grant',
    text: 'The client gets no more tokens of this kind for this API, and its existing ones stop working. People’s tokens for an API that is open to all clients stay valid.',
  },
};
