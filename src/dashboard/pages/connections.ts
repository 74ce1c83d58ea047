import type { Request } from 'express';
import { holdsEverything } from '../../domain/reach/reach.js';
import { connectionStrategies, strategyOf, type StrategyName } from '../../domain/connections/strategies.js';
import type { Value } from '../page-parts.js';
import type { FieldSpec, Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { connectionTabs } from './connection-tabs.js';
import { code, json, quiet, stack, state, tags, text, time, yesNo, words } from '../values.js';
import { fill, hints, nouns, sentences, terms } from '../words.js';

const strategyChoices = async () =>
  Object.entries(connectionStrategies).map(([value, { display_name }]) => ({ value, label: display_name }));
const label = (record: ResourceObject) => strategyOf(record.attributes['strategy'] as StrategyName).display_name;
const connectionState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled);

const everything = sentences.only_administrators_with_every_permission;
const linkings = [
  { value: 'ask', label: terms.after_the_password, hint: hints.ask },
  { value: 'verified_email', label: terms.by_verified_email, hint: fill(hints.when_the_provider_vouches_for, { everything }) }, // prettier-ignore
  { value: 'never', label: terms.never, hint: hints.never },
];
const secondFactors = [
  { value: 'own', label: terms.as_after_a_password, hint: hints.own },
  { value: 'asserted', label: terms.unless_the_provider_reports_one, hint: fill(hints.its_amr_has_mfa_or, { everything }) }, // prettier-ignore
  { value: 'provider', label: terms.none, hint: fill(hints.the_provider_alone_decides_and, { everything }) },
];
const syncs = [
  { value: 'on_create', label: terms.on_account_creation },
  { value: 'on_login', label: terms.at_every_sign_in },
  { value: 'never', label: terms.never },
];
const [provider, people] = [terms.identity_provider, terms.users];
const plain = { spellcheck: 'false', autocapitalize: 'none', autocomplete: 'off' };

/** Where the provider is: what it needs beside its client credentials depends on the strategy. */
function addressFields(name: StrategyName): FieldSpec[] {
  const strategy = strategyOf(name);
  const issuer: FieldSpec = {
    name: 'issuer',
    label: terms.issuer,
    kind: 'url',
    hint: strategy.issuer ?? hints.issuer,
    section: provider,
  };
  const hint = sentences.only_without_an_issuer_to;
  const endpoints: FieldSpec[] = [
    { name: 'authorization_endpoint', label: terms.authorization_endpoint, kind: 'url', hint, section: provider },
    { name: 'token_endpoint', label: terms.token_endpoint, kind: 'url', hint, section: provider },
    { name: 'userinfo_endpoint', label: terms.userinfo_endpoint, kind: 'url', hint, section: provider },
    { name: 'jwks_uri', label: terms.jwks_uri, kind: 'url', hint, section: provider },
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
    { name: 'provider_client_id', label: terms.client_id, section: provider, attributes: { ...plain, maxlength: 500 } },
    {
      name: 'provider_client_secret',
      label: terms.client_secret,
      kind: 'password',
      hint: hints.provider_client_secret,
      section: provider,
      optional: true,
      attributes: { autocomplete: 'off', maxlength: 8192 },
    },
    ...addressFields(name),
    {
      name: 'scopes',
      label: terms.scopes,
      hint: fill(hints.one_a_line_empty_for, { value: scopes.join(' ') || 'none' }),
      section: provider,
    },
    {
      name: 'claim_mapping',
      label: terms.claim_mapping,
      kind: 'json',
      hint: hints.claim_mapping,
      section: provider,
    },
    ...(options.length > 0
      ? [{ name: 'options', label: terms.options, kind: 'json' as const, hint: fill(hints.options, { wanted }), section: provider }]
      : []),
  ];
}

const peopleFields = (trusted: boolean): FieldSpec[] => [
  { name: 'allow_registration', label: terms.just_in_time_provisioning, hint: hints.allow_registration, initial: 'on', section: people },
  {
    name: 'account_linking',
    label: terms.account_linking,
    hint: hints.account_linking,
    kind: 'radios',
    initial: 'ask',
    choices: async () => linkings,
    section: people,
  },
  {
    name: 'profile_sync',
    label: terms.profile_synchronization,
    hint: hints.profile_sync,
    initial: 'on_create',
    choices: async () => syncs,
    section: people,
  },
  {
    name: 'domains',
    label: terms.email_domains,
    hint: hints.domains,
    section: people,
  },
  {
    name: 'required',
    label: terms.require_single_sign_on,
    hint: fill(hints.required, { everything }),
    section: people,
  },
  {
    name: 'trusted',
    label: terms.trusted_provider,
    hint: fill(hints.trusted, { everything }),
    initial: trusted ? 'on' : '',
    section: people,
  },
  {
    name: 'second_factor',
    label: terms.second_factor,
    hint: hints.second_factor,
    kind: 'radios',
    initial: 'own',
    choices: async () => secondFactors,
    section: people,
  },
  {
    name: 'trusted_acr_values',
    label: terms.trusted_acr_values,
    hint: hints.trusted_acr_values,
    section: people,
    attributes: plain,
  },
];

