import { acrLabel, signingAlgorithmChoices } from '../choices.js';
import { claimMappingLine } from '../claim-mapping-lines.js';
import type { Part } from '../page-parts.js';
import { demandFields } from '../demand-fields.js';
import { recordPath, type ViewContext, type Presentation } from '../presentation.js';
import { may, relatedOf } from '../resource-objects.js';
import type { ResourceObject } from '../../management/documents.js';
import { code, duration, lines, quiet, state, tags, text, time, words } from '../values.js';
import { hints, nouns, sentences, terms } from '../words.js';

const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const formats = [
  { value: 'jwt', label: terms.jwt, hint: hints.jwt },
  { value: 'opaque', label: terms.opaque, hint: hints.opaque },
];

const accesses = [
  { value: 'open', label: terms.all_clients, hint: hints.open },
  { value: 'granted', label: terms.clients_with_a_client_grant, hint: hints.granted },
];
const heldScopes = [
  { value: 'requested', label: terms.requested_scopes, hint: hints.requested },
  { value: 'held', label: terms.all_permissions_of_the_user, hint: hints.held },
];
const typs = [
  { value: 'at+jwt', label: terms.jwt_type_rfc9068 },
  { value: 'JWT', label: terms.jwt },
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
    isOwn(record) && may(look.req.call, 'permissions', 'write') ? { label: terms.add_permission, path, variant: 'quiet' as const } : null;
  const empty = {
    title: terms.no_permissions,
    text: sentences.callers_get_nothing_until_this,
    button,
  };
  const table: Part = {
    kind: 'table',
    id: 'permissions',
    caption: terms.permissions,
    heading: true,
    columns: [{ label: terms.scope }, { label: terms.description }],
    rows,
    empty,
    pager: null,
  };
  return [table, ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : [])];
}

/** APIs that tokens are issued for. */
export const api_resources: Presentation = {
  path: 'api_resources',
  title: terms.api_resources,
  navigation: { group: 'Applications', icon: ['m7 6-4 4 4 4M13 6l4 4-4 4'] },
  one: nouns.api_resource,
  lead: sentences.api_resources_lead,
  empty: {
    title: terms.no_apis_yet,
    text: sentences.register_your_api_here_so,
  },
  columns: [
    { label: terms.name, sort: 'name', value: (record) => text(record.attributes['name']) },
    { label: terms.identifier, sort: 'identifier', value: (record) => code(record.attributes['identifier']) },
    { label: terms.token_format, value: (record) => text(record.attributes['token_format'] === 'jwt' ? 'JWT' : terms.opaque) },
    { label: terms.access_token_lifetime, value: (record) => duration(record.attributes['access_token_lifetime']) },
    { label: terms.type, value: (record) => quiet(isOwn(record) ? terms.custom : terms.system) },
  ],
  filters: [{ name: 'search', label: terms.search, kind: 'search' }],
  name: (record) => words(record.attributes['name']),
  state: (record) => (isOwn(record) ? state('quiet', terms.custom) : state('info', terms.system)),
  summary: ({ attributes: a, id }, { now }) => [
    { label: terms.identifier, value: code(a['identifier'], true) },
    { label: terms.token_format, value: text(a['token_format'] === 'jwt' ? 'JWT (RFC 9068)' : terms.opaque) },
    { label: terms.access_token_lifetime, value: duration(a['access_token_lifetime']) },
    { label: terms.signing_algorithm, value: text(a['signing_algorithm']) },
    {
      label: terms.dpop_bound_access_tokens,
      value: text(a['dpop_bound_access_tokens'] === true ? terms.always_dpop : terms.as_the_client_asks),
    },
    { label: terms.user_access_policy, value: text(a['user_access'] === 'open' ? terms.all_clients : terms.clients_with_a_client_grant) },
    { label: terms.jwt_type_typ, value: code(a['token_typ']) },
    {
      label: terms.scopes_of_user_tokens,
      value: text(a['user_scopes'] === 'held' ? terms.all_permissions_of_the_user : terms.requested_scopes),
    },
    { label: terms.unverified_clients, value: text(a['allow_unverified_clients'] === true ? terms.allowed : terms.refused) },
    { label: terms.default_scopes, value: tags(a['default_scopes'], 20) },
    {
      label: terms.documentation_url,
      value: a['documentation_url'] === null ? quiet('–') : { kind: 'web', text: words(a['documentation_url']) },
    },
    { label: terms.protected_resource_metadata, value: code(a['metadata_url'], true) },
    { label: terms.www_authenticate_challenge, value: code(a['challenge_header'], true) },
    { label: terms.required_authentication_context, value: text(acrLabel(a['required_acr'])) },
    { label: terms.maximum_authentication_age, value: duration(a['max_authentication_age'], 'The session') },
    { label: terms.claim_mappings, value: lines((a['claim_mappings'] as unknown[]).map(mappingLine.show)) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  more: permissionsOf,
  fields: [
    { name: 'name', label: terms.name, attributes: { maxlength: 100 } },
    {
      name: 'identifier',
      label: terms.identifier,
      hint: hints.identifier,
      on: 'create',
      attributes: { maxlength: 2048, inputmode: 'url', autocapitalize: 'none', spellcheck: 'false' },
    },
    { name: 'token_format', label: terms.token_format, kind: 'radios', initial: 'jwt', choices: async () => formats },
    {
      name: 'access_token_lifetime',
      label: terms.access_token_lifetime,
      hint: hints.access_token_lifetime,
      initial: '3600',
      attributes: { maxlength: 6 },
    },
    { name: 'user_access', label: terms.user_access_policy, kind: 'radios', initial: 'open', choices: async () => accesses },
    { name: 'user_scopes', label: terms.scopes_of_user_tokens, kind: 'radios', initial: 'requested', choices: async () => heldScopes },
    {
      name: 'allow_unverified_clients',
      label: terms.unverified_clients,
      hint: hints.allow_unverified_clients,
    },
    {
      name: 'default_scopes',
      label: terms.default_scopes,
      hint: hints.default_scopes,
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
    {
      name: 'documentation_url',
      label: terms.documentation_url,
      hint: hints.documentation_url,
      attributes: { maxlength: 2048 },
    },
    {
      name: 'token_typ',
      label: terms.jwt_type_typ,
      initial: 'at+jwt',
      choices: async () => typs,
      hint: hints.token_typ,
    },
    {
      name: 'signing_alg',
      label: terms.signing_algorithm,
      initial: 'RS256',
      choices: signingAlgorithmChoices,
      hint: hints.signing_alg,
    },
    ...demandFields(terms.tokens_for_it),
    {
      name: 'dpop_bound_access_tokens',
      label: terms.dpop_bound_access_tokens,
      hint: hints.dpop_bound_access_tokens,
    },
    {
      name: 'claim_mappings',
      label: terms.claim_mappings,
      hint: hints.claim_mappings,
      line: mappingLine,
      attributes: { spellcheck: false, autocapitalize: 'none' },
    },
  ],
  create: { label: terms.create_api_resource, title: terms.create_an_api_resource },
  edit: { when: isOwn },
  remove: {
    label: terms.delete_api_resource,
    text: sentences.its_permissions_and_grants_go,
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
};
