import { organizationChoices } from '../../parts/forms/choices.js';
import { linkedRecord } from '../../parts/records/linked-record.js';
import { type Presentation } from '../../parts/records/presentation.js';
import { includedRecord } from '../../parts/records/objects.js';
import type { ResourceObject } from '../../../management/documents.js';
import { quiet, statusStates, tags, time, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';
import { organizationOf } from './organization-domains.js';

const states = statusStates({
  pending: ['info', 'Not opened yet'],
  started: ['info', 'Opened'],
  finished: ['good', 'Finished'],
  expired: ['warning', 'Expired'],
  revoked: ['quiet', 'Revoked'],
});

const partChoices = [
  { value: 'domains', label: 'Domains', hint: 'They add their email domains and prove them by DNS records.' },
  { value: 'connection', label: 'Connection', hint: 'They connect their identity provider, test the sign-in and enable it.' },
  { value: 'directory', label: 'Directory', hint: 'They get a SCIM token, so that the provider adds and removes people.' },
];

const partsOf = ({ attributes }: ResourceObject) => {
  const named = attributes['parts'] as readonly string[];
  return tags(partChoices.filter(({ value }) => named.includes(value)).map(({ label }) => label), 3); // prettier-ignore
};

const connectionOf = (record: ResourceObject, included: readonly ResourceObject[]) =>
  linkedRecord(record, 'connection', 'connections', 'display_name', included, quiet('None yet'));

export const setupLinksPresentation: Presentation = {
  path: 'setup_links',
  title: 'Set-up links',
  under: 'organizations',
  one: 'set-up link',
  lead: 'Links by which customers set up their own sign-in, without an account here.',
  empty: {
    title: 'No set-up links yet',
    text: 'Send one to an administrator at your customer. They set up domains, sign-in and directory by themselves, step by step.',
  },
  include: 'organization',
  recordInclude: 'organization,connection',
  columns: [
    { label: 'Sets up', value: partsOf },
    { label: terms.organization, value: (record, _view, { included }) => organizationOf(record, included) },
    { label: terms.status, value: states },
    { label: terms.created, value: (record, { now }) => time(record.attributes['created_at'], now) },
    { label: terms.expires, value: (record, { now }) => time(record.attributes['expires_at'], now) },
  ],
  filters: [
    { name: 'status', label: terms.status },
    { name: 'organization', label: terms.organization, choices: organizationChoices },
  ],
  name: (record, included = []) => words(includedRecord(record, 'organization', included)?.attributes['display_name'] ?? 'Set-up link'),
  state: states,
  summary: (record, { now }, included) => [
    { label: terms.organization, value: organizationOf(record, included) },
    { label: 'Sets up', value: partsOf(record) },
    { label: 'Connection made', value: connectionOf(record, included) },
    { label: 'Opened', value: time(record.attributes['started_at'], now) },
    { label: 'Finished', value: time(record.attributes['finished_at'], now) },
    { label: terms.expires, value: time(record.attributes['expires_at'], now) },
    { label: terms.created, value: time(record.attributes['created_at'], now) },
  ],
  fields: [
    { name: 'organization', label: terms.organization, relationship: 'one', on: 'create', choices: organizationChoices },
    {
      name: 'parts',
      label: 'Sets up',
      kind: 'checks',
      on: 'create',
      initial: partChoices.map(({ value }) => value),
      choices: async () => partChoices,
    },
    { name: 'expires_in', label: 'Time to finish', on: 'create', optional: true, initial: '604800' },
  ],
  create: { label: 'Create set-up link', title: 'Create a set-up link', lead: 'The link is shown once, on the next page.', guarded: true },
  actions: {
    revoke: {
      label: 'Revoke',
      when: (record) => ['pending', 'started'].includes(words(record.attributes['status'])),
      confirm: ['The link stops working, also for whoever has opened it. What was set up stays.'],
      done: 'revoked',
    },
  },
  secrets: {
    create: {
      title: 'Send this link',
      label: 'Set-up link',
      text: 'Send it to an administrator at your customer in a way that nobody else reads. The first browser that opens it is the only one that it works in.',
    },
  },
};
