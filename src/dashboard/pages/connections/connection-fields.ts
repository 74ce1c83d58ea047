import { strategyOf, type StrategyName } from '../../../domain/connections/strategies.js';
import { statusField } from '../../parts/forms/choices.js';
import type { LineSpec } from '../../parts/records/line-spec.js';
import type { FieldSpec } from '../../parts/records/presentation.js';
import { terms } from '../../parts/words.js';
import { signalFields } from './signal-fields.js';

export const labels = {
  claim_mapping: 'Claim mapping',
  allow_registration: 'Just-in-time provisioning',
  account_linking: 'Account linking',
  domains: 'Email domains',
  required: 'Require single sign-on',
  trusted: 'Trusted provider',
  second_factor: 'Second factor',
  trusted_acr_values: 'Trusted ACR values',
};

const everything = 'Only administrators with every permission can choose this.';
export const linkings = [
  { value: 'ask', label: 'After the password', hint: 'The person signs in to the existing account first.' },
  {
    value: 'verified_email',
    label: 'By verified email',
    hint: `If the address is verified both here and by the provider. The provider can then sign in to these accounts by itself. ${everything}`,
  },
  { value: 'never', label: terms.never, hint: 'Existing accounts aren’t linked.' },
];
export const secondFactors = [
  { value: 'own', label: 'As after a password', hint: 'People with multi-factor authentication enter their second factor here.' },
  {
    value: 'asserted',
    label: 'Unless the provider reports one',
    hint: `If its amr contains mfa, or its acr is one of those below. ${everything}`,
  },
  { value: 'provider', label: terms.none, hint: `Never ask for a second factor here. The sign-in counts as one factor. ${everything}` },
];
const syncs = [
  { value: 'on_create', label: 'On account creation' },
  { value: 'on_login', label: 'At every sign-in' },
  { value: 'never', label: terms.never },
];
export const [provider, people, assertions] = ['Identity provider', terms.users, terms.assertions];
export const plain = { spellcheck: 'false', autocapitalize: 'none', autocomplete: 'off' };

/** Where the provider is: what it needs beside its client credentials depends on the strategy. */
function addressFields(name: StrategyName): FieldSpec[] {
  const strategy = strategyOf(name);
  const issuer: FieldSpec = {
    name: 'issuer',
    label: terms.issuer,
    kind: 'url',
    hint: strategy.issuer ?? 'Everything else comes from its discovery document: https://login.example.com',
    section: provider,
  };
  const hint = 'Only without an issuer that has a discovery document.';
  const endpoints: FieldSpec[] = [
    { name: 'authorization_endpoint', label: 'Authorization endpoint', kind: 'url', hint, section: provider },
    { name: 'token_endpoint', label: 'Token endpoint', kind: 'url', hint, section: provider },
    { name: 'userinfo_endpoint', label: 'Userinfo endpoint', kind: 'url', hint, section: provider },
    { name: 'jwks_uri', label: terms.jwks_uri, kind: 'url', hint, section: provider },
  ];
  return [
    ...(strategy.issuer === null || name === 'microsoft' ? [issuer] : []),
    ...(name === 'oidc' || name === 'oauth2' || name === 'github' ? endpoints : []),
  ];
}

/** Certificates stand one after another, as in a file. */
export const certificateLine: LineSpec = {
  split: (text) => text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [text],
  read: (text) => text.replaceAll('\r\n', '\n'),
  show: (value) => String(value),
  wrong: 'This is no certificate.',
};

const optionFields = (name: StrategyName): FieldSpec[] =>
  strategyOf(name).options.map(({ name: option, type, label, hint, choices = [], initial }): FieldSpec => {
    const field = { name: `options.${option}`, label, hint, section: provider, optional: true };
    switch (type) {
      case 'boolean':
        return { ...field, kind: 'checkbox', initial: initial ? 'on' : '' };
      case 'choice':
        return { ...field, kind: 'select', optional: false, initial: choices[0]?.value ?? '', choices: async () => choices };
      case 'xml':
        return { ...field, kind: 'source', attributes: { ...plain, rows: 6 } };
      case 'certificates':
        return { ...field, kind: 'lines', line: certificateLine, attributes: { ...plain, rows: 6 } };
      default:
        return { ...field, kind: type === 'url' ? 'url' : 'text', attributes: { ...plain, maxlength: 2048 } };
    }
  });

const clientFields: readonly FieldSpec[] = [
  { name: 'provider_client_id', label: terms.client_id, section: provider, needed: true, attributes: { ...plain, maxlength: 500 } },
  {
    name: 'provider_client_secret',
    label: terms.client_secret,
    kind: 'password',
    hint: 'Encrypted, and never shown again. Leave it empty to keep the stored secret; enter it again if the issuer or token endpoint is on another server.',
    section: provider,
    optional: true,
    attributes: { autocomplete: 'off', maxlength: 8192 },
  },
];

