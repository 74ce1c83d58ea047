import { apiResourceChoices, permissionChoices } from '../choices.js';
import { recordPath, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedOf } from '../resource-objects.js';
import { code, figure, link, quiet, state, tags, text, time, yesNo, words } from '../values.js';
import type { Part } from '../page-parts.js';

const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const names = (included: readonly ResourceObject[]) =>
  included.filter((one) => one.type === 'permission').map((one) => one.attributes['name']);

/** Who holds the role: the first fifty. */
async function holders(look: Parameters<NonNullable<Presentation['more']>>[0], record: ResourceObject): Promise<readonly Part[]> {
  const { call } = look.req;
  if (!call.actor.permissions.has('users:read')) return [];
  const { records, next } = await relatedOf(call, 'roles', record.id, 'users', { size: 50 });
  const rows = records.map((user) => ({
    path: recordPath('users', user.id),
    cells: [text(user.attributes['email']), text([user.attributes['first_name'], user.attributes['last_name']].filter(Boolean).join(' '))],
  }));
  const empty = { title: 'Nobody holds this role', text: 'Give it to a user on the user’s page, under Roles.', button: null };
  const table: Part = {
    kind: 'table',
    id: 'holders',
    caption: next ? 'Holders (the first 50)' : `Holders (${figure(records.length)})`,
    heading: true,
    columns: [{ label: 'User' }, { label: 'Name' }],
    rows,
    empty,
    pager: null,
  };
  return [table];
}

/** Named sets of permissions. */
export const roles: Presentation = {
  path: 'roles',
  title: 'Roles',
  navigation: { group: 'People', icon: ['M10 2.75 16.25 5v4.75c0 3.75-2.6 6.4-6.25 7.5-3.65-1.1-6.25-3.75-6.25-7.5V5z'] },
  one: 'role',
  lead: 'Named sets of permissions that users hold. What a role allows, its holders’ tokens and this dashboard allow them.',
  empty: {
    title: 'No roles yet',
    text: 'A role bundles permissions, such as “support” or “billing”, so that you give people one thing instead of many.',
  },
  columns: [
    { label: 'Name', sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: 'Description', value: (record) => text(record.attributes['description']) },
    { label: 'For new users', value: (record) => yesNo(record.attributes['is_default']) },
    { label: 'Kind', value: (record) => quiet(isOwn(record) ? 'Your own' : 'Built in') },
    { label: 'Changed', sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Search', kind: 'search' },
    { name: 'is_default', label: 'For new users' },
  ],
  recordInclude: 'permissions',
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', 'Your own') : state('info', 'Built in')),
  summary: (record, { now }, included) => [
    { label: 'Description', value: text(record.attributes['description']) },
    { label: 'Given to new users', value: yesNo(record.attributes['is_default']) },
    { label: 'Permissions', value: tags(names(included), 100) },
    { label: 'Created', value: time(record.attributes['created_at'], now) },
    { label: 'Id', value: code(record.id, true) },
  ],
  more: (look, record) => holders(look, record),
  fields: [
    { name: 'name', label: 'Name', attributes: { maxlength: 100 } },
    { name: 'description', label: 'Description', hint: 'What people with this role do.', attributes: { maxlength: 500 } },
    { name: 'is_default', label: 'Give this role to every new user' },
    {
      name: 'permissions',
      label: 'Permissions',
      relationship: 'many',
      choices: permissionChoices,
      hint: 'You can only hand out permissions of the Management API that you hold yourself.',
    },
  ],
  create: { label: 'Create role', title: 'Create a role' },
  edit: { when: isOwn },
  remove: {
    label: 'Delete role',
    text: 'Only a role that nobody holds can be deleted.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};

/** Permissions of an API. */
export const permissions: Presentation = {
  path: 'permissions',
  title: 'Permissions',
  navigation: { group: 'Applications', icon: ['M6.5 17a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z', 'm9 11 7.5-7.5M13 7l2.5 2.5'] },
  one: 'permission',
  lead: 'What an API lets its callers do. The name is the OAuth scope.',
  empty: { title: 'No permissions yet', text: 'Add an API resource first, then what it lets callers do, such as orders:read.' },
  include: 'api_resource',
  recordInclude: 'api_resource,roles',
  columns: [
    { label: 'Name', sort: 'name', value: (record) => code(record.attributes['name']) },
    { label: 'API', value: (record, _look, { included }) => text(apiOf(record, included)?.attributes['name']) },
    { label: 'Description', value: (record) => text(record.attributes['description']) },
  ],
  filters: [
    { name: 'search', label: 'Search', kind: 'search' },
    { name: 'is_system', label: 'Of the Management API' },
  ],
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', 'Your own') : state('info', 'Built in')),
  summary: (record, { now }, included) => {
    const api = apiOf(record, included);
    return [
      { label: 'API', value: api ? link(words(api.attributes['name']), recordPath('api_resources', api.id)) : quiet('–') },
      { label: 'Description', value: text(record.attributes['description']) },
      { label: 'Roles that hold it', value: tags(included.filter((one) => one.type === 'role').map((one) => one.attributes['name'])) },
      { label: 'Created', value: time(record.attributes['created_at'], now) },
      { label: 'Id', value: code(record.id, true) },
    ];
  },
  fields: [
    { name: 'api_resource', label: 'API resource', relationship: 'one', on: 'create', choices: apiResourceChoices },
    {
      name: 'name',
      label: 'Name',
      hint: 'Such as orders:read: visible ASCII without spaces and quotes.',
      on: 'create',
      attributes: { maxlength: 200, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'description', label: 'Description', hint: 'People see it on the consent page.', attributes: { maxlength: 500 } },
  ],
  create: { label: 'Create permission', title: 'Create a permission' },
  edit: { when: isOwn },
  remove: {
    label: 'Delete permission',
    text: 'Roles and client grants lose it, and tokens no longer carry it.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};

function apiOf(record: ResourceObject, included: readonly ResourceObject[]): ResourceObject | undefined {
  const data = record.relationships?.['api_resource']?.data;
  return data && 'id' in data ? included.find((one) => one.type === 'api_resource' && one.id === data.id) : undefined;
}
