import { organizationChoices, organizationRoleChoices, userChoices } from '../../parts/forms/choices.js';
import { linkedName, linkedNames, linkedRecord } from '../../parts/records/linked-record.js';
import type { Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { statusStates, tags, text, time, words } from '../../parts/values.js';
import { named } from '../../../lib/named.js';
import { terms } from '../../parts/words.js';
import { organizationOf, pathOfOrganization } from './organization-domains.js';

const memberState = statusStates({ active: ['good', terms.active], suspended: ['warning', 'Suspended'] });

const sources = named<string>({
  manual: 'Added by an administrator',
  invitation: 'Invitation',
  domain: 'Email domain',
  connection: 'Connection',
  directory: 'Directory',
});
const sourceOf = (record: ResourceObject) => text(sources[words(record.attributes['source'])]);

export const organizationMembershipsPresentation: Presentation = {
  path: 'organization_memberships',
  title: terms.members,
  under: 'organizations',
  one: 'membership',
  lead: 'Who belongs to which organization, with the roles they have there.',
  empty: { title: 'No members yet', text: 'Invite people, or let them in when they sign in through the organization’s connection.' },
  include: 'user,organization,roles',
  columns: [
    // The row itself leads to the membership: a link in it would be one in another.
    { label: terms.user, value: (record, _view, { included }) => text(linkedName(record, 'user', included, 'email')) },
    { label: terms.organization, value: (record, _view, { included }) => organizationOf(record, included) },
    { label: terms.status, value: memberState },
    { label: terms.roles, value: (record, _view, { included }) => tags(linkedNames(record, 'roles', included), 4) },
    { label: 'Joined by', value: sourceOf },
    { label: 'Since', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'organization', label: terms.organization, choices: organizationChoices },
    { name: 'status', label: terms.status },
    { name: 'role', label: terms.role, choices: organizationRoleChoices },
  ],
  name: (record, included) => linkedName(record, 'user', included, 'email'),
  state: memberState,
  summary: (record, { now }, included) => [
    { label: terms.user, value: linkedRecord(record, 'user', 'users', 'email', included) },
    { label: terms.organization, value: organizationOf(record, included) },
    { label: terms.roles, value: tags(linkedNames(record, 'roles', included), 100) },
    { label: 'Joined by', value: sourceOf(record) },
    { label: 'Since', value: time(record.attributes['created_at'], now) },
  ],
  fields: [
    { name: 'organization', label: terms.organization, relationship: 'one', on: 'create', choices: organizationChoices },
    { name: 'user', label: terms.user, relationship: 'one', on: 'create', choices: userChoices },
    {
      name: 'roles',
      label: terms.roles,
      relationship: 'many',
      optional: true,
      choices: organizationRoleChoices,
      hint: 'Roles of this organization only. Roles of groups in its directory are added to these.',
    },
  ],
  create: { label: 'Add member', title: 'Add a member' },
  edit: {},
  remove: {
    label: 'Remove member',
    text: 'The person keeps the account, but no longer belongs to the organization, and signing in doesn’t bring them back.',
    leadsTo: pathOfOrganization('members'),
  },
  actions: {
    suspend: {
      label: 'Suspend',
      when: (record) => record.attributes['status'] === 'active',
      confirm: ['The person can’t sign in for the organization until you resume the membership, and tokens for it stop working.'],
      done: 'updated',
    },
    resume: { label: 'Resume', when: (record) => record.attributes['status'] === 'suspended', done: 'updated' },
  },
};
