import { aboveDetails, detailExtras, detailedSummary } from '../../parts/records/details.js';
import { clientChoices, connectionChoices } from '../../parts/forms/choices.js';
import { clientColumn, linkedName, linkedRecord, userColumn } from '../../parts/records/linked-record.js';
import { recordPath, type ColumnSpec, type Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { relatedId, includedRecord } from '../../parts/records/objects.js';
import type { Value } from '../../parts/page-parts.js';
import { code, json, stack, state, statusStates, tags, text, time, words } from '../../parts/values.js';
import { named } from '../../../lib/named.js';
import { terms } from '../../parts/words.js';

const tabOf = (tab: string) => (record: ResourceObject) => {
  const user = relatedId(record, 'user');
  return user === null ? null : `${recordPath('users', user)}/${tab}`;
};

/** Whether the account signs its person in, or the connection has changed since. */
const linkState = (record: ResourceObject): Value =>
  record.attributes['proven'] === true ? state('good', 'Signs in') : state('warning', terms.suspended_until_verified_again);

export const identitiesPresentation: Presentation = {
  path: 'identities',
  title: terms.connected_accounts,
  under: 'users',
  one: 'connected account',
  lead: 'Accounts at other providers that people sign in with. Created when people sign in through a connection.',
  empty: { title: 'No connected accounts yet', text: 'One appears when someone signs in through a connection.' },
  include: 'user,connection',
  columns: [
    { label: terms.account, value: ({ attributes: a }) => text(a['email'] ?? a['subject']) },
    {
      label: terms.connection,
      value: (record, _view, { included }) => linkedRecord(record, 'connection', 'connections', 'display_name', included),
    },
    userColumn,
    { label: 'Link', value: linkState },
    { label: terms.last_used, value: (record, { now }) => time(record.attributes['last_login_at'], now) },
    { label: 'Connected', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'connection', label: terms.connection, choices: connectionChoices },
    {
      name: 'proven',
      label: 'Link',
      choices: async () => [
        { value: 'true', label: 'Signs in' },
        { value: 'false', label: 'Suspended' },
      ],
    },
    { name: 'subject', label: terms.subject, kind: 'text' },
  ],
  name: ({ attributes: a }) => words(a['email'] ?? a['subject']),
  summary: (record, { now }, included) => [
    { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
    { label: terms.connection, value: linkedRecord(record, 'connection', 'connections', 'display_name', included) },
    { label: 'Email at the provider', value: text(record.attributes['email']) },
    { label: terms.subject, value: code(record.attributes['subject'], true) },
    { label: 'Link', value: linkState(record) },
    { label: terms.last_used, value: time(record.attributes['last_login_at'], now) },
    { label: 'Connected', value: time(record.attributes['created_at'], now) },
  ],
  remove: {
    label: 'Unlink account',
    text: 'The person can no longer sign in with it. Sessions stay active. Signing in with the account again can reconnect it, if the connection allows.',
    leadsTo: tabOf('identities'),
  },
};

const scopesByApi = 'Scopes by API';

/** What was allowed: scopes, and details below them. */
const scopesColumn: ColumnSpec = {
  label: terms.scopes,
  value: (record, _view, { extras }) => aboveDetails(tags(record.attributes['scopes'], 6), extras?.get(record.id)),
};

const consentSummary: Presentation['summary'] = (record, { now }, included) => [
  { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
  { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
  { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
  { label: scopesByApi, value: json(record.attributes['resource_scopes']) },
  { label: terms.allowed, value: time(record.attributes['granted_at'], now) },
  { label: terms.changed, value: time(record.attributes['updated_at'], now) },
];

export const consentsPresentation: Presentation = {
  path: 'consents',
  title: terms.consents,
  under: 'users',
  one: 'consent',
  lead: 'The access that people gave to applications.',
  empty: { title: 'No consents yet', text: 'Consents appear when people allow an application that isn’t first-party.' },
  include: 'user,client',
  columns: [
    clientColumn,
    userColumn,
    scopesColumn,
    { label: terms.allowed, sort: 'granted_at', value: (record, { now }) => time(record.attributes['granted_at'], now) },
  ],
  filters: [{ name: 'client', label: terms.client, choices: clientChoices }],
  name: (record, included = []) => linkedName(record, 'client', included),
  extras: detailExtras,
  summary: consentSummary,
  named: detailedSummary(consentSummary, scopesByApi),
  remove: {
    label: 'Withdraw consent',
    text: 'Everything issued to the client for this person stops working, and the client has to ask again.',
    leadsTo: tabOf('consents'),
  },
};

const origins: Readonly<Record<string, string>> = named({
  person: 'The person',
  administrator: 'An administrator',
  employer: 'The employer',
  approval: 'The person, elsewhere',
});
const allowedByLabel = 'Allowed by';
const allowedBy = ({ attributes: a }: ResourceObject): Value => text(origins[words(a['origin'])]);
const authorizationState = statusStates({ active: ['good', terms.active], blocked: ['bad', 'Blocked'] });
const isBlocked = ({ attributes: a }: ResourceObject) => a['status'] === 'blocked';

const authorizationSummary: Presentation['summary'] = (record, { now }, included) => [
  { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
  { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
  { label: allowedByLabel, value: allowedBy(record) },
  { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
  { label: scopesByApi, value: json(record.attributes['resource_scopes']) },
  { label: terms.last_used, value: time(record.attributes['last_used_at'], now) },
  { label: terms.allowed, value: time(record.attributes['granted_at'], now) },
  ...(record.attributes['blocked_at'] === null ? [] : [{ label: 'Blocked since', value: time(record.attributes['blocked_at'], now) }]),
];

export const authorizationsPresentation: Presentation = {
  path: 'authorizations',
  title: terms.authorizations,
  under: 'users',
  one: 'authorization',
  lead: 'The clients that act for people, whoever allowed it: by consent, as first-party clients, by token exchange or by identity assertions.',
  empty: { title: 'No authorizations yet', text: 'Authorizations appear when a client gets tokens for a person.' },
  include: 'user,client',
  columns: [
    {
      label: terms.client,
      value: (record, _view, { included }) => {
        const client = includedRecord(record, 'client', included);
        const name = text(client?.attributes['name'] ?? relatedId(record, 'client'));
        return client?.attributes['is_agent'] === true ? stack(name, state('info', terms.ai_agent)) : name;
      },
    },
    userColumn,
    scopesColumn,
    { label: allowedByLabel, value: allowedBy },
    { label: terms.status, value: authorizationState },
    { label: terms.last_used, sort: 'last_used_at', value: (record, { now }) => time(record.attributes['last_used_at'], now) },
    { label: terms.allowed, sort: 'granted_at', value: (record, { now }) => time(record.attributes['granted_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'origin', label: allowedByLabel, choices: async () => Object.entries(origins).map(([value, label]) => ({ value, label })) },
    { name: 'status', label: terms.status },
  ],
  name: (record, included = []) => linkedName(record, 'client', included),
  state: authorizationState,
  extras: detailExtras,
  summary: authorizationSummary,
  named: detailedSummary(authorizationSummary, scopesByApi),
  actions: {
    revoke: {
      label: 'Revoke access',
      confirm: [
        'Everything the client holds for this person stops working immediately, along with tokens that others exchanged it for.',
        'The client can ask again.',
      ],
      danger: true,
      leadsTo: () => '/dashboard/authorizations',
      done: 'revoked',
    },
    block: {
      label: 'Block client',
      when: (record) => !isBlocked(record),
      confirm: [
        'Everything the client holds for this person stops working immediately, and it gets no new access, even if it is first-party.',
        'Only an administrator can unblock it.',
      ],
      danger: true,
      done: 'updated',
    },
    unblock: { label: 'Unblock client', when: isBlocked, confirm: ['The client can ask for access again.'], done: 'updated' },
  },
};
