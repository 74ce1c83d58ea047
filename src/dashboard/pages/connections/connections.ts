import type { Request } from 'express';
import { healthExtras } from '../../parts/health.js';
import { holdsEverything } from '../../../domain/reach/reach.js';
import { connectionStrategies, strategyOf, type StrategyName } from '../../../domain/connections/strategies.js';
import { organizationChoices } from '../../parts/forms/choices.js';
import type { Value } from '../../parts/page-parts.js';
import { downloadsOf } from '../../parts/lists/downloads.js';
import { may, relatedId } from '../../parts/records/objects.js';
import { recordPath, type FieldSpec, type Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { assertions, connectionFields, labels, linkings, people, plain, provider, secondFactors } from './connection-fields.js';
import { signals } from './signal-fields.js';
import { connectionTabs } from './connection-tabs.js';
import { code, json, quiet, stack, state, tags, text, time, yesNo, words } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const strategyChoices = async () =>
  Object.entries(connectionStrategies).map(([value, { display_name }]) => ({ value, label: display_name }));
const label = (record: ResourceObject) => strategyOf(record.attributes['strategy'] as StrategyName).display_name;
const connectionState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'enabled' ? state('good', terms.enabled) : state('quiet', terms.disabled);

/** The domains of an organization's connection, which are set there: to be read. */
const organizationDomains = (field: FieldSpec, id: string): FieldSpec => ({
  ...field,
  hint: 'The verified domains of its organization.',
  line: { show: words, read: (line) => line, wrong: '' },
  attributes: { readonly: true },
  link: ({ req }) =>
    may(req.call, 'organizations', 'read')
      ? { label: 'Domains of the organization', path: `${recordPath('organizations', id)}/domains` }
      : null,
});

export const connectionsPresentation: Presentation = {
  path: 'connections',
  title: terms.connections,
  navigation: {
    group: 'Applications',
    icon: [
      'M8.25 11.75a3.25 3.25 0 0 0 4.6 0l2.9-2.9a3.25 3.25 0 0 0-4.6-4.6l-1 1',
      'M11.75 8.25a3.25 3.25 0 0 0-4.6 0l-2.9 2.9a3.25 3.25 0 0 0 4.6 4.6l1-1',
    ],
  },
  one: 'connection',
  lead: 'Identity providers that people can sign in with: company directories, Google, GitHub, Apple, Microsoft.',
  empty: { title: 'No connections yet', text: 'A connection puts a “Continue with …” button on the sign-in page.' },
  columns: [
    {
      label: terms.connection,
      sort: 'display_name',
      value: ({ attributes: a }) => stack(text(a['display_name']), quiet(words(a['name']))),
    },
    { label: 'Strategy', value: (record) => text(label(record)) },
    { label: terms.status, value: (record, _view, { extras }) => extras?.get(record.id) ?? connectionState(record) },
    { label: 'Domains', value: (record) => tags(record.attributes['domains'], 3) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  downloads: downloadsOf('connections', 'csv', 'json'),
  selected: { acts: ['delete'] },
  filters: [
    { name: 'search', label: terms.name_or_id, kind: 'search' },
    { name: 'strategy', label: 'Strategy', choices: strategyChoices },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['display_name']),
  state: connectionState,
  attention: 'connections',
  extras: healthExtras('connections'),
  summary: ({ attributes: a }, { now }) => [
    { label: 'Callback URL', value: stack(code(a['callback_url'], true), quiet('Register it with the provider.')) },
    { label: 'Login URL', value: code(a['login_url'], true) },
    ...(a['signals'] === 'push' ? [{ label: 'Signals URL', value: code(a['signals_url'], true) }] : []),
    ...(a['signals'] === 'poll' && a['signals_poll_url'] !== null
      ? [{ label: 'Signals fetched from', value: code(a['signals_poll_url'], true) }]
      : []),
    { label: 'Strategy', value: text(connectionStrategies[a['strategy'] as StrategyName].display_name) },
    { label: terms.name, value: code(a['name']) },
    ...(a['strategy'] === 'saml'
      ? [{ label: 'Our entity ID', value: stack(code(a['metadata_url'], true), quiet('Also the address of our metadata.')) }]
      : [
          { label: terms.client_id, value: code(a['provider_client_id'], true) },
          { label: terms.client_secret, value: a['has_client_secret'] === true ? text('Stored, encrypted') : quiet(terms.none) },
        ]),
    { label: terms.issuer, value: code(a['issuer']) },
    { label: terms.scopes, value: tags(a['scopes']) },
    { label: labels.allow_registration, value: yesNo(a['allow_registration']) },
    { label: labels.account_linking, value: text(linkings.find(({ value }) => value === a['account_linking'])?.label) },
    { label: labels.domains, value: tags(a['domains']) },
    { label: labels.required, value: yesNo(a['required']) },
    { label: labels.trusted, value: yesNo(a['trusted']) },
    { label: labels.second_factor, value: text(secondFactors.find(({ value }) => value === a['second_factor'])?.label) },
    { label: labels.trusted_acr_values, value: tags(a['trusted_acr_values']) },
    ...(a['token_storage'] === true ? [{ label: 'Tokens for clients', value: text('Kept') }] : []),
    { label: labels.claim_mapping, value: json(a['claim_mapping']) },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  sections: [{ title: provider }, { title: people }, { title: assertions, folded: true }, { title: signals, folded: true }],
  fields: connectionFields('oidc'),
  editFields(record) {
    const fields = connectionFields(record.attributes['strategy'] as StrategyName);
    const organization = relatedId(record, 'organization');
    return organization === null ? fields : fields.map((one) => (one.name === 'domains' ? organizationDomains(one, organization) : one));
  },
  createFields(req: Request) {
    const named =
      req.method === 'POST' ? req.form.get('strategy') : new URL(req.originalUrl, 'http://own.invalid').searchParams.get('strategy');
    const strategy = named && Object.hasOwn(connectionStrategies, named) ? (named as StrategyName) : 'oidc';
    return [
      { name: 'strategy', label: 'Strategy', kind: 'hidden', initial: strategy },
      {
        name: 'name',
        label: terms.name,
        hint: 'Used in URLs and the API: lowercase letters, digits and hyphens.',
        attributes: { ...plain, maxlength: 63 },
      },
      {
        name: 'organization',
        label: terms.organization,
        relationship: 'one',
        optional: true,
        choices: organizationChoices,
        hint: 'Empty: everybody can sign in with it.',
      },
      ...connectionFields(strategy, holdsEverything(req.call.actor)),
    ];
  },
  create: {
    label: 'Create connection',
    title: terms.create_a_connection,
    lead: 'The provider doesn’t have to be reachable yet. Test the connection afterwards.',
    guarded: true,
  },
  edit: {
    lead: 'Test the connection after a change. Changing the strategy, issuer, endpoints, client ID or claim mapping invalidates connected accounts: people confirm their account here at their next sign-in.',
  },
  tabs: connectionTabs,
  remove: {
    label: 'Delete connection',
    text: 'People who sign in only through it can no longer sign in, and their connected accounts are deleted.',
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    accept_metadata: {
      label: 'Accept new metadata',
      when: ({ attributes }) => typeof (attributes['options'] as Record<string, unknown>)['idp_metadata_url'] === 'string',
      confirm: ['People are then sent to the provider that the metadata names by now, and its word counts.'],
      guarded: true,
      done: 'updated',
    },
    test: { label: terms.test_connection, done: 'updated' },
  },
};
