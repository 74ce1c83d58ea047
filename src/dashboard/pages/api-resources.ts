import { acrLabel, apiResourceChoices, clientChoices, signingAlgorithmChoices } from '../choices.js';
import { claimMappingLine } from '../claim-mapping-lines.js';
import type { Part } from '../page-parts.js';
import { demandFields } from '../demand-fields.js';
import { recordPath, type ViewContext, type Presentation } from '../presentation.js';
import { relatedId, includedRecord, may, relatedOf } from '../resource-objects.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, duration, lines, link, quiet, state, tags, text, time, words } from '../values.js';

const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const formats = [
  { value: 'jwt', label: 'JWT', hint: 'The API verifies it by itself with the public keys.' },
  { value: 'opaque', label: 'Opaque', hint: 'The API asks the introspection endpoint; can be revoked at any moment.' },
];

const accesses = [
  { value: 'open', label: 'Every client', hint: 'People can let any of your clients call it for them.' },
  { value: 'granted', label: 'Clients with a grant', hint: 'Only clients that have a grant to ask people for its scopes.' },
];
const heldScopes = [
  { value: 'requested', label: 'What was asked for', hint: 'Your API looks at the claim permissions as well.' },
  { value: 'held', label: 'What the person holds', hint: 'Only what the person’s roles give; all of that when no scope is asked for.' },
];
const typs = [
  { value: 'at+jwt', label: 'at+jwt (RFC 9068)' },
  { value: 'JWT', label: 'JWT' },
];
const mappingLine = claimMappingLine(['access_token']);

const subjects = [
  { value: 'client', label: 'For itself', hint: 'Client credentials: no person is involved. Not for public clients.' },
  {
    value: 'user',
    label: 'To ask people for',
    hint: 'The Management API, and APIs that say so, take people’s tokens from clients with such a grant only.',
  },
];
const exchanges = [
  { value: 'none', label: 'None' },
  { value: 'delegation', label: 'Delegation', hint: 'Its tokens say that it acts for the person: the claim act names it.' },
  { value: 'impersonation', label: 'Impersonation', hint: 'Its tokens are as if the person had called; the audit log tells, each time.' },
];
const exchangeLabel = (grant: ResourceObject) => text(exchanges.find(({ value }) => value === grant.attributes['token_exchange'])?.label);
const subjectLabel = (grant: ResourceObject) => text(grant.attributes['subject_type'] === 'user' ? 'To ask people for' : 'For itself');

async function permissionsOf(look: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  if (!may(look.req.call, 'permissions', 'read')) return [];
  const { records } = await relatedOf(look.req.call, 'api_resources', record.id, 'permissions', { size: 100, sort: 'name' });
  const rows = records.map((one) => ({
    path: recordPath('permissions', one.id),
    cells: [code(one.attributes['name']), text(one.attributes['description'])],
  }));
  const path = `/dashboard/permissions/new?api_resource=${encodeURIComponent(record.id)}`;
  const button =
    isOwn(record) && may(look.req.call, 'permissions', 'write') ? { label: 'Add permission', path, variant: 'quiet' as const } : null;
  const empty = {
    title: 'No permissions',
    text: 'Callers get nothing until this API has permissions, such as orders:read, which are its scopes.',
    button,
  };
  const table: Part = {
    kind: 'table',
    id: 'permissions',
    caption: 'Permissions',
    heading: true,
    columns: [{ label: 'Scope' }, { label: 'Description' }],
    rows,
    empty,
    pager: null,
  };
  return [table, ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : [])];
}

