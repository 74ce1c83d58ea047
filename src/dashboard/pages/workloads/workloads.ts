import type { Request } from 'express';
import { clientColumn, linkedName, linkedRecord } from '../../parts/records/linked-record.js';
import type { ResourceObject } from '../../../management/documents.js';
import { clientChoices, statusField, trustedIssuerChoices, workloadClientChoices } from '../../parts/forms/choices.js';
import type { Part, Value } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { recordPath, type FieldSpec, type Presentation, type ViewContext } from '../../parts/records/presentation.js';
import { includedRecord, may, relatedOf } from '../../parts/records/objects.js';
import { code, json, quiet, stack, state, text, time, words } from '../../parts/values.js';
import { claimLines } from './claim-lines.js';
import { platformOfIssuer, platforms, type Platform } from './platforms.js';
import { terms } from '../../parts/words.js';

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
    hint: 'The exact iss of its tokens. Replace the parts in capitals.',
    attributes: address,
  },
  { name: 'jwks_uri', label: terms.jwks_uri, hint: 'Where its keys are. Leave empty to use the issuer’s metadata.', attributes: address },
  { name: 'jwks', label: 'JWKS', kind: 'json', hint: 'Its public keys, if they can’t be fetched from here. Leave empty to fetch them.' },
  statusField('Its workloads get no more tokens.'),
];

const keysOf = (jwks_uri: unknown): Value => (jwks_uri === null ? quiet('At the jwks_uri of its own metadata') : code(jwks_uri));

const issuerState = ({ attributes: a }: ResourceObject): Value => {
  if (a['status'] === 'disabled') return state('quiet', terms.disabled);
  return a['last_error'] === null ? state('good', terms.enabled) : state('bad', terms.no_keys);
};

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
    cells: [text(linkedName(record, 'client', included)), claimLines(record), time(record.attributes['created_at'], now)],
  }));
  const table = pageTable({
    id: 'credentials',
    caption: terms.federated_credentials,
    columns: [terms.client, terms.claims, terms.created],
    rows,
    nothing: [terms.no_federated_credentials_yet, 'Tokens of this issuer can’t be used until you add one.', button],
  });
  return [table, ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : [])];
}

export const trustedIssuersPresentation: Presentation = {
  path: 'trusted_issuers',
  title: terms.trusted_issuers,
  under: 'advanced',
  one: 'trusted issuer',
  lead: 'Platforms whose tokens replace client secrets for CI jobs, pods and cloud workloads (RFC 7523).',
  empty: {
    title: 'No trusted issuers yet',
    text: 'Add GitHub Actions, a cluster or a cloud. Federated credentials then map its workloads to clients.',
  },
  columns: [
    { label: terms.name, sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['issuer']))) },
    { label: terms.status, value: issuerState },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Name, issuer or ID', kind: 'search' },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['name']),
  state: issuerState,
  more: credentialsOf,
  summary: ({ attributes: a }, { now }) => [
    { label: terms.issuer, value: code(a['issuer'], true) },
    { label: 'Keys', value: a['jwks'] === null ? keysOf(a['jwks_uri']) : json(a['jwks']) },
    ...(a['last_error'] === null
      ? []
      : [{ label: 'Last error', value: stack(text(`Keys: ${words(a['last_error'])}`), time(a['last_error_at'], now)) }]),
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  fields: issuerFields(platforms['other'] as Platform, false),
  createFields: (req) => issuerFields(platformOf(req), true),
  create: { label: 'Add trusted issuer', title: terms.add_a_trusted_issuer, button: 'Add trusted issuer', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete trusted issuer', text: 'Its federated credentials are deleted, and its workloads get no more tokens.' },
};

const credentialFields = ({ claims, hint }: Platform): readonly FieldSpec[] => [
  {
    name: 'client',
    label: terms.client,
    relationship: 'one',
    on: 'create',
    hint: 'Those that authenticate by private_key_jwt.',
    choices: workloadClientChoices,
  },
  { name: 'trusted_issuer', label: terms.issuer, relationship: 'one', on: 'create', choices: trustedIssuerChoices },
  {
    name: 'audience',
    label: 'Audience',
    hint: 'The aud of the tokens. Leave empty for the issuer of this environment.',
    attributes: address,
  },
  {
    name: 'claims',
    label: terms.claims,
    kind: 'json',
    optional: false,
    initial: JSON.stringify(claims, null, 2),
    hint: `The claims that tokens must have, as JSON: a string, a list of strings, or {"prefix": "..."} ending in : or /. Replace the parts in capitals. ${hint}`,
    attributes: { spellcheck: 'false', autocapitalize: 'none' },
  },
];

export const federatedCredentialsPresentation: Presentation = {
  path: 'federated_credentials',
  title: terms.federated_credentials,
  under: 'advanced',
  one: 'federated credential',
  lead: 'Which tokens of a trusted issuer authenticate which client.',
  empty: { title: terms.no_federated_credentials_yet, text: 'A federated credential defines the claims of your workload’s tokens.' },
  include: 'client,trusted_issuer',
  columns: [
    clientColumn,
    {
      label: terms.issuer,
      value: (record, _view, { included }) => text(includedRecord(record, 'trusted_issuer', included)?.attributes['name']),
    },
    { label: terms.claims, value: claimLines },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: terms.client, choices: clientChoices },
    { name: 'trusted_issuer', label: terms.issuer, choices: trustedIssuerChoices },
  ],
  name: (record, included = []) =>
    `${words(includedRecord(record, 'trusted_issuer', included)?.attributes['name'] ?? 'Issuer')} → ${linkedName(record, 'client', included)}`,
  summary: (record, { now }, included) => {
    return [
      { label: terms.client, value: linkedRecord(record, 'client', 'clients', 'name', included) },
      { label: terms.issuer, value: linkedRecord(record, 'trusted_issuer', 'trusted_issuers', 'name', included) },
      { label: 'Audience', value: code(record.attributes['audience'], true) },
      { label: terms.claims, value: claimLines(record) },
      { label: terms.created, value: time(record.attributes['created_at'], now) },
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
  remove: { label: 'Delete federated credential', text: 'These workloads get no more tokens of the client.' },
};
