import { downloadsOf } from '../../parts/lists/downloads.js';
import { apiResourceChoices, permissionChoices } from '../../parts/forms/choices.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { includedRecord, relatedOf } from '../../parts/records/objects.js';
import { code, figure, link, quiet, state, tags, text, time, yesNo, words } from '../../parts/values.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { terms } from '../../parts/words.js';

const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const apiOf = (record: ResourceObject, included: readonly ResourceObject[]) => includedRecord(record, 'api_resource', included);
const names = (included: readonly ResourceObject[]) =>
  included.filter((one) => one.type === 'permission').map((one) => one.attributes['name']);

const kinds = [
  { value: 'environment', label: 'Users' },
  {
    value: 'organization',
    label: 'Members of organizations',
    hint: 'It counts in the organization where somebody has it, and in its tokens.',
  },
];

/** Who holds the role: the first fifty. */
async function holders(view: Parameters<NonNullable<Presentation['more']>>[0], record: ResourceObject): Promise<readonly Part[]> {
  const { call } = view.req;
  if (!call.actor.permissions.has('users:read')) return [];
  const { records, next } = await relatedOf(call, 'roles', record.id, 'users', { size: 50 });
  const rows = records.map((user) => ({
    path: recordPath('users', user.id),
    cells: [text(user.attributes['email']), text([user.attributes['first_name'], user.attributes['last_name']].filter(Boolean).join(' '))],
  }));
  return [
    pageTable({
      id: 'holders',
      caption: next ? 'Users with this role (the first 50)' : `Users with this role (${figure(records.length)})`,
      columns: [terms.user, terms.name],
      rows,
      nothing: ['No users with this role', 'Give it to a user on the user’s page, under Roles.'],
    }),
  ];
}

export const rolesPresentation: Presentation = {
  path: 'roles',
  title: terms.roles,
  under: 'users',
  one: 'role',
  lead: 'Sets of permissions that you assign to users. They apply to their tokens and to this dashboard.',
  empty: {
    title: 'No roles yet',
    text: 'A role bundles permissions, such as “support” or “billing”, so that you can assign them together.',
  },
  columns: [
    { label: terms.name, sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: terms.description, value: (record) => text(record.attributes['description']) },
    { label: 'Default role', value: (record) => yesNo(record.attributes['is_default']) },
    { label: terms.type, value: (record) => quiet(isOwn(record) ? terms.custom : terms.system) },
    { label: terms.changed, sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  downloads: downloadsOf('roles', 'csv', 'json'),
  selected: { acts: ['delete'] },
  filters: [
    { name: 'search', label: terms.search, kind: 'search' },
    { name: 'is_default', label: 'Default role' },
  ],
  recordInclude: 'permissions',
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', terms.custom) : state('info', terms.system)),
  summary: (record, { now }, included) => [
    { label: terms.description, value: text(record.attributes['description']) },
    { label: 'For', value: text(kinds.find(({ value }) => value === record.attributes['kind'])?.label) },
    { label: 'Default role', value: yesNo(record.attributes['is_default']) },
    { label: terms.permissions, value: tags(names(included), 100) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
  ],
  more: (view, record) => holders(view, record),
  fields: [
    { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
    { name: 'description', label: terms.description, hint: 'What people with this role do.', attributes: { maxlength: 500 } },
    { name: 'is_default', label: 'Default role', hint: 'Every new user gets this role.' },
    { name: 'kind', label: 'For', kind: 'radios', on: 'create', initial: 'environment', choices: async () => kinds },
    {
      name: 'permissions',
      label: terms.permissions,
      relationship: 'many',
      choices: permissionChoices,
      hint: 'You can only hand out permissions that you hold yourself. credentials:write gives control over all APIs: it includes every permission of every API except the Management API.',
    },
  ],
  create: { label: 'Create role', title: 'Create a role' },
  edit: { when: isOwn },
  remove: {
    label: 'Delete role',
    text: 'Only a role without users can be deleted.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};

export const permissionsPresentation: Presentation = {
  path: 'permissions',
  title: terms.permissions,
  under: 'api_resources',
  defaultSort: 'name',
  one: 'permission',
  lead: 'What callers of an API can do. The name is the OAuth scope.',
  empty: { title: 'No permissions yet', text: 'Add an API resource first, then its permissions, such as orders:read.' },
  include: 'api_resource',
  recordInclude: 'api_resource,roles',
  columns: [
    { label: terms.name, sort: 'name', value: (record) => code(record.attributes['name']) },
    { label: terms.api, value: (record, _view, { included }) => text(apiOf(record, included)?.attributes['name']) },
    { label: terms.description, value: (record) => text(record.attributes['description']) },
  ],
  filters: [
    { name: 'search', label: terms.search, kind: 'search' },
    { name: 'is_system', label: 'Management API' },
  ],
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', terms.custom) : state('info', terms.system)),
  summary: (record, { now }, included) => {
    const api = apiOf(record, included);
    return [
      { label: terms.api, value: api ? link(words(api.attributes['name']), recordPath('api_resources', api.id)) : quiet('–') },
      { label: terms.description, value: text(record.attributes['description']) },
      {
        label: 'Roles with this permission',
        value: tags(included.filter((one) => one.type === 'role').map((one) => one.attributes['name'])),
      },
      { label: terms.created, value: time(record.attributes['created_at'], now) },
    ];
  },
  fields: [
    { name: 'api_resource', label: terms.api_resource, relationship: 'one', on: 'create', choices: apiResourceChoices },
    {
      name: 'name',
      label: terms.name,
      hint: 'Such as orders:read: visible ASCII without spaces and quotes.',
      on: 'create',
      attributes: { maxlength: 200, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'description', label: terms.description, hint: 'People see it on the consent page.', attributes: { maxlength: 500 } },
  ],
  create: { label: 'Create permission', title: 'Create a permission' },
  edit: { when: isOwn },
  remove: {
    label: 'Delete permission',
    text: 'It is removed from roles and client grants, and tokens no longer include it.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};
