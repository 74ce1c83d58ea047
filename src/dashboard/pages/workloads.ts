import type { Request } from 'express';
import type { ResourceObject } from '../../management/documents.js';
import { clientChoices, trustedIssuerChoices, workloadClientChoices } from '../choices.js';
import type { Part, Value } from '../page-parts.js';
import { recordPath, type FieldSpec, type Presentation, type ViewContext } from '../presentation.js';
import { includedRecord, may, relatedId, relatedOf } from '../resource-objects.js';
import { code, json, link, quiet, stack, state, text, time, words } from '../values.js';
import { claimLines } from './claim-lines.js';
import { platformOfIssuer, platforms, type Platform } from './platforms.js';
import { fill, hints, nouns, sentences, terms } from '../words.js';

/** The platform that the address of a new record's form names. */
function platformOf(req: Request): Platform {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams.get('platform');
  const name = (req.method === 'POST' ? req.form.get('platform') : query) ?? 'other';
  return (Object.hasOwn(platforms, name) ? platforms[name] : platforms['other']) as Platform;
}

const address = { maxlength: 2048, inputmode: 'url', autocapitalize: 'none', spellcheck: 'false' } as const;

const issuerFields = ({ label, issuer }: Platform, isNamed: boolean): readonly FieldSpec[] => [
  { name: 'name', label: terms.name, initial: isNamed ? label : '', attributes: { maxlength: 100 } },
  {
    name: 'issuer',
    label: terms.issuer,
    initial: issuer,
    hint: hints.workloads_issuer,
    attributes: address,
  },
  { name: 'jwks_uri', label: terms.jwks_uri, hint: hints.workloads_jwks_uri, attributes: address },
  {
    name: 'jwks',
    label: terms.jwks,
    kind: 'json',
    hint: hints.workloads_jwks,
  },
  {
    name: 'status',
    label: terms.status,
    kind: 'radios',
    on: 'update',
    choices: async () => [
      { value: 'enabled', label: terms.enabled },
      { value: 'disabled', label: terms.disabled, hint: hints.workloads_disabled },
    ],
  },
];

const keysOf = (jwks_uri: unknown): Value => (jwks_uri === null ? quiet(terms.at_the_jwks_uri_of_its_own_metadata) : code(jwks_uri));

const issuerState = ({ attributes: a }: ResourceObject): Value => {
  if (a['status'] === 'disabled') return state('quiet', terms.disabled);
  return a['last_error'] === null ? state('good', terms.enabled) : state('bad', terms.no_keys);
};

/** The credentials that rest on the issuer. */
async function credentialsOf({ req, now }: ViewContext, { id, attributes }: ResourceObject): Promise<readonly Part[]> {
  if (!may(req.call, 'federated_credentials', 'read')) return [];
  const include = may(req.call, 'clients', 'read') ? 'client' : undefined;
  const { records, included } = await relatedOf(req.call, 'trusted_issuers', id, 'federated_credentials', { size: 100, include });
  const platform = platformOfIssuer(words(attributes['issuer']));
  const path = `/dashboard/federated_credentials/new?${new URLSearchParams({ trusted_issuer: id, ...(platform !== null && { platform }) }).toString()}`;
  const button = may(req.call, 'federated_credentials', 'write')
    ? { label: terms.create_federated_credential, path, variant: 'quiet' as const }
    : null;
  const rows = records.map((record) => ({
    path: recordPath('federated_credentials', record.id),
    cells: [
      text(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client')),
      claimLines(record),
      time(record.attributes['created_at'], now),
    ],
  }));
  const table: Part = {
    kind: 'table',
    id: 'credentials',
    caption: terms.federated_credentials,
    heading: true,
    columns: [terms.client, terms.claims, terms.created].map((label) => ({ label })),
    rows,
    empty: { title: terms.no_federated_credentials_yet, text: sentences.until_there_is_one_tokens, button },
    pager: null,
  };
  return [table, ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : [])];
}

