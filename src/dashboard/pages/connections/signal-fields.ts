import type { FieldSpec } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';

/** The section of the form. */
export const signals = 'Signals';

export const signalFields: readonly FieldSpec[] = [
  {
    name: 'signals',
    label: 'Signals',
    kind: 'select',
    optional: false,
    initial: 'off',
    hint: 'Whether the provider ends sessions that began through this connection: by SSF, back-channel logout or Universal Logout.',
    choices: async () => [
      { value: 'off', label: terms.refused },
      { value: 'push', label: 'Sent by the provider' },
      { value: 'poll', label: 'Fetched from the provider (SSF)' },
    ],
    section: signals,
  },
  {
    name: 'signals_issuer',
    label: terms.issuer,
    kind: 'url',
    hint: 'The iss of the signals. Leave empty for that of the provider.',
    section: signals,
  },
  {
    name: 'signals_audience',
    label: 'Audience',
    hint: 'The aud of the signals. Leave empty for the signals URL of this connection.',
    section: signals,
    attributes: { spellcheck: 'false', autocapitalize: 'none', autocomplete: 'off', maxlength: 2048 },
  },
  {
    name: 'signals_poll_url',
    label: 'Polling endpoint',
    kind: 'url',
    hint: 'Where signals are fetched. Leave it empty and the transmitter is asked for a stream.',
    section: signals,
  },
  {
    name: 'signals_token',
    label: terms.access_token,
    kind: 'password',
    hint: 'For the transmitter: signals are fetched with it, or a stream is made there. Encrypted, and never shown again. Leave it empty to keep the stored token; enter it again for another server.',
    section: signals,
    optional: true,
    attributes: { autocomplete: 'off', maxlength: 8192 },
  },
];
