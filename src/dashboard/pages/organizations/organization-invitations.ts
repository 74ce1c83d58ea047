import { clientChoices, organizationChoices, organizationRoleChoices } from '../../parts/forms/choices.js';
import { linkedNames, linkedRecord } from '../../parts/records/linked-record.js';
import { type Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { quiet, statusStates, tags, text, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { organizationOf } from './organization-domains.js';

const states = statusStates({
  pending: ['info', terms.pending],
  accepted: ['good', 'Accepted'],
  expired: ['warning', 'Expired'],
  revoked: ['quiet', 'Revoked'],
});
const status = (record: ResourceObject) => record.attributes['status'];

const rolesOf = (record: ResourceObject, included: readonly ResourceObject[]) => {
  const names = linkedNames(record, 'roles', included);
  return names.length === 0 ? quiet(terms.default_roles) : tags(names, 4);
};

const inviterOf = (record: ResourceObject, included: readonly ResourceObject[]) =>
  linkedRecord(record, 'inviter', 'users', 'email', included, quiet('–'));

const clientOf = (record: ResourceObject, included: readonly ResourceObject[]) =>
  linkedRecord(record, 'client', 'clients', 'name', included, quiet('The account page'));

export const organizationInvitationsPresentation: Presentation = {
  path: 'organization_invitations',
  title: 'Invitations',
  under: 'organizations',
  one: 'invitation',
  lead: 'People asked into organizations by email.',
  empty: { title: 'No invitations yet', text: 'Invite someone: they get an email with a link, and can create an account from there.' },
  include: 'organization,roles,inviter',
  recordInclude: 'organization,roles,inviter,client',
  columns: [
    { label: terms.email_address, value: (record) => text(record.attributes['email']) },
    { label: terms.organization, value: (record, _view, { included }) => organizationOf(record, included) },
    { label: terms.status, value: states },
    { label: terms.roles, value: (record, _view, { included }) => rolesOf(record, included) },
    { label: 'Invited by', value: (record, _view, { included }) => inviterOf(record, included) },
    { label: 'Sent', value: (record, { now }) => time(record.attributes['sent_at'], now) },
    { label: terms.expires, value: (record, { now }) => time(record.attributes['expires_at'], now) },
  ],
  filters: [
    { name: 'status', label: terms.status },
    { name: 'organization', label: terms.organization, choices: organizationChoices },
  ],
  name: (record) => words(record.attributes['email']),
  state: states,
  summary: (record, { now }, included) => [
    { label: terms.organization, value: organizationOf(record, included) },
    { label: terms.roles, value: rolesOf(record, included) },
    { label: 'Invited by', value: inviterOf(record, included) },
    { label: terms.leads_to, value: clientOf(record, included) },
    { label: 'Sent', value: time(record.attributes['sent_at'], now) },
    { label: terms.expires, value: time(record.attributes['expires_at'], now) },
  ],
  fields: [
    { name: 'organization', label: terms.organization, relationship: 'one', on: 'create', choices: organizationChoices },
    { name: 'email', label: terms.email_address, on: 'create', attributes: { type: 'email', maxlength: 254, autocomplete: 'off' } },
    {
      name: 'roles',
      label: terms.roles,
      relationship: 'many',
      optional: true,
      on: 'create',
      choices: organizationRoleChoices,
      hint: 'Without any, they get the organization’s default roles.',
    },
    {
      name: 'client',
      label: terms.leads_to,
      relationship: 'one',
      optional: true,
      on: 'create',
      choices: clientChoices,
      hint: 'The application that opens once the invitation is accepted. Without one it’s the account page.',
    },
    { name: 'expires_in', label: 'Time to accept', on: 'create', optional: true, initial: '604800' },
  ],
  create: { label: 'Invite', title: 'Invite someone to an organization' },
  actions: {
    resend: {
      label: 'Send again',
      when: (record) => ['pending', 'expired'].includes(words(status(record))),
      confirm: ['A new email is sent. The link in the earlier one stops working.'],
      done: 'invitation_sent',
    },
    revoke: {
      label: 'Revoke',
      when: (record) => status(record) === 'pending',
      confirm: ['The link in the email stops working.'],
      done: 'revoked',
    },
  },
};