/** APIs that tokens are issued for. */
export const api_resources: Presentation = {
  path: 'api_resources',
  title: 'API resources',
  navigation: { group: 'Applications', icon: ['m7 6-4 4 4 4M13 6l4 4-4 4'] },
  one: 'API resource',
  lead: 'The APIs that access tokens are issued for. A client names one with the resource parameter (RFC 8707).',
  empty: {
    title: 'No APIs yet',
    text: 'Register your API here, so that tokens carry its name as their audience and its permissions as their scopes.',
  },
  columns: [
    { label: 'Name', sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: 'Identifier', sort: 'identifier', value: (record) => code(record.attributes['identifier']) },
    { label: 'Tokens', value: (record) => text(record.attributes['token_format'] === 'jwt' ? 'JWT' : 'Opaque') },
    { label: 'Lifetime', value: (record) => duration(record.attributes['access_token_lifetime']) },
    { label: 'Kind', value: (record) => quiet(isOwn(record) ? 'Your own' : 'Built in') },
  ],
  filters: [{ name: 'search', label: 'Search', kind: 'search' }],
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', 'Your own') : state('info', 'Built in')),
  summary: ({ attributes: a, id }, { now }) => [
    { label: 'Identifier', value: code(a['identifier'], true) },
    { label: 'Token format', value: text(a['token_format'] === 'jwt' ? 'JWT (RFC 9068)' : 'Opaque') },
    { label: 'Token lifetime', value: duration(a['access_token_lifetime']) },
    { label: 'Signed with', value: text(a['signing_algorithm']) },
    { label: 'Tokens bound to a key', value: text(a['dpop_bound_access_tokens'] === true ? 'Always (DPoP)' : 'As the client asks') },
    { label: 'Who may ask people for it', value: text(a['user_access'] === 'open' ? 'Every client' : 'Clients with a grant') },
    { label: 'Type in the header of JWTs', value: code(a['token_typ']) },
    { label: 'Scopes in people’s tokens', value: text(a['user_scopes'] === 'held' ? 'What the person holds' : 'What was asked for') },
    { label: 'People have to prove', value: text(acrLabel(a['required_acr'])) },
    { label: 'Proofs may be as old as', value: duration(a['max_authentication_age'], 'The session') },
    { label: 'Claim mappings', value: lines((a['claim_mappings'] as unknown[]).map(mappingLine.show)) },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  more: permissionsOf,
  fields: [
    { name: 'name', label: 'Name', attributes: { maxlength: 100 } },
    {
      name: 'identifier',
      label: 'Identifier',
      hint: 'An absolute URI, such as https://api.example.com. It becomes the audience of tokens and can not be changed.',
      on: 'create',
      attributes: { maxlength: 2048, inputmode: 'url', autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'token_format', label: 'Token format', kind: 'radios', initial: 'jwt', choices: async () => formats },
    {
      name: 'access_token_lifetime',
      label: 'Token lifetime',
      hint: 'Seconds, 60 to 86400.',
      initial: '3600',
      attributes: { maxlength: 6 },
    },
    { name: 'user_access', label: 'Which clients may ask people for it', kind: 'radios', initial: 'open', choices: async () => accesses },
    { name: 'user_scopes', label: 'Scopes in people’s tokens', kind: 'radios', initial: 'requested', choices: async () => heldScopes },
    {
      name: 'token_typ',
      label: 'Type in the header of JWTs',
      initial: 'at+jwt',
      choices: async () => typs,
      hint: 'Spring Security’s default decoder takes JWT only; everything that follows RFC 9068 wants at+jwt.',
    },
    {
      name: 'signing_alg',
      label: 'Tokens are signed with',
      initial: 'RS256',
      choices: signingAlgorithmChoices,
      hint: 'Every verifier knows RS256. ES256 and EdDSA cost a fraction of the processor time.',
    },
    ...demandFields('tokens for it'),
    {
      name: 'dpop_bound_access_tokens',
      label: 'Only tokens that are bound to a key',
      hint: 'Clients then need DPoP (RFC 9449), and your API has to check their proofs.',
    },
    {
      name: 'claim_mappings',
      label: 'Claim mappings',
      hint: 'One a line: groups = roles. Sources: user attributes, metadata.<path>, roles, permissions; constants as JSON.',
      line: mappingLine,
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
  ],
  create: { label: 'Create API resource', title: 'Create an API resource' },
  edit: { when: isOwn },
  remove: {
    label: 'Delete API resource',
    text: 'Its permissions and grants go with it, its opaque tokens die, and no client can ask for tokens for it any more.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};

const nameIn = (record: ResourceObject, relationship: string, included: readonly ResourceObject[]) =>
  includedRecord(record, relationship, included)?.attributes['name'];

/** What clients may do for themselves, and what they may ask people for. */
export const client_grants: Presentation = {
  path: 'client_grants',
  title: 'Client grants',
  navigation: { group: 'Applications', icon: ['M4 10.5 8 14.5 16.5 5.5'] },
  one: 'client grant',
  lead: 'Which scopes of an API a client gets for itself (client credentials), and which it may ask people for where that takes a grant.',
  empty: {
    title: 'No grants yet',
    text: 'A service that calls your API on its own behalf needs a grant: this client, that API, these scopes. So does an application that asks people for permissions of the Management API.',
  },
  include: 'client,api_resource',
  recordInclude: 'client,api_resource',
  columns: [
    { label: 'Client', value: (record, _look, { included }) => text(nameIn(record, 'client', included) ?? relatedId(record, 'client')) },
    { label: 'API', value: (record, _look, { included }) => text(nameIn(record, 'api_resource', included)) },
    { label: 'For', value: subjectLabel },
    { label: 'Scopes', value: (record) => tags(record.attributes['scopes'], 4) },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'client', label: 'Client', choices: clientChoices },
    { name: 'api_resource', label: 'API', choices: apiResourceChoices },
    { name: 'subject_type', label: 'For', choices: async () => subjects.map(({ value, label }) => ({ value, label })) },
  ],
  name: (record, included = []) =>
    `${words(nameIn(record, 'client', included) ?? relatedId(record, 'client'))} → ${words(nameIn(record, 'api_resource', included) ?? 'API')}`,
  summary: (record, { now }, included) => {
    const [client, api] = [includedRecord(record, 'client', included), includedRecord(record, 'api_resource', included)];
    return [
      {
        label: 'Client',
        value: client ? link(words(client.attributes['name']), recordPath('clients', client.id)) : code(relatedId(record, 'client')),
      },
      { label: 'API', value: api ? link(words(api.attributes['name']), recordPath('api_resources', api.id)) : quiet('–') },
      { label: 'For', value: subjectLabel(record) },
      { label: 'Scopes', value: tags(record.attributes['scopes'], 200) },
      { label: 'Token exchange', value: exchangeLabel(record) },
      { label: 'Subject audiences', value: lines(record.attributes['subject_audiences']) },
      { label: 'Created', value: time(record.attributes['created_at'], now) },
      { label: 'Id', value: code(record.id, true) },
    ];
  },
  fields: [
    { name: 'client', label: 'Client', relationship: 'one', on: 'create', choices: clientChoices },
    { name: 'api_resource', label: 'API resource', relationship: 'one', on: 'create', choices: apiResourceChoices },
    {
      name: 'subject_type',
      label: 'What for',
      kind: 'radios',
      on: 'create',
      initial: 'client',
      choices: async () => subjects,
    },
    { name: 'scopes', label: 'Scopes', hint: 'One a line, out of the permissions of the API.', optional: false },
    {
      name: 'token_exchange',
      label: 'Token exchange',
      hint: 'Whether it gets tokens of this API for those of people that it was called with (RFC 8693).',
      kind: 'radios',
      initial: 'none',
      choices: async () => exchanges,
    },
    {
      name: 'subject_audiences',
      label: 'Subject audiences',
      hint: 'Whose tokens it may bring to an exchange: identifiers of APIs, one a line, usually of the one that it is itself. Tokens that were issued to it, it always may.',
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
  ],
  create: { label: 'Create grant', title: 'Let a client call an API' },
  remove: {
    label: 'Delete grant',
    text: 'The client gets no further tokens of this kind for this API, and those that it has stop working. People’s tokens for an API that is open to every client go on.',
  },
};
