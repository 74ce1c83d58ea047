import type { Request } from 'express';
import { clientChoices, trustedIssuerChoices } from '../choices.js';
import { recordPath, type FieldSpec, type Presentation } from '../presentation.js';
import { includedRecord, relatedId } from '../resource-objects.js';
import { code, json, link, quiet, stack, state, text, time, words } from '../values.js';
import { platforms, type Platform } from './platforms.js';

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
    hint: 'iss of its tokens, character by character. Replace what is in capitals.',
    attributes: address,
  },
  { name: 'jwks_uri', label: 'Address of its keys', hint: 'Empty: where the issuer’s own metadata says.', attributes: address },
  { name: 'jwks', label: 'Its keys', kind: 'json', hint: 'A JWK set, where nobody outside can fetch them. Empty: they are fetched.' },
  { name: 'status', label: 'Status', on: 'update' },
];

/** Platforms whose tokens prove workloads. */
export const trusted_issuers: Presentation = {
  path: 'trusted_issuers',
  title: 'Workload issuers',
  navigation: { group: 'Applications', icon: ['M10 3 4 6v4c0 3.5 2.5 6 6 7 3.5-1 6-3.5 6-7V6z'] },
  one: 'trusted issuer',
  lead: 'Platforms whose tokens prove your workloads, so that jobs and pods need no secret.',
  empty: {
    title: 'No issuers yet',
    text: 'Trust GitHub Actions, a cluster or a cloud here; federated credentials say which of its workloads is which client.',
  },
  columns: [
    { label: 'Name', sort: 'name', value: ({ attributes: a }) => stack(text(a['name']), quiet(words(a['issuer']))) },
    {
      label: 'Status',
      value: ({ attributes: a }) =>
        a['status'] === 'disabled'
          ? state('quiet', 'Disabled')
          : a['last_error'] === null
            ? state('good', 'Enabled')
            : state('bad', 'Keys can not be had'),
    },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Name or issuer begins with', kind: 'search' },
    { name: 'status', label: 'Status' },
  ],
  name: (record) => words(record.attributes['name']),
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Issuer', value: code(a['issuer'], true) },
    { label: 'Keys', value: a['jwks'] === null ? code(a['jwks_uri'] ?? 'Where its metadata says') : json(a['jwks']) },
    { label: 'Last trouble with its keys', value: a['last_error'] === null ? quiet('None') : text(a['last_error']) },
    { label: 'That was', value: time(a['last_error'] === null ? null : a['last_error_at'], now) },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  fields: issuerFields(platforms['other'] as Platform, false),
  createFields: (req) => issuerFields(platformOf(req), true),
  create: { label: 'Trust an issuer', title: 'Trust an issuer', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete issuer', text: 'The credentials that rest on it go with it, and its workloads get no more tokens.' },
};

const credentialFields = ({ claims, hint }: Platform): readonly FieldSpec[] => [
  { name: 'client', label: 'Client', relationship: 'one', on: 'create', choices: clientChoices },
  { name: 'trusted_issuer', label: 'Issuer', relationship: 'one', on: 'create', choices: trustedIssuerChoices },
  { name: 'audience', label: 'Audience', hint: 'aud of the tokens. Empty: the issuer of this environment.', attributes: address },
  {
    name: 'claims',
    label: 'What the tokens say',
    kind: 'json',
    initial: JSON.stringify(claims, null, 2),
    hint: `JSON: a text, a list of texts, or {"prefix": "..."} ending in : or /. Replace what is in capitals. ${hint}`,
    attributes: { spellcheck: 'false', autocapitalize: 'none' },
  },
];

/** Which tokens of an issuer prove a client. */
export const federated_credentials: Presentation = {
  path: 'federated_credentials',
  title: 'Federated credentials',
  under: 'trusted_issuers',
  one: 'federated credential',
  lead: 'Which tokens of a trusted issuer prove which client.',
  empty: { title: 'No credentials yet', text: 'A credential says what a platform’s token holds when it is of your workload.' },
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
    { label: 'Claims', value: (record) => code(JSON.stringify(record.attributes['claims'])) },
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
      { label: 'What the tokens say', value: json(record.attributes['claims']) },
      { label: 'Created', value: time(record.attributes['created_at'], now) },
      { label: 'Id', value: code(record.id, true) },
    ];
  },
  fields: credentialFields(platforms['other'] as Platform),
  createFields: (req) => credentialFields(platformOf(req)),
  create: { label: 'Create credential', title: 'Let a workload be a client', guarded: true },
  edit: { guarded: true },
  remove: { label: 'Delete credential', text: 'Its workloads get no more tokens of this client.' },
};