function providerFields(name: StrategyName): FieldSpec[] {
  const { protocol, scopes } = strategyOf(name);
  const mapping: FieldSpec = {
    name: 'claim_mapping',
    label: labels.claim_mapping,
    kind: 'json',
    hint: 'JSON that maps our attributes to their claims. Leave empty for the defaults.',
    section: provider,
  };
  if (protocol === 'saml') return [...optionFields(name), mapping];
  const scope = { name: 'scopes', label: terms.scopes, hint: `One per line; empty for ${scopes.join(' ') || 'none'}.`, section: provider };
  return [...clientFields, ...addressFields(name), scope, mapping, ...optionFields(name)];
}

const peopleFields = (trusted: boolean): FieldSpec[] => [
  {
    name: 'allow_registration',
    label: labels.allow_registration,
    hint: 'Creates an account at the first sign-in.',
    initial: 'on',
    section: people,
  },
  {
    name: 'account_linking',
    label: labels.account_linking,
    hint: 'How existing accounts are linked.',
    kind: 'radios',
    initial: 'ask',
    choices: async () => linkings,
    section: people,
  },
  {
    name: 'profile_sync',
    label: 'Profile synchronization',
    hint: 'When the profile is updated from the provider.',
    initial: 'on_create',
    choices: async () => syncs,
    section: people,
  },
  {
    name: 'domains',
    label: labels.domains,
    hint: 'One per line. People with these addresses are sent to this provider to sign in. Only administrators with every permission can add one.',
    section: people,
  },
  ...trustFields(trusted),
];

const trustFields = (trusted: boolean): FieldSpec[] => [
  {
    name: 'required',
    label: labels.required,
    hint: `No passwords or other connections; registration and recovery send people here. Keep one administrator with an address at another domain. ${everything}`,
    section: people,
  },
  {
    name: 'trusted',
    label: labels.trusted,
    hint: `Its email addresses count as verified, and its users get default roles with Management permissions. Reset if someone else changes the provider. ${everything}`,
    initial: trusted ? 'on' : '',
    section: people,
  },
  {
    name: 'second_factor',
    label: labels.second_factor,
    hint: 'What is required in addition to signing in through this connection.',
    kind: 'radios',
    initial: 'own',
    choices: async () => secondFactors,
    section: people,
  },
  {
    name: 'trusted_acr_values',
    label: labels.trusted_acr_values,
    hint: 'One acr value per line; phr and phrh count as a passkey. Only used if the provider reports one.',
    section: people,
    attributes: plain,
  },
];

const storageField: FieldSpec = { name: 'token_storage', label: 'Keep tokens for clients', kind: 'checkbox', hint: 'People’s tokens at the provider, for clients with a provider grant. Unticking it ends those that are kept.', section: people }; // prettier-ignore

const assertionFields: readonly FieldSpec[] = [
  {
    name: 'assertions',
    label: terms.assertions,
    kind: 'select',
    optional: false,
    initial: 'off',
    hint: `Whether clients get people’s tokens for assertions of this provider (ID-JAG). ${everything}`,
    choices: async () => [
      { value: 'off', label: terms.refused },
      { value: 'on', label: terms.allowed },
    ],
    section: assertions,
  },
  {
    name: 'assertion_issuer',
    label: terms.issuer,
    kind: 'url',
    hint: 'The iss of the assertions. Leave empty for that of the provider.',
    section: assertions,
  },
  {
    name: 'assertion_jwks_uri',
    label: terms.jwks_uri,
    kind: 'url',
    hint: 'Leave empty to use the metadata of the issuer.',
    section: assertions,
  },
  { name: 'assertion_tenant', label: 'Tenant', hint: 'The tenant in the assertions. Leave empty if they have none.', section: assertions },
  {
    name: 'assertion_reuse',
    label: 'Reuse',
    kind: 'select',
    optional: false,
    initial: 'once',
    choices: async () => [
      { value: 'once', label: 'Each assertion once' },
      { value: 'until_expiry', label: 'Until it expires, by the same client for the same API' },
    ],
    section: assertions,
  },
  {
    name: 'assertion_clients',
    label: 'Public clients',
    kind: 'select',
    optional: false,
    initial: 'authenticated',
    choices: async () => [
      { value: 'authenticated', label: 'Only with a key (DPoP)' },
      { value: 'any', label: terms.allowed },
    ],
    section: assertions,
  },
];

export const connectionFields = (strategy: StrategyName, trusted = false): FieldSpec[] => [
  {
    name: 'display_name',
    label: terms.display_name,
    hint: 'Shown on the sign-in button: “Continue with …”.',
    attributes: { maxlength: 100 },
  },
  statusField('Hidden on the sign-in page, but can be tested.', { initial: 'enabled' }),
  ...providerFields(strategy),
  ...peopleFields(trusted),
  ...(strategy === 'saml' || strategy === 'apple' ? [] : [storageField]),
  ...assertionFields,
  ...signalFields,
];
