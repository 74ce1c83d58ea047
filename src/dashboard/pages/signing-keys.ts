import type { Presentation } from '../presentation.js';
import { signingAlgorithmChoices } from '../choices.js';
import { code, json, statusStates, text, time } from '../values.js';

const keyState = statusStates({
  next: ['info', 'Next'],
  primary: ['good', 'Primary'],
  previous: ['quiet', 'Previous'],
  deactivated: ['bad', 'Deactivated'],
});

/** The keys that sign tokens. */
export const signing_keys: Presentation = {
  path: 'signing_keys',
  title: 'Signing keys',
  navigation: { group: 'Environment', icon: ['M4.5 9h11v8h-11z', 'M7 9V6.25a3 3 0 0 1 6 0V9M10 12.25v1.5'] },
  one: 'signing key',
  lead: 'The keys that sign tokens. The service makes the next one in time and changes over every 90 days by itself; published keys stand in /.well-known/jwks.json.',
  empty: { title: 'No keys', text: 'The service makes one at its next start.' },
  columns: [
    { label: 'Key id', value: (record) => code(record.id) },
    { label: 'Algorithm', value: (record) => text(record.attributes['algorithm']) },
    { label: 'Status', value: keyState },
    { label: 'Made', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
    { label: 'Signs since', value: (record, { now }) => time(record.attributes['activated_at'], now) },
    { label: 'Replaced', value: (record, { now }) => time(record.attributes['retired_at'], now) },
  ],
  filters: [
    { name: 'algorithm', label: 'Algorithm' },
    { name: 'status', label: 'Status' },
  ],
  name: (record) => record.id,
  state: keyState,
  summary: ({ attributes: a, id }, { now, req }) => [
    { label: 'Key id (kid)', value: code(id, true) },
    { label: 'Algorithm', value: text(a['algorithm']) },
    { label: 'Made', value: time(a['created_at'], now) },
    { label: 'Signs since', value: time(a['activated_at'], now) },
    { label: 'Replaced', value: time(a['retired_at'], now) },
    { label: 'Deactivated', value: time(a['deactivated_at'], now) },
    { label: 'Published at', value: code(`${req.ctx.environment.issuer}/.well-known/jwks.json`, true) },
    { label: 'Public key', value: json(a['public_jwk']) },
  ],
  fields: [
    {
      name: 'algorithm',
      label: 'Algorithm',
      on: 'create',
      initial: 'RS256',
      choices: signingAlgorithmChoices,
      hint: 'Others than RS256 are added in the settings.',
    },
  ],
  create: {
    label: 'Generate next key',
    title: 'Generate the next key',
    lead: 'It is published at once and signs nothing until it is activated, so that everybody who keeps the key set has time to read it.',
    guarded: true,
    button: 'Generate key',
  },
  edit: { when: () => false },
  actions: {
    activate: {
      label: 'Activate',
      when: (record) => record.attributes['status'] === 'next',
      confirm: [
        'This key signs everything from now on; the present one stays published, so that what it signed remains good.',
        'A verifier that has not read the key set since this key was made refuses tokens until it does: wait a day after making it, if you can.',
      ],
      guarded: true,
      done: 'activated',
    },
    deactivate: {
      label: 'Deactivate',
      when: (record) => record.attributes['status'] === 'next' || record.attributes['status'] === 'previous',
      confirm: ['The key leaves the published set: every token that it signed is refused from now on.'],
      danger: true,
      guarded: true,
      done: 'deactivated',
    },
  },
};
