import type { ResourceObject } from '../../management/documents.js';
import type { Presentation } from '../presentation.js';
import { code, state, tags, text, time, words } from '../values.js';
import { grantChoices, grantLabels } from './client-kinds.js';
import { fill, hints, nouns, sentences, terms } from '../words.js';

const uses = ({ attributes: a }: ResourceObject) =>
  text(
    a['max_uses'] === null
      ? words(a['use_count'])
      : fill(terms.use_count_of_max_uses, { use_count: words(a['use_count']), max_uses: words(a['max_uses']) }),
  );

/** Initial access tokens. */
export const registration_tokens: Presentation = {
  path: 'registration_tokens',
  title: terms.initial_access_tokens,
  navigation: { group: 'Applications', icon: ['M12.5 7.5a3.5 3.5 0 1 0-2.6 3.4L4 16.8V17h3v-2h2v-2l1.9-1.9', 'M12.5 6.5h.1'] },
  one: nouns.initial_access_token,
  lead: sentences.registration_tokens_lead,
  empty: {
    title: terms.no_initial_access_tokens,
    text: sentences.give_one_to_somebody_who,
  },
  columns: [
    { label: terms.name, sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: terms.uses, value: uses },
    {
      label: terms.verified_clients,
      value: (record) => (record.attributes['verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified)),
    },
    { label: terms.expires, value: (record, { now }) => time(record.attributes['expires_at'], now) },
  ],
  filters: [{ name: 'search', label: terms.search, kind: 'search' }],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a, id }, { now }) => [
    { label: terms.uses, value: uses({ attributes: a } as ResourceObject) },
    { label: terms.expires, value: time(a['expires_at'], now) },
    { label: terms.verified_clients, value: text(a['verified'] === true ? terms.verified : terms.not_verified) },
    { label: terms.allowed_grant_types, value: tags(a['grant_types'], 10) },
    { label: terms.allowed_scopes, value: a['scopes'] === null ? text(terms.all) : tags(a['scopes'], 50) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  fields: [
    { name: 'name', label: terms.name, hint: hints.registration_tokens_name, on: 'create', attributes: { maxlength: 100 } },
    { name: 'max_uses', label: terms.maximum_uses, hint: hints.max_uses, initial: '1', on: 'create' },
    {
      name: 'verified',
      label: terms.verified_clients,
      hint: hints.verified,
      on: 'create',
    },
    {
      name: 'grant_types',
      label: terms.allowed_grant_types,
      kind: 'checks',
      on: 'create',
      initial: ['authorization_code', 'refresh_token'],
      choices: async () => grantChoices(Object.keys(grantLabels)),
    },
    { name: 'scopes', label: terms.allowed_scopes, hint: hints.registration_tokens_scopes, on: 'create' },
  ],
  create: {
    label: terms.create_initial_access_token,
    title: terms.create_an_initial_access_token,
    lead: sentences.it_works_for_thirty_days,
  },
  remove: { label: terms.delete_initial_access_token, text: sentences.nobody_can_register_with_it },
  secrets: {
    create: {
      title: terms.save_the_token,
      label: terms.initial_access_token,
      text: sentences.it_is_shown_this_once,
    },
  },
};
