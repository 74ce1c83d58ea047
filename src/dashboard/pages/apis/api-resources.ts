import { acrLabel, signingAlgorithmChoices } from '../../parts/forms/choices.js';
import { claimMappingLine } from './claim-mapping-lines.js';
import type { Part } from '../../parts/page-parts.js';
import { pageTable } from '../../parts/page-tables.js';
import { requirementFields } from './requirement-fields.js';
import { recordPath, type FormSubject, type ViewContext, type Presentation } from '../../parts/records/presentation.js';
import { may, relatedOf } from '../../parts/records/objects.js';
import type { ResourceObject } from '../../../management/documents.js';
import { code, duration, lines, quiet, state, tags, text, time, words, yesNo } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

/** Its label in the form and in the summary. */
const agentClaims = 'Agent claims';

const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const formats = [
  { value: 'jwt', label: terms.jwt, hint: 'The API verifies tokens itself, with the public keys.' },
  { value: 'opaque', label: terms.opaque, hint: 'The API calls the introspection endpoint; tokens can be revoked at any time.' },
];

const accesses = [
  { value: 'open', label: 'All clients', hint: 'Any client can call it on a person’s behalf.' },
  { value: 'granted', label: 'Clients with a client grant', hint: 'Only clients with a grant can request its scopes.' },
];
const assertionAccesses = [
  { value: 'off', label: terms.refused },
  {
    value: 'granted',
    label: 'Clients whose grant allows it',
    hint: 'They get tokens for identity assertions of a connection (ID-JAG), without asking people.',
  },
  { value: 'verified', label: 'All verified clients', hint: 'Those that may request it from people.' },
];
const heldScopes = [
  { value: 'requested', label: terms.requested_scopes, hint: 'Your API also checks the permissions claim.' },
  {
    value: 'held',
    label: 'All permissions of the user',
    hint: 'Only what the person’s roles allow; everything they allow if no scope is requested.',
  },
];
const typs = [
  { value: 'at+jwt', label: 'at+jwt (RFC 9068)' },
  { value: 'JWT', label: terms.jwt },
];
const mappingLine = claimMappingLine(['access_token']);

async function permissionsOf(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  if (!may(view.req.call, 'permissions', 'read')) return [];
  const { records } = await relatedOf(view.req.call, 'api_resources', record.id, 'permissions', { size: 100, sort: 'name' });
  const rows = records.map((one) => ({
    path: recordPath('permissions', one.id),
    cells: [code(one.attributes['name']), text(one.attributes['description'])],
  }));
  const path = `/dashboard/permissions/new?api_resource=${encodeURIComponent(record.id)}`;
  const button =
    isOwn(record) && may(view.req.call, 'permissions', 'write') ? { label: 'Add permission', path, variant: 'quiet' as const } : null;
  const table = pageTable({
    id: 'permissions',
    caption: terms.permissions,
    columns: [terms.scope, terms.description],
    rows,
    nothing: ['No permissions', 'Add permissions such as orders:read. They are the scopes that callers can request.', button],
  });
  return [table, ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : [])];
}

