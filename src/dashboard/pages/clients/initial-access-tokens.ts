import type { ResourceObject } from '../../../management/documents.js';
import type { Presentation } from '../../parts/records/presentation.js';
import { state, tags, text, time, words } from '../../parts/values.js';
import { grantChoices, grantLabels } from './client-kinds.js';
import { terms } from '../../parts/words.js';

const uses = ({ attributes: a }: ResourceObject) =>
  text(a['max_uses'] === null ? words(a['use_count']) : `${words(a['use_count'])} of ${words(a['max_uses'])}`);

export const initialAccessTokensPresentation: Presentation = {
  path: 'registration_tokens',
  title: 'Initial access tokens',
  under: 'clients',
  one: 'initial access token',
  lead: 'Lets its holder register clients at /oauth/register (RFC 7591), within the limits you set.',
  empty: {
    title: 'No initial access tokens',
    text: 'Give one to anyone who should register clients without an account here: a partner, an installer, a pipeline.',
  },
  columns: [
    { label: terms.name, sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: 'Uses', value: uses },
    {
      label: 'Verified clients',
      value: (record) => (record.attributes['verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified)),
    },
    { label: terms.expires, value: (record, { now }) => time(record.attributes['expires_at'], now) },
  ],
  filters: [{ name: 'search', label: terms.search, kind: 'search' }],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a }, { now }) => [
    { label: 'Uses', value: uses({ attributes: a } as ResourceObject) },
    { label: terms.expires, value: time(a['expires_at'], now) },
    { label: 'Verified clients', value: text(a['verified'] === true ? terms.verified : terms.not_verified) },
    { label: 'Allowed grant types', value: tags(a['grant_types'], 10) },
    { label: terms.allowed_scopes, value: a['scopes'] === null ? text(terms.all) : tags(a['scopes'], 50) },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  fields: [
    { name: 'name', label: terms.name, hint: 'Whom it is for.', on: 'create', attributes: { maxlength: 100 } },
    {
      name: 'max_uses',
      label: 'Maximum uses',
      hint: 'How many clients can register with it. Leave empty for no limit.',
      initial: '1',
      on: 'create',
    },
    { name: 'verified', label: 'Verified clients', hint: 'You trust the holder of the token: people aren’t warned.', on: 'create' },
    {
      name: 'grant_types',
      label: 'Allowed grant types',
      kind: 'checks',
      on: 'create',
      initial: ['authorization_code', 'refresh_token'],
      choices: async () => grantChoices(Object.keys(grantLabels)),
    },
    { name: 'scopes', label: terms.allowed_scopes, hint: 'One per line. Leave empty for all.', on: 'create' },
  ],
  create: { label: 'Create initial access token', title: 'Create an initial access token', lead: 'It works for thirty days.' },
  remove: { label: 'Delete initial access token', text: 'It can no longer be used to register. Clients that used it stay.' },
  secrets: {
    create: {
      title: terms.save_the_token,
      label: terms.initial_access_token,
      text: 'It is shown only once. Send it as Authorization: Bearer to /oauth/register.',
    },
  },
};
