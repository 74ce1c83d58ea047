import type { Request } from 'express';
import type { ResourceObject } from '../../management/documents.js';
import { clientChoices, trustedIssuerChoices, workloadClientChoices } from '../choices.js';
import type { Part, Value } from '../page-parts.js';
import { recordPath, type FieldSpec, type Presentation, type ViewContext } from '../presentation.js';
import { includedRecord, may, relatedId, relatedOf } from '../resource-objects.js';
import { code, json, link, quiet, stack, state, text, time, words } from '../values.js';
import { claimLines } from './claim-lines.js';
import { platformOfIssuer, platforms, type Platform } from './platforms.js';

/** The platform that the address of a new record's form names. */
function platformOf(req: Request): Platform {
  const query = new URL(req.originalUrl, 'http://own.invalid').searchParams.get('platform');
  const name = (req.method === 'POST' ? req.form.get('platform') : query) ?? 'other';
  return (Object.hasOwn(platforms, name) ? platforms[name] : platforms['other']) as Platform;
}

const address = { maxlength: 2048, inputmode: 'url', autocapitalize: 'none', spellcheck: 'false' } as const;

const issuerFields = ({ label, issuer }: Platform, isNamed: boolean): readonly FieldSpec[] => [
  { name: 'name', label: 'Name', initial: isNamed ? label : '', attributes: { maxlength: 100 } },
  {
    name: 'issuer',
    label: 'Issuer',
    initial: issuer,
    hint: 'The iss of its tokens, character by character. Replace what is in capitals.',
    attributes: address,
  },
  { name: 'jwks_uri', label: 'JWKS URI', hint: 'Where its keys are. Empty: where the issuer’s own metadata says.', attributes: address },
  {
    name: 'jwks',
    label: 'JWKS',
    kind: 'json',
    hint: 'Its keys by value, where they can not be fetched from here. Empty: they are fetched.',
  },
  {
    name: 'status',
    label: 'Status',
    kind: 'radios',
    on: 'update',
    choices: async () => [
      { value: 'enabled', label: 'Enabled' },
      { value: 'disabled', label: 'Disabled', hint: 'Its workloads get no more tokens.' },
    ],
  },
];

const keysOf = (jwks_uri: unknown): Value => (jwks_uri === null ? quiet('At the jwks_uri of its own metadata') : code(jwks_uri));

const issuerState = ({ attributes: a }: ResourceObject): Value => {
  if (a['status'] === 'disabled') return state('quiet', 'Disabled');
  return a['last_error'] === null ? state('good', 'Enabled') : state('bad', 'No keys');
};

/** The credentials that rest on the issuer. */
async function credentialsOf({ req, now }: ViewContext, { id, attributes }: ResourceObject): Promise<readonly Part[]> {
  if (!may(req.call, 'federated_credentials', 'read')) return [];
  const include = may(req.call, 'clients', 'read') ? 'client' : undefined;
  const { records, included } = await relatedOf(req.call, 'trusted_issuers', id, 'federated_credentials', { size: 100, include });
  const platform = platformOfIssuer(words(attributes['issuer']));
  const path = `/dashboard/federated_credentials/new?${new URLSearchParams({ trusted_issuer: id, ...(platform !== null && { platform }) }).toString()}`;
  const button = may(req.call, 'federated_credentials', 'write') ? { label: 'Create credential', path, variant: 'quiet' as const } : null;
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
    caption: 'Federated credentials',
    heading: true,
    columns: ['Client', 'Claims', 'Created'].map((label) => ({ label })),
    rows,
    empty: { title: 'No federated credentials yet', text: 'Until there is one, tokens of this issuer are good for nothing.', button },
    pager: null,
  };
  return [table, ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : [])];
}