/** Platforms whose tokens prove workloads. */
export const trusted_issuers: Presentation = {
  path: 'trusted_issuers',
  title: terms.trusted_issuers,
  navigation: { group: 'Applications', icon: ['M3 4.5h14v4H3zM3 11.5h14v4H3z', 'M6 6.5h.1M6 13.5h.1M9 6.5h5M9 13.5h5'] },
  one: nouns.trusted_issuer,
  lead: sentences.workloads_lead,
  empty: {
    title: terms.no_trusted_issuers_yet,
    text: sentences.add_github_actions_a_cluster,
  },
  columns: [
    { label: terms.name, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['issuer']))) },
    { label: terms.status, value: issuerState },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: terms.name_or_issuer_begins_with, kind: 'search' },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['name']),
  state: issuerState,
  more: credentialsOf,
  summary: ({ attributes: a, id }, { now }) => [
    { label: terms.issuer, value: code(a['issuer'], true) },
    { label: terms.keys, value: a['jwks'] === null ? keysOf(a['jwks_uri']) : json(a['jwks']) },
    ...(a['last_error'] === null
      ? []
      : [
          {
            label: terms.last_error,
            value: stack(text(fill(terms.keys_failed, { last_error: words(a['last_error']) })), time(a['last_error_at'], now)),
          },
        ]),
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  fields: issuerFields(platforms['other'] as Platform, false),
  createFields: (req) => issuerFields(platformOf(req), true),
  create: { label: terms.add_trusted_issuer, title: terms.add_a_trusted_issuer, button: terms.add_trusted_issuer, guarded: true },
  edit: { guarded: true },
  remove: { label: terms.delete_trusted_issuer, text: sentences.its_federated_credentials_go_with },
};

const credentialFields = ({ claims, hint }: Platform): readonly FieldSpec[] => [
  {
    name: 'client',
    label: terms.client,
    relationship: 'one',
    on: 'create',
    hint: hints.workloads_client,
    choices: workloadClientChoices,
  },
  { name: 'trusted_issuer', label: terms.issuer, relationship: 'one', on: 'create', choices: trustedIssuerChoices },
  { name: 'audience', label: terms.audience, hint: hints.audience, attributes: address },
  {
    name: 'claims',
    label: terms.claims,
    kind: 'json',
    optional: false,
    initial: JSON.stringify(claims, null, 2),
    hint: fill(hints.what_the_tokens_have_to, { hint }),
    attributes: { spellcheck: 'false', autocapitalize: 'none' },
  },
];

/** Which tokens of an issuer prove a client. */
export const federated_credentials: Presentation = {
  path: 'federated_credentials',
  title: terms.federated_credentials,
  under: 'trusted_issuers',
  one: nouns.federated_credential,
  lead: sentences.which_tokens_of_a_trusted,
  empty: { title: terms.no_federated_credentials_yet, text: sentences.one_says_what_the_claims },
  include: 'client,trusted_issuer',
  recordInclude: 'client,trusted_issuer',
  columns: [
    {
      label: terms.client,
      value: (record, _look, { included }) =>
        text(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client')),
    },
    {
      label: terms.issuer,
      value: (record, _look, { included }) => text(includedRecord(record, 'trusted_issuer', included)?.attributes['name']),
    },
    { label: terms.claims, value: claimLines },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'trusted_issuer', label: terms.issuer, choices: trustedIssuerChoices },
  ],
  name: (record, included = []) =>
    `${words(includedRecord(record, 'trusted_issuer', included)?.attributes['name'] ?? 'Issuer')} → ${words(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client'))}`,
  summary: (record, { now }, included) => {
    const [client, issuer] = [includedRecord(record, 'client', included), includedRecord(record, 'trusted_issuer', included)];
    return [
      {
        label: terms.client,
        value: client ? link(words(client.attributes['name']), recordPath('clients', client.id)) : code(relatedId(record, 'client')),
      },
      {
        label: terms.issuer,
        value: issuer ? link(words(issuer.attributes['name']), recordPath('trusted_issuers', issuer.id)) : quiet('–'),
      },
      { label: terms.audience, value: code(record.attributes['audience'], true) },
      { label: terms.claims, value: claimLines(record) },
      { label: terms.created, value: time(record.attributes['created_at'], now) },
      { label: terms.id, value: code(record.id, true) },
    ];
  },
  fields: credentialFields(platforms['other'] as Platform),
  createFields: (req) => credentialFields(platformOf(req)),
  create: {
    label: terms.create_federated_credential,
    title: terms.create_a_federated_credential,
    button: terms.create_federated_credential,
    guarded: true,
  },
  edit: { guarded: true },
  remove: { label: terms.delete_federated_credential, text: sentences.these_workloads_get_no_more },
};
