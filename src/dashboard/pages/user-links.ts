import { clientChoices, connectionChoices } from '../choices.js';
import { recordPath, type ColumnSpec, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedId, includedRecord } from '../resource-objects.js';
import type { Value } from '../page-parts.js';
import { code, json, link, nothing, state, tags, text, time, words } from '../values.js';
import { nouns, sentences, terms } from '../words.js';

/** The tab of the user that the record belongs to. */
const tabOf = (tab: string) => (record: ResourceObject) => {
  const user = relatedId(record, 'user');
  return user === null ? null : `${recordPath('users', user)}/${tab}`;
};

/** The record that is linked to, by its name where the reader may see it. */
function linked(record: ResourceObject, name: string, path: string, attribute: string, included: readonly ResourceObject[]): Value {
  const id = relatedId(record, name);
  const found = includedRecord(record, name, included);
  return found ? link(words(found.attributes[attribute]), recordPath(path, found.id)) : id === null ? nothing : code(id);
}

const userColumn: ColumnSpec = {
  label: terms.user,
  value: (record, _look, { included }) => linked(record, 'user', 'users', 'email', included),
};

/** Whether the account signs its person in, or the connection has changed since. */
const linkState = (record: ResourceObject): Value =>
  record.attributes['proven'] === true ? state('good', terms.signs_in) : state('warning', terms.suspended_until_verified_again);

/** Accounts at providers. */
export const identities: Presentation = {
  path: 'identities',
  title: terms.connected_accounts,
  under: 'users',
  one: nouns.connected_account,
  lead: sentences.user_links_lead,
  empty: { title: terms.no_connected_accounts_yet, text: sentences.one_appears_when_somebody_signs_in_through },
  include: 'user,connection',
  recordInclude: 'user,connection',
  columns: [
    { label: terms.account, value: ({ attributes: a }) => text(a['email'] ?? a['subject']) },
    {
      label: terms.connection,
      value: (record, _look, { included }) => linked(record, 'connection', 'connections', 'display_name', included),
    },
    userColumn,
    { label: terms.link, value: linkState },
    { label: terms.last_used, value: (record, { now }) => time(record.attributes['last_login_at'], now) },
    { label: terms.connected, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'connection', label: terms.connection, choices: connectionChoices },
    {
      name: 'proven',
      label: terms.link,
      choices: async () => [
        { value: 'true', label: terms.signs_in },
        { value: 'false', label: terms.suspended },
      ],
    },
    { name: 'subject', label: terms.subject, kind: 'text' },
  ],
  name: ({ attributes: a }) => words(a['email'] ?? a['subject']),
  summary: (record, { now }, included) => [
    { label: terms.user, value: linked(record, 'user', 'users', 'email', included) },
    { label: terms.connection, value: linked(record, 'connection', 'connections', 'display_name', included) },
    { label: terms.email_at_the_provider, value: text(record.attributes['email']) },
    { label: terms.subject, value: code(record.attributes['subject'], true) },
    { label: terms.link, value: linkState(record) },
    { label: terms.last_used, value: time(record.attributes['last_login_at'], now) },
    { label: terms.connected, value: time(record.attributes['created_at'], now) },
    { label: terms.id, value: code(record.id, true) },
  ],
  remove: {
    label: terms.unlink_account,
    text: sentences.it_no_longer_signs_this_person_in,
    leadsTo: tabOf('identities'),
  },
};

/** Consents of users to applications. */
export const consents: Presentation = {
  path: 'consents',
  title: terms.consents,
  under: 'users',
  one: nouns.consent,
  lead: sentences.what_people_allowed_applications_that,
  empty: { title: terms.no_consents_yet, text: sentences.one_appears_when_somebody_lets },
  include: 'user,client',
  recordInclude: 'user,client',
  columns: [
    {
      label: terms.client,
      value: (record, _look, { included }) =>
        text(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client')),
    },
    userColumn,
    { label: terms.scopes, value: (record) => tags(record.attributes['scopes'], 6) },
    { label: terms.allowed, sort: 'granted_at', value: (record, { now }) => time(record.attributes['granted_at'], now) },
  ],
  filters: [{ name: 'client', label: terms.client, choices: clientChoices }],
  name: (record, included = []) => words(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client')),
  summary: (record, { now }, included) => [
    { label: terms.user, value: linked(record, 'user', 'users', 'email', included) },
    { label: terms.client, value: linked(record, 'client', 'clients', 'name', included) },
    { label: terms.scopes, value: tags(record.attributes['scopes'], 100) },
    { label: terms.scopes_by_api, value: json(record.attributes['resource_scopes']) },
    { label: terms.allowed, value: time(record.attributes['granted_at'], now) },
    { label: terms.changed, value: time(record.attributes['updated_at'], now) },
    { label: terms.id, value: code(record.id, true) },
  ],
  remove: {
    label: terms.withdraw_consent,
    text: sentences.everything_that_the_client_holds,
    leadsTo: tabOf('consents'),
  },
};