/** Platforms whose tokens prove workloads. */
export const trusted_issuers: Presentation = {
  path: 'trusted_issuers',
  title: 'Trusted issuers',
  navigation: { group: 'Applications', icon: ['M3 4.5h14v4H3zM3 11.5h14v4H3z', 'M6 6.5h.1M6 13.5h.1M9 6.5h5M9 13.5h5'] },
  one: 'trusted issuer',
  lead: 'Platforms whose tokens stand for a client secret: CI jobs, pods and cloud workloads need none (RFC 7523).',
  empty: {
    title: 'No trusted issuers yet',
    text: 'Add GitHub Actions, a cluster or a cloud. Federated credentials then say which of its workloads is which client.',
  },
  columns: [
    { label: 'Name', sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['issuer']))) },
    { label: 'Status', value: issuerState },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Name or issuer begins with', kind: 'search' },
    { name: 'status', label: 'Status' },
  ],
  name: (record) => words(record.attributes['name']),
  state: issuerState,
  more: credentialsOf,
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Issuer', value: code(a['issuer'], true) },
    { label: 'Keys', value: a['jwks'] === null ? keysOf(a['jwks_uri']) : json(a['jwks']) },
    ...(a['last_error'] === null
      ? []
      : [{ label: 'Last error', value: stack(text(`Keys: ${words(a['last_error'])}`), time(a['last_error_at'], now)) }]),
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  fields: issuerFields(platforms['other'] as Platform, false),
  createFields: (req) => issuerFields(platformOf(req), true),
  create: { label: 'Add trusted issuer', title: 'Add a trusted issuer', button: 'Add issuer', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete issuer', text: 'Its federated credentials go with it, and its workloads get no more tokens.' },
};

const credentialFields = ({ claims, hint }: Platform): readonly FieldSpec[] => [
  {
    name: 'client',
    label: 'Client',
    relationship: 'one',
    on: 'create',
    hint: 'Those that authenticate by private_key_jwt.',
    choices: workloadClientChoices,
  },
  { name: 'trusted_issuer', label: 'Issuer', relationship: 'one', on: 'create', choices: trustedIssuerChoices },
  { name: 'audience', label: 'Audience', hint: 'The aud of the tokens. Empty: the issuer of this environment.', attributes: address },
  {
    name: 'claims',
    label: 'Claims',
    kind: 'json',
    optional: false,
    initial: JSON.stringify(claims, null, 2),
    hint: `What the tokens have to say, as JSON: a text, a list of texts, or {"prefix": "..."} ending in : or /. Replace what is in capitals. ${hint}`,
    attributes: { spellcheck: 'false', autocapitalize: 'none' },
  },
];

/** Which tokens of an issuer prove a client. */
export const federated_credentials: Presentation = {
  path: 'federated_credentials',
  title: 'Federated credentials',
  under: 'trusted_issuers',
  one: 'federated credential',
  lead: 'Which tokens of a trusted issuer authenticate which client.',
  empty: { title: 'No federated credentials yet', text: 'One says what the claims of a token are when it is of your workload.' },
  include: 'client,trusted_issuer',
  recordInclude: 'client,trusted_issuer',
  columns: [
    {
      label: 'Client',
      value: (record, _look, { included }) =>
        text(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client')),
    },
    {
      label: 'Issuer',
      value: (record, _look, { included }) => text(includedRecord(record, 'trusted_issuer', included)?.attributes['name']),
    },
    { label: 'Claims', value: claimLines },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: 'Client', choices: clientChoices },
    { name: 'trusted_issuer', label: 'Issuer', choices: trustedIssuerChoices },
  ],
  name: (record, included = []) =>
    `${words(includedRecord(record, 'trusted_issuer', included)?.attributes['name'] ?? 'Issuer')} → ${words(includedRecord(record, 'client', included)?.attributes['name'] ?? relatedId(record, 'client'))}`,
  summary: (record, { now }, included) => {
    const [client, issuer] = [includedRecord(record, 'client', included), includedRecord(record, 'trusted_issuer', included)];
    return [
      {
        label: 'Client',
        value: client ? link(words(client.attributes['name']), recordPath('clients', client.id)) : code(relatedId(record, 'client')),
      },
      { label: 'Issuer', value: issuer ? link(words(issuer.attributes['name']), recordPath('trusted_issuers', issuer.id)) : quiet('–') },
      { label: 'Audience', value: code(record.attributes['audience'], true) },
      { label: 'Claims', value: claimLines(record) },
      { label: 'Created', value: time(record.attributes['created_at'], now) },
      { label: 'Id', value: code(record.id, true) },
    ];
  },
  fields: credentialFields(platforms['other'] as Platform),
  createFields: (req) => credentialFields(platformOf(req)),
  create: { label: 'Create federated credential', title: 'Create a federated credential', button: 'Create credential', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete credential', text: 'These workloads get no more tokens of the client.' },
};
