import type { Presentation } from '../presentation.js';
import { signingAlgorithmChoices } from '../choices.js';
import { code, json, statusStates, text, time } from '../values.js';
import { hints, nouns, sentences, terms } from '../words.js';

const keyState = statusStates({
  next: ['info', terms.next],
  primary: ['good', terms.primary],
  previous: ['quiet', terms.previous],
  deactivated: ['bad', terms.deactivated],
});

/** The keys that sign tokens. */
export const signing_keys: Presentation = {
  path: 'signing_keys',
  title: terms.signing_keys,
  navigation: { group: 'Environment', icon: ['M4.5 9h11v8h-11z', 'M7 9V6.25a3 3 0 0 1 6 0V9M10 12.25v1.5'] },
  one: nouns.signing_key,
  lead: sentences.signing_keys_lead,
  empty: { title: terms.no_keys, text: sentences.the_service_makes_one_at },
  columns: [
    { label: terms.key_id, value: (record) => code(record.id) },
    { label: terms.algorithm, value: (record) => text(record.attributes['algorithm']) },
    { label: terms.status, value: keyState },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
    { label: terms.activated, value: (record, { now }) => time(record.attributes['activated_at'], now) },
    { label: terms.rotated, value: (record, { now }) => time(record.attributes['retired_at'], now) },
  ],
  filters: [
    { name: 'algorithm', label: terms.algorithm },
    { name: 'status', label: terms.status },
  ],
  name: (record) => record.id,
  state: keyState,
  summary: ({ attributes: a, id }, { now, req }) => [
    { label: terms.key_id_kid, value: code(id, true) },
    { label: terms.algorithm, value: text(a['algorithm']) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.activated, value: time(a['activated_at'], now) },
    { label: terms.rotated, value: time(a['retired_at'], now) },
    { label: terms.deactivated, value: time(a['deactivated_at'], now) },
    { label: terms.jwks_uri, value: code(`${req.ctx.environment.issuer}/.well-known/jwks.json`, true) },
    { label: terms.public_key, value: json(a['public_jwk']) },
  ],
  fields: [
    {
      name: 'algorithm',
      label: terms.algorithm,
      on: 'create',
      initial: 'RS256',
      choices: signingAlgorithmChoices,
      hint: hints.algorithm,
    },
  ],
  create: {
    label: terms.generate_next_key,
    title: terms.generate_next_key,
    lead: sentences.it_is_published_at_once,
    guarded: true,
    button: terms.generate_next_key,
  },
  edit: { when: () => false },
  actions: {
    activate: {
      label: terms.activate,
      when: (record) => record.attributes['status'] === 'next',
      confirm: [sentences.this_key_signs_everything_from, sentences.a_verifier_that_has_not],
      guarded: true,
      done: 'activated',
    },
    deactivate: {
      label: terms.deactivate,
      when: (record) => record.attributes['status'] === 'next' || record.attributes['status'] === 'previous',
      confirm: [sentences.the_key_leaves_the_published],
      danger: true,
      guarded: true,
      done: 'deactivated',
    },
  },
};
