import { apiResourceChoices, clientChoices } from '../choices.js';
import { recordPath, type Presentation } from '../presentation.js';
import { relatedId, includedRecord } from '../resource-objects.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, lines, link, quiet, tags, text, time, words } from '../values.js';
import { hints, nouns, sentences, terms } from '../words.js';

const subjects = [
  { value: 'client', label: terms.client, hint: hints.client },
  {
    value: 'user',
    label: terms.user,
    hint: hints.user,
  },
];
const exchanges = [
  { value: 'none', label: terms.none },
  { value: 'delegation', label: terms.delegation, hint: hints.delegation },
  { value: 'impersonation', label: terms.impersonation, hint: hints.impersonation },
];
const exchangeLabel = (grant: ResourceObject) => text(exchanges.find(({ value }) => value === grant.attributes['token_exchange'])?.label);
const subjectLabel = (grant: ResourceObject) => text(grant.attributes['subject_type'] === 'user' ? terms.user : terms.client);

const nameIn = (record: ResourceObject, relationship: string, included: readonly ResourceObject[]) =>
  includedRecord(record, relationship, included)?.attributes['name'];

/** What clients may do for themselves, and what they may ask people for. */
export const client_grants: Presentation = {
  path: 'client_grants',
  title: terms.client_grants,
  navigation: { group: 'Applications', icon: ['M4 10.5 8 14.5 16.5 5.5'] },
  one: nouns.client_grant,
  lead: sentences.client_grants_lead,
  empty: {
    title: terms.no_grants_yet,
    text: sentences.a_service_that_calls_your,
  },
  include: 'client,api_resource',
  recordInclude: 'client,api_resource',
  columns: [
    {
      label: terms.client,
      value: (record, _look, { included }) => text(nameIn(record, 'client', included) ?? relatedId(record, 'client')),
    },
    { label: terms.api, value: (record, _look, { included }) => text(nameIn(record, 'api_resource', included)) },
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
    const [client, api] = [includedRecord(record, 'client', included), includedRecord(record, 'api_resource', included)];
    return [
      {
        label: terms.client,
        value: client ? link(words(client.attributes['name']), recordPath('clients', client.id)) : code(relatedId(record, 'client')),
      },
      { label: terms.api, value: api ? link(words(api.attributes['name']), recordPath('api_resources', api.id)) : quiet('–') },
      { label: terms.subject_type, value: subjectLabel(record) },
      { label: terms.scopes, value: tags(record.attributes['scopes'], 200) },
      { label: terms.token_exchange, value: exchangeLabel(record) },
      { label: terms.subject_audiences, value: lines(record.attributes['subject_audiences']) },
      { label: terms.created, value: time(record.attributes['created_at'], now) },
      { label: terms.id, value: code(record.id, true) },
    ];
  },
  fields: [
    { name: 'client', label: terms.client, relationship: 'one', on: 'create', choices: clientChoices },
    { name: 'api_resource', label: terms.api_resource, relationship: 'one', on: 'create', choices: apiResourceChoices },
    {
      name: 'subject_type',
      label: terms.subject_type,
      kind: 'radios',
      on: 'create',
      initial: 'client',
      choices: async () => subjects,
    },
    { name: 'scopes', label: terms.scopes, hint: hints.client_grants_scopes, optional: false },
    {
      name: 'token_exchange',
      label: terms.token_exchange,
      hint: hints.token_exchange,
      kind: 'radios',
      initial: 'none',
      choices: async () => exchanges,
    },
    {
      name: 'subject_audiences',
      label: terms.subject_audiences,
      hint: hints.subject_audiences,
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
  ],
  create: { label: terms.create_client_grant, title: terms.let_a_client_call_an_api },
  remove: {
    label: terms.delete_client_grant,
    text: sentences.the_client_gets_no_further,
  },
};
