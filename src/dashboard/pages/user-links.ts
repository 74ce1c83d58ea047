import { clientChoices, connectionChoices } from '../choices.js';
import { recordPath, type ColumnSpec, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedId, includedRecord } from '../resource-objects.js';
import type { Value } from '../page-parts.js';
import { code, json, link, nothing, state, tags, text, time, words } from '../values.js';

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
  label: 'User',
  value: (record, _look, { included }) => linked(record, 'user', 'users', 'email', included),
};

/** Whether the account signs its person in, or the connection has changed since. */
export const linkState = (record: ResourceObject): Value =>
  record.attributes['proven'] === true ? state('good', 'Signs in') : state('warning', 'Void until proven again');

/** Accounts at providers. */
export const identities: Presentation = {
  path: 'identities',
  title: 'Connected accounts',
  under: 'users',
  one: 'connected account',
  lead: 'Accounts at providers that sign people in. They come about when people sign in through a connection.',
  empty: { title: 'No connected accounts yet', text: 'One appears when somebody signs in through a connection.' },
  include: 'user,connection',
  recordInclude: 'user,connection',
  columns: [
    { label: 'Account', value: ({ attributes: a }) => text(a['email'] ?? a['subject']) },
    { label: 'Connection', value: (record, _look, { included }) => linked(record, 'connection', 'connections', 'display_name', included) },
    userColumn,
    { label: 'Link', value: linkState },
    { label: 'Last used', value: (record, { now }) => time(record.attributes['last_login_at'], now) },
    { label: 'Connected', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'connection', label: 'Connection', choices: connectionChoices },
    {
      name: 'proven',
      label: 'Link',
      choices: async () => [
        { value: 'true', label: 'Signs in' },
        { value: 'false', label: 'Void' },
      ],
    },
    { name: 'subject', label: 'Subject', kind: 'text' },
  ],
  name: ({ attributes: a }) => words(a['email'] ?? a['subject']),
  summary: (record, { now }, included) => [
    { label: 'User', value: linked(record, 'user', 'users', 'email', included) },
    { label: 'Connection', value: linked(record, 'connection', 'connections', 'display_name', included) },
    { label: 'Email there', value: text(record.attributes['email']) },
    { label: 'Subject', value: code(record.attributes['subject'], true) },
    { label: 'Link', value: linkState(record) },
    { label: 'Last used', value: time(record.attributes['last_login_at'], now) },
    { label: 'Connected', value: time(record.attributes['created_at'], now) },
    { label: 'Id', value: code(record.id, true) },
  ],
  remove: {
    label: 'Unlink account',
    text: 'It no longer signs this person in. Sessions go on; signing in with the account again may connect it anew, as the connection allows.',
    leadsTo: tabOf('identities'),
  },
};

/** Consents of users to applications. */
export const consents: Presentation = {
  path: 'consents',
  title: 'Consents',
  under: 'users',
  one: 'consent',
  lead: 'What people allowed applications that ask first.',
  empty: { title: 'No consents yet', text: 'One appears when somebody lets in a client that is not your own.' },
  include: 'user,client',
  recordInclude: 'user,client',
  columns: [
    {
      label: 'Client',
      value: (record, _look, { included }) =>
        text(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client')),
    },
    userColumn,
    { label: 'Scopes', value: (record) => tags(record.attributes['scopes'], 6) },
    { label: 'Allowed', sort: 'granted_at', value: (record, { now }) => time(record.attributes['granted_at'], now) },
  ],
  filters: [{ name: 'client', label: 'Client', choices: clientChoices }],
  name: (record, included = []) => words(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client')),
  summary: (record, { now }, included) => [
    { label: 'User', value: linked(record, 'user', 'users', 'email', included) },
    { label: 'Client', value: linked(record, 'client', 'clients', 'name', included) },
    { label: 'Scopes', value: tags(record.attributes['scopes'], 100) },
    { label: 'By API', value: json(record.attributes['resource_scopes']) },
    { label: 'Allowed', value: time(record.attributes['granted_at'], now) },
    { label: 'Changed', value: time(record.attributes['updated_at'], now) },
    { label: 'Id', value: code(record.id, true) },
  ],
  remove: {
    label: 'Withdraw consent',
    text: 'Everything that the client holds of this person stops working, and it has to ask again.',
    leadsTo: tabOf('consents'),
  },
};
