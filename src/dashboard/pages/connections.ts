import type { Request } from 'express';
import { holdsEverything } from '../../domain/reach/reach.js';
import { connectionStrategies, strategyOf, type StrategyName } from '../../domain/connections/strategies.js';
import type { Value } from '../page-parts.js';
import type { FieldSpec, Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { connectionTabs } from './connection-tabs.js';
import { code, json, quiet, stack, state, tags, text, time, yesNo, words } from '../values.js';

const strategyChoices = async () =>
  Object.entries(connectionStrategies).map(([value, { display_name }]) => ({ value, label: display_name }));
const label = (record: ResourceObject) => strategyOf(record.attributes['strategy'] as StrategyName).display_name;
const connectionState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'enabled' ? state('good', 'Enabled') : state('quiet', 'Disabled');

const everything = 'Only administrators with every permission may choose this.';
const linkings = [
  { value: 'ask', label: 'Ask for the password', hint: 'The person proves the local account first.' },
  {
    value: 'verified_email',
    label: 'By verified email',
    hint: `When the provider vouches for the address and it is verified here too: the provider alone then opens these accounts. ${everything}`,
  },
  { value: 'never', label: 'Never', hint: 'An account that exists is not linked.' },
];
const secondFactors = [
  { value: 'own', label: 'As after a password', hint: 'Whoever has two-step sign-in on takes the second step here.' },
  {
    value: 'asserted',
    label: 'None where the provider says that it took one',
    hint: `Its amr has mfa, or its acr is among the classes below. ${everything}`,
  },
  { value: 'provider', label: 'None', hint: `The provider alone decides, and such a sign-in counts as one factor. ${everything}` },
];
const syncs = [
  { value: 'on_create', label: 'When the account is made' },
  { value: 'on_login', label: 'At every sign-in' },
  { value: 'never', label: 'Never' },
];
const [provider, people] = ['The provider', 'The people'];
const plain = { spellcheck: 'false', autocapitalize: 'none', autocomplete: 'off' };

/** Where the provider is: what it needs beside its client credentials depends on the strategy. */
function addressFields(name: StrategyName): FieldSpec[] {
  const strategy = strategyOf(name);
  const issuer: FieldSpec = {
    name: 'issuer',
    label: 'Issuer',
    kind: 'url',
    hint: strategy.issuer ?? 'Its discovery document says the rest: https://login.example.com',
    section: provider,
  };
  const hint = 'Only without an issuer to discover it from.';
  const endpoints: FieldSpec[] = [
    { name: 'authorization_endpoint', label: 'Authorization endpoint', kind: 'url', hint, section: provider },
    { name: 'token_endpoint', label: 'Token endpoint', kind: 'url', hint, section: provider },
    { name: 'userinfo_endpoint', label: 'Userinfo endpoint', kind: 'url', hint, section: provider },
    { name: 'jwks_uri', label: 'JWKS URI', kind: 'url', hint, section: provider },
  ];
  return [
    ...(strategy.issuer === null || name === 'microsoft' ? [issuer] : []),
    ...(name === 'oidc' || name === 'oauth2' || name === 'github' ? endpoints : []),
  ];
}

function providerFields(name: StrategyName): FieldSpec[] {
  const { options, scopes } = strategyOf(name);
  const wanted = options.map((option) => `${option.name} (${option.label.toLowerCase()})`).join('; ');
  return [
    { name: 'provider_client_id', label: 'Client id at the provider', section: provider, attributes: { ...plain, maxlength: 500 } },
    {
      name: 'provider_client_secret',
      label: 'Client secret at the provider',
      kind: 'password',
      hint: 'Sealed, and never shown again. Leave it empty to keep what is stored.',
      section: provider,
      optional: true,
      attributes: { autocomplete: 'off', maxlength: 8192 },
    },
    ...addressFields(name),
    { name: 'scopes', label: 'Scopes', hint: `One a line; empty for ${scopes.join(' ') || 'none'}.`, section: provider },
    {
      name: 'claim_mapping',
      label: 'Claim mapping',
      kind: 'json',
      hint: 'JSON, our attribute to their claim; empty for the usual ones.',
      section: provider,
    },
    ...(options.length > 0
      ? [{ name: 'options', label: 'Options', kind: 'json' as const, hint: `JSON: ${wanted}.`, section: provider }]
      : []),
  ];
}

const peopleFields = (trusted: boolean): FieldSpec[] => [
  { name: 'allow_registration', label: 'New people may come in through it', initial: 'on', section: people },
  {
    name: 'account_linking',
    label: 'Accounts that exist already',
    kind: 'radios',
    initial: 'ask',
    choices: async () => linkings,
    section: people,
  },
  { name: 'profile_sync', label: 'Take the profile over', initial: 'on_create', choices: async () => syncs, section: people },
  {
    name: 'domains',
    label: 'Email domains',
    hint: 'One a line: who signs in with such an address is sent to this provider. Only administrators with every permission may add one.',
    section: people,
  },
  {
    name: 'required',
    label: 'These addresses sign in here alone',
    hint: `Neither with a password nor through another connection; registration and recovery tell them to come here. Keep one administrator with an address elsewhere. ${everything}`,
    section: people,
  },
  {
    name: 'trusted',
    label: 'Its word about new people counts as ours',
    hint: `Their addresses are verified, and they get default roles that hold Management permissions. Lost when somebody else changes the provider. ${everything}`,
    initial: trusted ? 'on' : '',
    section: people,
  },
  {
    name: 'second_factor',
    label: 'The second step after it',
    kind: 'radios',
    initial: 'own',
    choices: async () => secondFactors,
    section: people,
  },
  {
    name: 'trusted_acr_values',
    label: 'Classes of the provider that stand for two factors',
    hint: 'One a line, as in its acr; phr and phrh count as a passkey. Only where the provider is asked.',
    section: people,
    attributes: plain,
  },
];

const common = (strategy: StrategyName, trusted = false): FieldSpec[] => [
  {
    name: 'display_name',
    label: 'Display name',
    hint: 'On the button of the sign-in page: “Continue with …”.',
    attributes: { maxlength: 100 },
  },
  { name: 'status', label: 'Status', kind: 'radios', initial: 'enabled', choices: async () => [{ value: 'enabled', label: 'Enabled' }, { value: 'disabled', label: 'Disabled', hint: 'No button, but it can be tried out.' }] }, // prettier-ignore
  ...providerFields(strategy),
  ...peopleFields(trusted),
];

/** Sign-in through providers. */
export const connections: Presentation = {
  path: 'connections',
  title: 'Connections',
  navigation: {
    group: 'Applications',
    icon: [
      'M8.25 11.75a3.25 3.25 0 0 0 4.6 0l2.9-2.9a3.25 3.25 0 0 0-4.6-4.6l-1 1',
      'M11.75 8.25a3.25 3.25 0 0 0-4.6 0l-2.9 2.9a3.25 3.25 0 0 0 4.6 4.6l1-1',
    ],
  },
  one: 'connection',
  lead: 'Other places where people can prove who they are: company directories, Google, GitHub, Apple, Microsoft.',
  empty: { title: 'No connections yet', text: 'A connection puts a “Continue with …” button on the sign-in page.' },
  columns: [
    { label: 'Connection', sort: 'display_name', value: ({ attributes: a }) => stack(text(a['display_name']), quiet(words(a['name']))) },
    { label: 'Strategy', value: (record) => text(label(record)) },
    { label: 'Status', value: connectionState },
    { label: 'Domains', value: (record) => tags(record.attributes['domains'], 3) },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Name begins with', kind: 'search' },
    { name: 'strategy', label: 'Strategy', choices: strategyChoices },
    { name: 'status', label: 'Status' },
  ],
  name: (record) => words(record.attributes['display_name']),
  state: connectionState,
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Callback URL', value: stack(code(a['callback_url'], true), quiet('Register it with the provider.')) },
    { label: 'Sign-in begins at', value: code(a['login_url'], true) },
    { label: 'Strategy', value: text(connectionStrategies[a['strategy'] as StrategyName].display_name) },
    { label: 'Name', value: code(a['name']) },
    { label: 'Client id there', value: code(a['provider_client_id'], true) },
    { label: 'Client secret there', value: a['has_client_secret'] === true ? text('Stored, sealed') : quiet('None') },
    { label: 'Issuer', value: code(a['issuer']) },
    { label: 'Scopes', value: tags(a['scopes']) },
    { label: 'New people', value: yesNo(a['allow_registration']) },
    { label: 'Existing accounts', value: text(linkings.find(({ value }) => value === a['account_linking'])?.label) },
    { label: 'Email domains', value: tags(a['domains']) },
    { label: 'These addresses sign in here alone', value: yesNo(a['required']) },
    { label: 'Its word about new people counts', value: yesNo(a['trusted']) },
    { label: 'Second step', value: text(secondFactors.find(({ value }) => value === a['second_factor'])?.label) },
    { label: 'Trusted classes', value: tags(a['trusted_acr_values']) },
    { label: 'Claim mapping', value: json(a['claim_mapping']) },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  sections: [{ title: provider }, { title: people }],
  fields: common('oidc'),
  createFields(req: Request) {
    const named =
      req.method === 'POST' ? req.form.get('strategy') : new URL(req.originalUrl, 'http://own.invalid').searchParams.get('strategy');
    const strategy = named && Object.hasOwn(connectionStrategies, named) ? (named as StrategyName) : 'oidc';
    return [
      { name: 'strategy', label: 'Strategy', kind: 'hidden', initial: strategy },
      {
        name: 'name',
        label: 'Name',
        hint: 'For addresses and the API: lower-case letters, digits and hyphens.',
        attributes: { ...plain, maxlength: 63 },
      },
      ...common(strategy, holdsEverything(req.call.actor)),
    ];
  },
  create: {
    label: 'Create connection',
    title: 'Create a connection',
    lead: 'Saving it does not need the provider to be reachable. Try it out afterwards.',
    guarded: true,
  },
  edit: {
    lead: 'Try it out after a change. A change of strategy, issuer, endpoints, client id or claim mapping voids the connected accounts: each person proves the account here once more at the next sign-in.',
  },
  tabs: connectionTabs,
  remove: {
    label: 'Delete connection',
    text: 'People who sign in only through it can not sign in any more, and their connected accounts are forgotten.',
    typed: (record) => words(record.attributes['name']),
  },
  actions: { test: { label: 'Try it out', done: 'updated' } },
};