const common = (strategy: StrategyName, trusted = false): FieldSpec[] => [
  {
    name: 'display_name',
    label: terms.display_name,
    hint: hints.display_name,
    attributes: { maxlength: 100 },
  },
  { name: 'status', label: terms.status, kind: 'radios', initial: 'enabled', choices: async () => [{ value: 'enabled', label: terms.enabled }, { value: 'disabled', label: terms.disabled, hint: hints.connections_disabled }] }, // prettier-ignore
  ...providerFields(strategy),
  ...peopleFields(trusted),
];

/** Sign-in through providers. */
export const connections: Presentation = {
  path: 'connections',
  title: terms.connections,
  navigation: {
    group: 'Applications',
    icon: [
      'M8.25 11.75a3.25 3.25 0 0 0 4.6 0l2.9-2.9a3.25 3.25 0 0 0-4.6-4.6l-1 1',
      'M11.75 8.25a3.25 3.25 0 0 0-4.6 0l-2.9 2.9a3.25 3.25 0 0 0 4.6 4.6l1-1',
    ],
  },
  one: nouns.connection,
  lead: sentences.connections_lead,
  empty: { title: terms.no_connections_yet, text: sentences.a_connection_puts_a_continue },
  columns: [
    {
      label: terms.connection,
      sort: 'display_name',
      value: ({ attributes: a }) => stack(text(a['display_name']), quiet(words(a['name']))),
    },
    { label: terms.strategy, value: (record) => text(label(record)) },
    { label: terms.status, value: connectionState },
    { label: terms.domains, value: (record) => tags(record.attributes['domains'], 3) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: terms.name_begins_with, kind: 'search' },
    { name: 'strategy', label: terms.strategy, choices: strategyChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['display_name']),
  state: connectionState,
  summary: ({ attributes: a, id }, { now }) => [
    { label: terms.callback_url, value: stack(code(a['callback_url'], true), quiet(sentences.register_it_with_the_provider)) },
    { label: terms.login_url, value: code(a['login_url'], true) },
    { label: terms.strategy, value: text(connectionStrategies[a['strategy'] as StrategyName].display_name) },
    { label: terms.name, value: code(a['name']) },
    { label: terms.client_id, value: code(a['provider_client_id'], true) },
    { label: terms.client_secret, value: a['has_client_secret'] === true ? text(terms.stored_encrypted) : quiet(terms.none) },
    { label: terms.issuer, value: code(a['issuer']) },
    { label: terms.scopes, value: tags(a['scopes']) },
    { label: terms.just_in_time_provisioning, value: yesNo(a['allow_registration']) },
    { label: terms.account_linking, value: text(linkings.find(({ value }) => value === a['account_linking'])?.label) },
    { label: terms.email_domains, value: tags(a['domains']) },
    { label: terms.require_single_sign_on, value: yesNo(a['required']) },
    { label: terms.trusted_provider, value: yesNo(a['trusted']) },
    { label: terms.second_factor, value: text(secondFactors.find(({ value }) => value === a['second_factor'])?.label) },
    { label: terms.trusted_acr_values, value: tags(a['trusted_acr_values']) },
    { label: terms.claim_mapping, value: json(a['claim_mapping']) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  sections: [{ title: provider }, { title: people }],
  fields: common('oidc'),
  createFields(req: Request) {
    const named =
      req.method === 'POST' ? req.form.get('strategy') : new URL(req.originalUrl, 'http://own.invalid').searchParams.get('strategy');
    const strategy = named && Object.hasOwn(connectionStrategies, named) ? (named as StrategyName) : 'oidc';
    return [
      { name: 'strategy', label: terms.strategy, kind: 'hidden', initial: strategy },
      {
        name: 'name',
        label: terms.name,
        hint: hints.connections_name,
        attributes: { ...plain, maxlength: 63 },
      },
      ...common(strategy, holdsEverything(req.call.actor)),
    ];
  },
  create: {
    label: terms.create_connection,
    title: terms.create_a_connection,
    lead: sentences.saving_it_does_not_need,
    guarded: true,
  },
  edit: {
    lead: sentences.try_it_out_after_a,
  },
  tabs: connectionTabs,
  remove: {
    label: terms.delete_connection,
    text: sentences.people_who_sign_in_only,
    typed: (record) => words(record.attributes['name']),
  },
  actions: { test: { label: terms.test_connection, done: 'updated' } },
};
