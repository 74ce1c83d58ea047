import type { Presentation } from '../presentation.js';
import { environmentKindChoices } from '../choices.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { subscriptionCounts, subscribers } from './subscriptions.js';
import { code, duration, inWords, json, nothing, quiet, stack, state, text, time, yesNo, words, statusStates } from '../values.js';

const domainStates = statusStates({ pending: ['info', 'Pending'], verified: ['good', 'Verified'], failed: ['bad', 'Not found'] });
const domainState = (record: ResourceObject): Value =>
  record.attributes['missing_since'] !== null ? state('warning', 'Record missing') : domainStates(record);

type DnsRecord = { record_kind: string; name: string; value: string };

function dnsRecords(record: ResourceObject): Part {
  const found = record.attributes['verification_records'] as DnsRecord[];
  const rows = found.map((one) => ({ path: null, cells: [text(one.record_kind), code(one.name, true), code(one.value, true)] }));
  const empty = { title: 'Nothing to set', text: 'The domain is verified.', button: null };
  return {
    kind: 'table',
    id: 'records',
    caption: 'Set these DNS records, then check',
    heading: true,
    columns: [{ label: 'Type' }, { label: 'Name' }, { label: 'Value' }],
    rows,
    empty,
    pager: null,
  };
}

/** Names under which the environment answers. */
export const custom_domains: Presentation = {
  path: 'custom_domains',
  title: 'Custom domains',
  navigation: {
    group: 'Environment',
    icon: [
      'M10 17.25a7.25 7.25 0 1 0 0-14.5 7.25 7.25 0 0 0 0 14.5z',
      'M2.75 10h14.5M10 2.75c2.2 2 3.25 4.4 3.25 7.25S12.2 15.25 10 17.25c-2.2-2-3.25-4.4-3.25-7.25S7.8 4.75 10 2.75z',
    ],
  },
  one: 'custom domain',
  lead: 'Names of your own under which this environment answers. The primary one makes the issuer.',
  empty: {
    title: 'No custom domains yet',
    text: 'With one, people sign in at login.example.com and tokens carry it as their issuer. A DNS record proves that it is yours.',
  },
  columns: [
    { label: 'Domain', sort: 'domain', value: (record) => text(record.attributes['domain']) },
    { label: 'Status', value: domainState },
    { label: 'Primary', value: (record) => yesNo(record.attributes['is_primary']) },
    { label: 'Checked', value: (record, { now }) => time(record.attributes['last_checked_at'], now) },
  ],
  filters: [{ name: 'status', label: 'Status' }],
  name: (record) => words(record.attributes['domain']),
  state: domainState,
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Primary', value: yesNo(a['is_primary']) },
    { label: 'Verified', value: time(a['verified_at'], now) },
    { label: 'Checked', value: time(a['last_checked_at'], now) },
    { label: 'What was wrong', value: text(a['failure_reason']) },
    ...(a['missing_since'] === null ? [] : [{ label: 'Record missing since', value: time(a['missing_since'], now) }]),
    { label: 'Added', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  more: async (_look, record) => [dnsRecords(record)],
  fields: [
    {
      name: 'domain',
      label: 'Domain',
      on: 'create',
      hint: 'A lower-case host name such as login.example.com.',
      attributes: { maxlength: 253, autocapitalize: 'none', spellcheck: 'false' },
    },
    {
      name: 'is_primary',
      label: 'Primary: the issuer is made of this domain',
      hint: 'Clients must then know the new issuer, and the links in all mails lead there. Only a verified domain can be primary; it takes every permission, and all administrators get mail.',
      on: 'update',
    },
  ],
  edit: { guarded: true },
  create: { label: 'Add domain', title: 'Add a custom domain' },
  remove: {
    label: 'Remove domain',
    text: 'The environment no longer answers there; links and clients that use the name break.',
    typed: (record) => words(record.attributes['domain']),
  },
  actions: { verify: { label: 'Check now', done: 'checked' } },
};

const environmentKind = (record: ResourceObject): Value => text(inWords(words(record.attributes['kind'])));

/** Environments. */
export const environments: Presentation = {
  path: 'environments',
  title: 'Environments',
  navigation: {
    group: 'Environment',
    icon: ['m10 3 7.25 3.75L10 10.5 2.75 6.75z', 'm2.75 10.25 7.25 3.75 7.25-3.75M2.75 13.5 10 17.25l7.25-3.75'],
  },
  one: 'environment',
  lead: 'Separate worlds of users, clients and keys. Each has its own address and dashboard.',
  empty: { title: 'No environments', text: 'There is always at least this one.' },
  columns: [
    { label: 'Name', sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['slug']))) },
    { label: 'Kind', value: environmentKind },
    { label: 'Dashboard', value: (record) => ({ kind: 'web', text: `${words(record.attributes['base_url'])}/dashboard` }) },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [{ name: 'kind', label: 'Kind' }],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Kind', value: environmentKind({ attributes: a } as ResourceObject) },
    { label: 'Slug', value: code(a['slug']) },
    { label: 'Issuer', value: code(a['issuer'], true) },
    { label: 'Dashboard', value: { kind: 'web', text: `${words(a['base_url'])}/dashboard` } },
    { label: 'Session lifetime', value: duration(a['session_lifetime']) },
    { label: 'Registration', value: text(a['registration_enabled'] === true ? 'Open' : 'Closed') },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  fields: [
    { name: 'name', label: 'Name', attributes: { maxlength: 100 } },
    {
      name: 'slug',
      label: 'Slug',
      on: 'create',
      hint: 'Part of its address: lower-case letters, digits and hyphens.',
      attributes: { maxlength: 63, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'kind', label: 'Kind', choices: environmentKindChoices },
  ],
  create: {
    label: 'Create environment',
    title: 'Create an environment',
    lead: 'It gets a client that may administer it through the Management API; its secret is shown once.',
    guarded: true,
  },
  remove: {
    label: 'Delete environment',
    text: 'Everything in it goes: users, clients, keys, webhooks. This can not be undone.',
    when: (record) => record.attributes['is_default'] !== true,
    typed: (record) => words(record.attributes['slug']),
  },
  secrets: {
    create: {
      title: 'Save the management client',
      label: 'Client secret',
      text: 'With it and the client id, the Management API of the new environment can be used: get a token there by client credentials.',
    },
  },
};

/** The catalogue of events. */
export const event_types: Presentation = {
  path: 'event_types',
  title: 'Event types',
  navigation: { group: 'Events', icon: ['M4 5h.1M4 10h.1M4 15h.1M7.5 5h9M7.5 10h9M7.5 15h9'] },
  one: 'event type',
  lead: 'What webhooks can subscribe to, with the schema of each payload.',
  empty: { title: 'No event types', text: 'There is nothing to subscribe to.' },
  columns: [
    { label: 'Event', value: (record) => code(record.attributes['name']) },
    { label: 'When', value: (record) => text(record.attributes['description']) },
    { label: 'About', value: (record) => quiet(words(record.attributes['group']).replaceAll('_', ' ')) },
    { label: 'Subscribed', numeric: true, value: (record, _look, { beside }) => beside?.get(record.id) ?? nothing },
  ],
  beside: subscriptionCounts,
  more: async (look, record) => subscribers(look, words(record.attributes['name'])),
  filters: [],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a }) => [
    { label: 'When', value: text(a['description']) },
    { label: 'About', value: text(words(a['group']).replaceAll('_', ' ')) },
    { label: 'JSON Schema of data', value: json(a['payload_schema']) },
  ],
};
