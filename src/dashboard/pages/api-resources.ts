import { acrLabel, signingAlgorithmChoices } from '../choices.js';
import { claimMappingLine } from '../claim-mapping-lines.js';
import type { Part } from '../page-parts.js';
import { demandFields } from '../demand-fields.js';
import { recordPath, type ViewContext, type Presentation } from '../presentation.js';
import { may, relatedOf } from '../resource-objects.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, duration, lines, quiet, state, tags, text, time, words } from '../values.js';

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
    { label: 'Clients that are not verified', value: text(a['allow_unverified_clients'] === true ? 'Let in' : 'Kept out') },
    { label: 'Scopes where none is asked for', value: tags(a['default_scopes'], 20) },
    { label: 'Documentation', value: a['documentation_url'] === null ? quiet('–') : { kind: 'web', text: words(a['documentation_url']) } },
    { label: 'Metadata', value: code(a['metadata_url'], true) },
    { label: 'What it answers with 401 (WWW-Authenticate)', value: code(a['challenge_header'], true) },
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
      name: 'allow_unverified_clients',
      label: 'Let in clients that are not verified',
      hint: 'Clients that registered themselves, such as MCP clients. People are asked first, and warned.',
    },
    {
      name: 'default_scopes',
      label: 'Scopes where none is asked for',
      hint: 'One a line, out of its permissions. MCP clients ask for these. Empty: none, and the metadata lists all.',
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
    {
      name: 'documentation_url',
      label: 'Documentation',
      hint: 'An address for developers of clients; it stands in the metadata.',
      attributes: { maxlength: 2048 },
    },
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
