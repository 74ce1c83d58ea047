import { organizationChoices, organizationRoleChoices } from '../../parts/forms/choices.js';
import { linkedNames } from '../../parts/records/linked-record.js';
import type { Presentation } from '../../parts/records/presentation.js';
import { code, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { organizationOf } from './organization-domains.js';

export const organizationGroupsPresentation: Presentation = {
  path: 'organization_groups',
  title: 'Groups',
  under: 'organizations',
  one: 'group',
  lead: 'Groups of organizations’ directories. They give their members the roles that you choose here, and nothing else.',
  empty: { title: 'No groups yet', text: 'The organization’s directory adds them once its provider is set up to push groups.' },
  include: 'organization,roles',
  columns: [
    { label: terms.group, sort: 'display_name', value: (record) => text(record.attributes['display_name']) },
    { label: terms.organization, value: (record, _view, { included }) => organizationOf(record, included) },
    { label: terms.roles, value: (record, _view, { included }) => tags(linkedNames(record, 'roles', included), 4) },
    { label: 'Updated', sort: 'updated_at', value: (record, { now }) => time(record.attributes['updated_at'], now) },
  ],
  filters: [
    { name: 'search', label: terms.name_or_id, kind: 'search' },
    { name: 'organization', label: terms.organization, choices: organizationChoices },
  ],
  name: (record) => words(record.attributes['display_name']),
  summary: (record, { now }, included) => [
    { label: terms.organization, value: organizationOf(record, included) },
    { label: terms.roles, value: tags(linkedNames(record, 'roles', included), 100) },
    { label: 'ID in the directory', value: code(record.attributes['external_id'], true) },
    { label: 'Updated', value: time(record.attributes['updated_at'], now) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
  ],
  fields: [
    {
      name: 'roles',
      label: terms.roles,
      relationship: 'many',
      optional: true,
      choices: organizationRoleChoices,
      hint: 'Every member of the group has them in this organization.',
    },
  ],
  edit: {},
};