const subjects: readonly FormSubject[] = [
  {
    name: 'general',
    title: 'General',
    fields: [
      { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
      {
        name: 'identifier',
        label: 'Identifier',
        hint: 'An absolute URI, such as https://api.example.com. It becomes the audience of tokens and cannot be changed.',
        on: 'create',
        attributes: { maxlength: 2048, inputmode: 'url', autocapitalize: 'none', spellcheck: 'false' },
      },
      {
        name: 'documentation_url',
        label: 'Documentation URL',
        hint: 'A URL for client developers, published in the metadata.',
        attributes: { maxlength: 2048 },
      },
    ],
  },
  {
    name: 'tokens',
    title: 'Tokens',
    text: 'What access tokens for it look like, and how long they work.',
    fields: [
      { name: 'token_format', label: 'Token format', kind: 'radios', initial: 'jwt', choices: async () => formats },
      {
        name: 'access_token_lifetime',
        label: 'Access token lifetime',
        hint: 'A minute to a day.',
        initial: '3600',
        attributes: { maxlength: 6 },
      },
      {
        name: 'token_typ',
        label: 'JWT type (typ)',
        initial: 'at+jwt',
        choices: async () => typs,
        hint: 'Spring Security’s default decoder accepts only JWT; libraries that follow RFC 9068 expect at+jwt. With JWT, the header doesn’t distinguish these tokens from ID tokens, so the API must check aud.',
      },
      {
        name: 'signing_alg',
        label: terms.signing_algorithm,
        initial: 'RS256',
        choices: signingAlgorithmChoices,
        hint: 'Every library supports RS256. ES256 and EdDSA need far less processor time.',
      },
      {
        name: 'dpop_bound_access_tokens',
        label: terms.dpop_bound_access_tokens,
        hint: 'Clients must use DPoP (RFC 9449), and your API must check their proofs.',
      },
      {
        name: 'claim_mappings',
        label: terms.claim_mappings,
        hint: 'One per line: groups = roles. Sources: user attributes, metadata.<path>, roles, permissions; constants as JSON.',
        line: mappingLine,
        attributes: { spellcheck: false, autocapitalize: 'none' },
      },
    ],
  },
  {
    name: 'access',
    title: 'Access',
    text: 'Who gets tokens for it, and what people have to prove.',
    fields: [
      { name: 'user_access', label: 'User access policy', kind: 'radios', initial: 'open', choices: async () => accesses },
      { name: 'user_scopes', label: 'Scopes of user tokens', kind: 'radios', initial: 'requested', choices: async () => heldScopes },
      {
        name: 'allow_unverified_clients',
        label: 'Unverified clients',
        hint: 'Clients that registered themselves, such as MCP clients. People are warned and asked for consent.',
      },
      {
        name: 'agent_claims',
        label: agentClaims,
        hint: 'Access tokens and introspection say that an AI agent acts: act and client_profile.',
      },
      { name: 'assertion_access', label: terms.assertions, kind: 'radios', initial: 'off', choices: async () => assertionAccesses },
      {
        name: 'default_scopes',
        label: 'Default scopes',
        hint: 'One permission per line. MCP clients request these. Leave empty for none; the metadata then lists all.',
        attributes: { spellcheck: false, autocapitalize: 'none' },
      },
      ...requirementFields('tokens for it'),
    ],
  },
];

/** What an API resource has about which nobody said anything. */
const defaults = {
  documentation_url: null,
  token_typ: 'at+jwt',
  signing_alg: 'RS256',
  dpop_bound_access_tokens: false,
  claim_mappings: [],
  user_access: 'open',
  user_scopes: 'requested',
  allow_unverified_clients: false,
  assertion_access: 'off',
  agent_claims: false,
  default_scopes: [],
  required_acr: null,
  max_authentication_age: null,
};

export const apiResourcesPresentation: Presentation = {
  path: 'api_resources',
  title: 'API resources',
  navigation: { group: 'Applications', icon: ['m7 6-4 4 4 4M13 6l4 4-4 4'] },
  one: terms.api_resource,
  lead: 'The APIs that access tokens are issued for. Clients choose one with the resource parameter (RFC 8707).',
  empty: {
    title: 'No APIs yet',
    text: 'Register your API to issue tokens with its identifier as the audience and its permissions as scopes.',
  },
  columns: [
    { label: terms.name, sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: 'Identifier', sort: 'identifier', value: (record) => code(record.attributes['identifier']) },
    { label: 'Token format', value: (record) => text(record.attributes['token_format'] === 'jwt' ? 'JWT' : terms.opaque) },
    { label: 'Access token lifetime', value: (record) => duration(record.attributes['access_token_lifetime']) },
    { label: terms.type, value: (record) => quiet(isOwn(record) ? terms.custom : terms.system) },
  ],
  filters: [{ name: 'search', label: terms.search, kind: 'search' }],
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', terms.custom) : state('info', terms.system)),
  summary: ({ attributes: a }, { now }) => [
    { label: 'Identifier', value: code(a['identifier'], true) },
    { label: 'Token format', value: text(a['token_format'] === 'jwt' ? 'JWT (RFC 9068)' : terms.opaque) },
    { label: 'Access token lifetime', value: duration(a['access_token_lifetime']) },
    { label: terms.signing_algorithm, value: text(a['signing_algorithm']) },
    { label: terms.dpop_bound_access_tokens, value: text(a['dpop_bound_access_tokens'] === true ? 'Always (DPoP)' : 'As the client asks') },
    { label: 'User access policy', value: text(a['user_access'] === 'open' ? 'All clients' : 'Clients with a client grant') },
    { label: 'JWT type (typ)', value: code(a['token_typ']) },
    { label: 'Scopes of user tokens', value: text(a['user_scopes'] === 'held' ? 'All permissions of the user' : terms.requested_scopes) },
    { label: 'Unverified clients', value: text(a['allow_unverified_clients'] === true ? terms.allowed : terms.refused) },
    { label: agentClaims, value: yesNo(a['agent_claims']) },
    { label: terms.assertions, value: text(assertionAccesses.find(({ value }) => value === a['assertion_access'])?.label) },
    { label: 'Default scopes', value: tags(a['default_scopes'], 20) },
    {
      label: 'Documentation URL',
      value: a['documentation_url'] === null ? quiet('–') : { kind: 'web', text: words(a['documentation_url']) },
    },
    { label: 'Protected resource metadata', value: code(a['metadata_url'], true) },
    { label: 'WWW-Authenticate challenge', value: code(a['challenge_header'], true) },
    { label: terms.required_authentication_context, value: text(acrLabel(a['required_acr'])) },
    { label: terms.maximum_authentication_age, value: duration(a['max_authentication_age'], terms.the_session) },
    { label: terms.claim_mappings, value: lines((a['claim_mappings'] as unknown[]).map(mappingLine.show)) },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  defaults: () => defaults,
  more: permissionsOf,
  fields: subjects.flatMap(({ fields }) => fields),
  subjects,
  create: { label: terms.create_api_resource, title: 'Create an API resource' },
  edit: { when: isOwn },
  remove: {
    label: 'Delete API resource',
    text: 'Its permissions and grants are deleted, its opaque tokens stop working, and clients can no longer request tokens for it.',
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};
