import { apiResourceChoices, permissionChoices } from '../choices.js';
import { recordPath, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { relatedOf } from '../resource-objects.js';
import { code, figure, link, quiet, state, tags, text, time, yesNo, words } from '../values.js';
import type { Part } from '../page-parts.js';
import { fill, hints, nouns, sentences, terms } from '../words.js';

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
  const empty = { title: terms.no_users_with_this_role, text: sentences.give_it_to_a_user, button: null };
  const table: Part = {
    kind: 'table',
    id: 'holders',
    caption: next ? terms.users_with_this_role_the_first_50 : fill(terms.users_with_this_role, { length: figure(records.length) }),
    heading: true,
    columns: [{ label: terms.user }, { label: terms.name }],
    rows,
    empty,
    pager: null,
  };
  return [table];
}

/** Named sets of permissions. */
export const roles: Presentation = {
  path: 'roles',
  title: terms.roles,
  navigation: { group: 'People', icon: ['M10 2.75 16.25 5v4.75c0 3.75-2.6 6.4-6.25 7.5-3.65-1.1-6.25-3.75-6.25-7.5V5z'] },
  one: nouns.role,
  lead: sentences.roles_lead,
  empty: {
    title: terms.no_roles_yet,
    text: sentences.a_role_bundles_permissions_such,
  },
  columns: [
    { label: terms.name, sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: terms.description, value: (record) => text(record.attributes['description']) },
    { label: terms.default_role, value: (record) => yesNo(record.attributes['is_default']) },
    { label: terms.type, value: (record) => quiet(isOwn(record) ? terms.custom : terms.system) },
    { label: terms.changed, sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  filters: [
    { name: 'search', label: terms.search, kind: 'search' },
    { name: 'is_default', label: terms.default_role },
  ],
  recordInclude: 'permissions',
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', terms.custom) : state('info', terms.system)),
  summary: (record, { now }, included) => [
    { label: terms.description, value: text(record.attributes['description']) },
    { label: terms.default_role, value: yesNo(record.attributes['is_default']) },
    { label: terms.permissions, value: tags(names(included), 100) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
    { label: terms.id, value: code(record.id, true) },
  ],
  more: (look, record) => holders(look, record),
  fields: [
    { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
    { name: 'description', label: terms.description, hint: hints.roles_description, attributes: { maxlength: 500 } },
    { name: 'is_default', label: terms.default_role, hint: hints.default_role },
    {
      name: 'permissions',
      label: terms.permissions,
      relationship: 'many',
      choices: permissionChoices,
      hint: hints.permissions,
    },
  ],
  create: { label: terms.create_role, title: terms.create_a_role },
  edit: { when: isOwn },
  remove: {
    label: terms.delete_role,
    text: sentences.only_a_role_that_nobody,
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};

/** Permissions of an API. */
export const permissions: Presentation = {
  path: 'permissions',
  title: terms.permissions,
  navigation: { group: 'Applications', icon: ['M6.5 17a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z', 'm9 11 7.5-7.5M13 7l2.5 2.5'] },
  one: nouns.permission,
  lead: sentences.what_an_api_lets_its,
  empty: { title: terms.no_permissions_yet, text: sentences.add_an_api_resource_first },
  include: 'api_resource',
  recordInclude: 'api_resource,roles',
  columns: [
    { label: terms.name, sort: 'name', value: (record) => code(record.attributes['name']) },
    { label: terms.api, value: (record, _look, { included }) => text(apiOf(record, included)?.attributes['name']) },
    { label: terms.description, value: (record) => text(record.attributes['description']) },
  ],
  filters: [
    { name: 'search', label: terms.search, kind: 'search' },
    { name: 'is_system', label: terms.management_api },
  ],
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', terms.custom) : state('info', terms.system)),
  summary: (record, { now }, included) => {
    const api = apiOf(record, included);
    return [
      { label: terms.api, value: api ? link(words(api.attributes['name']), recordPath('api_resources', api.id)) : quiet('–') },
      { label: terms.description, value: text(record.attributes['description']) },
      {
        label: terms.roles_with_this_permission,
        value: tags(included.filter((one) => one.type === 'role').map((one) => one.attributes['name'])),
      },
      { label: terms.created, value: time(record.attributes['created_at'], now) },
      { label: terms.id, value: code(record.id, true) },
    ];
  },
  fields: [
    { name: 'api_resource', label: terms.api_resource, relationship: 'one', on: 'create', choices: apiResourceChoices },
    {
      name: 'name',
      label: terms.name,
      hint: hints.roles_name,
      on: 'create',
      attributes: { maxlength: 200, autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'description', label: terms.description, hint: hints.people_see_it_on_the, attributes: { maxlength: 500 } },
  ],
  create: { label: terms.create_permission, title: terms.create_a_permission },
  edit: { when: isOwn },
  remove: {
    label: terms.delete_permission,
    text: sentences.roles_and_client_grants_lose,
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};

function apiOf(record: ResourceObject, included: readonly ResourceObject[]): ResourceObject | undefined {
  const data = record.relationships?.['api_resource']?.data;
  return data && 'id' in data ? included.find((one) => one.type === 'api_resource' && one.id === data.id) : undefined;
}
