import type { ResourceObject } from '../../management/documents.js';
import type { Presentation } from '../presentation.js';
import { code, state, tags, text, time, words } from '../values.js';
import { grantChoices, grantLabels } from './client-kinds.js';

const uses = ({ attributes: a }: ResourceObject) =>
  text(a['max_uses'] === null ? words(a['use_count']) : `${words(a['use_count'])} of ${words(a['max_uses'])}`);

/** Initial access tokens. */
export const registration_tokens: Presentation = {
  path: 'registration_tokens',
  title: 'Registration tokens',
  navigation: { group: 'Applications', icon: ['M12.5 7.5a3.5 3.5 0 1 0-2.6 3.4L4 16.8V17h3v-2h2v-2l1.9-1.9', 'M12.5 6.5h.1'] },
  one: 'registration token',
  lead: 'Whoever has one may register clients at /oauth/register (RFC 7591), within what you set here.',
  empty: {
    title: 'No registration tokens',
    text: 'Give one to somebody who should be able to register a client without an account here: a partner, an installer, a pipeline.',
  },
  columns: [
    { label: 'Name', sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: 'Used', value: uses },
    {
      label: 'Clients are',
      value: (record) => (record.attributes['verified'] === true ? state('good', 'Verified') : state('warning', 'Not verified')),
    },
    { label: 'Expires', value: (record, { now }) => time(record.attributes['expires_at'], now) },
  ],
  filters: [{ name: 'search', label: 'Search', kind: 'search' }],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Used', value: uses({ attributes: a } as ResourceObject) },
    { label: 'Expires', value: time(a['expires_at'], now) },
    { label: 'Clients are', value: text(a['verified'] === true ? 'Verified' : 'Not verified') },
    { label: 'Grant types', value: tags(a['grant_types'], 10) },
    { label: 'Scopes', value: a['scopes'] === null ? text('Whatever is on offer') : tags(a['scopes'], 50) },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  fields: [
    { name: 'name', label: 'Name', hint: 'Whom it is for.', on: 'create', attributes: { maxlength: 100 } },
    { name: 'max_uses', label: 'How many clients may register with it', hint: 'Empty for any number.', initial: '1', on: 'create' },
    {
      name: 'verified',
      label: 'Its clients are verified',
      hint: 'You vouch for whoever has the token: people are not warned.',
      on: 'create',
    },
    {
      name: 'grant_types',
      label: 'Grant types that they may have',
      kind: 'checks',
      on: 'create',
      initial: ['authorization_code', 'refresh_token'],
      choices: async () => grantChoices(Object.keys(grantLabels)),
    },
    { name: 'scopes', label: 'Scopes that they may ask for', hint: 'One a line; empty for all that are on offer.', on: 'create' },
  ],
  create: { label: 'Create registration token', title: 'Create a registration token', lead: 'It works for thirty days.' },
  remove: { label: 'Delete registration token', text: 'Nobody can register with it any more; clients that did stay.' },
  secrets: {
    create: {
      title: 'Save the token',
      label: 'Registration token',
      text: 'It is shown this once. Send it as Authorization: Bearer to /oauth/register.',
    },
  },
};
