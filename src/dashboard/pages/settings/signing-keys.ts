import type { Presentation } from '../../parts/records/presentation.js';
import { healthExtras } from '../../parts/health.js';
import { signingAlgorithmChoices } from '../../parts/forms/choices.js';
import { code, json, statusStates, text, time } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const keyState = statusStates({
  next: ['info', terms.next],
  primary: ['good', terms.primary],
  previous: ['quiet', terms.previous],
  deactivated: ['bad', 'Deactivated'],
});

export const signingKeysPresentation: Presentation = {
  path: 'signing_keys',
  title: 'Signing keys',
  under: 'advanced',
  one: 'signing key',
  lead: 'The keys that sign tokens. They rotate automatically every 90 days. Published keys are at /.well-known/jwks.json.',
  empty: { title: terms.no_keys, text: 'The service makes one at its next start.' },
  columns: [
    { label: terms.key_id, value: (record) => code(record.id) },
    { label: terms.algorithm, value: (record) => text(record.attributes['algorithm']) },
    { label: terms.status, value: (record, _view, { extras }) => extras?.get(record.id) ?? keyState(record) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
    { label: 'Activated', value: (record, { now }) => time(record.attributes['activated_at'], now) },
    { label: 'Rotated', value: (record, { now }) => time(record.attributes['retired_at'], now) },
  ],
  filters: [
    { name: 'algorithm', label: terms.algorithm },
    { name: 'status', label: terms.status },
  ],
  name: (record) => record.id,
  state: keyState,
  attention: 'signing_keys',
  extras: healthExtras('signing_keys'),
  showsId: false,
  summary: ({ attributes: a, id }, { now, req }) => [
    { label: 'Key ID (kid)', value: code(id, true) },
    { label: terms.algorithm, value: text(a['algorithm']) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: 'Activated', value: time(a['activated_at'], now) },
    { label: 'Rotated', value: time(a['retired_at'], now) },
    { label: 'Deactivated', value: time(a['deactivated_at'], now) },
    { label: terms.jwks_uri, value: code(`${req.ctx.environment.issuer}/.well-known/jwks.json`, true) },
    { label: 'Public key', value: json(a['public_jwk']) },
  ],
  fields: [
    {
      name: 'algorithm',
      label: terms.algorithm,
      on: 'create',
      initial: 'RS256',
      choices: signingAlgorithmChoices,
      hint: 'Others than RS256 are added in the settings.',
    },
  ],
  create: {
    label: terms.generate_next_key,
    title: terms.generate_next_key,
    lead: 'It is published immediately but signs nothing until activated, so that everyone who caches the key set has time to fetch it.',
    guarded: true,
    button: terms.generate_next_key,
  },
  edit: { when: () => false },
  actions: {
    activate: {
      label: 'Activate',
      when: (record) => record.attributes['status'] === 'next',
      confirm: [
        'This key signs everything from now on. The current one stays published, so that what it signed stays valid.',
        'Verifiers refuse the new tokens until they fetch the key set again. If you can, wait a day after generating the key.',
      ],
      guarded: true,
      done: 'activated',
    },
    deactivate: {
      label: 'Deactivate',
      when: (record) => record.attributes['status'] === 'next' || record.attributes['status'] === 'previous',
      confirm: ['The key is removed from the published set: every token that it signed is refused from now on.'],
      danger: true,
      guarded: true,
      done: 'deactivated',
    },
  },
};
