import { acrLabel } from '../choices.js';
import { recordPath, type Presentation } from '../presentation.js';
import type { Part, Value } from '../page-parts.js';
import type { ResourceObject } from '../../management/documents.js';
import { includedRecord, may, relatedOf } from '../resource-objects.js';
import { code, duration, lines, number, quiet, stack, state, tags, text, time, web, yesNo, words } from '../values.js';
import { profileParts, profileValue } from './client-profile.js';
import { connectionsTab, credentialsTab } from './client-tabs.js';
import { insteadOfSecret } from './client-proof.js';
import { kinds, methodLabels, provesBySecret, secretValue } from './client-kinds.js';
import { clientCreateFields, clientCreateLead, completedClient } from './client-create-fields.js';
import { clientCreatedParts } from './client-created.js';
import { clientFields, clientSections, mappingLine } from './client-fields.js';
import { named, own } from '../../lib/named.js';
import { openUrl } from '../../domain/clients/initiation.js';
import type { Environment } from '../../domain/environments/environment.js';
import { quickStartTab } from './client-snippets.js';
import { takesWorkloads } from '../choices.js';
import { isPreviewable, tokenPreviewTab } from './token-preview-tab.js';
import { workloadsTab } from './workloads-tab.js';
import { fill, nouns, sentences, terms } from '../words.js';

const clientState = (record: ResourceObject): Value =>
  record.attributes['status'] === 'enabled' ? state('good', terms.enabled) : state('bad', terms.disabled);
const isOwn = (record: ResourceObject) => record.attributes['is_system'] !== true;
const hasSecret = ({ attributes: a }: ResourceObject) => provesBySecret(a);

/** A link that begins a sign-in there. */
const openLink = (environment: Environment, uri: unknown): Value => web(openUrl(environment, typeof uri === 'string' ? uri : null));

const origins: Readonly<Record<string, string>> = named({
  registration: terms.dynamic_client_registration,
  metadata_document: terms.client_id_metadata_document,
});

/** Of a client that came by itself: how, and whether somebody vouches for it. */
const arrivalRows = (a: ResourceObject['attributes'], now: Date) =>
  a['origin'] === 'administrator'
    ? []
    : [
        { label: terms.origin, value: text(own(origins, words(a['origin'])) ?? '') },
        { label: terms.verified, value: a['verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified) },
        ...(a['document_read_at'] === null ? [] : [{ label: terms.metadata_document_read, value: time(a['document_read_at'], now) }]),
        ...(a['document_ended_at'] === null
          ? []
          : [{ label: terms.metadata_document_invalid_since, value: time(a['document_ended_at'], now) }]),
      ];

/** What a sign-in to it has to be, and for how long and how often it gets tokens. */
const limitRows = (a: ResourceObject['attributes']) => [
  { label: terms.required_authentication_context, value: text(acrLabel(a['required_acr'])) },
  { label: terms.maximum_authentication_age, value: duration(a['max_authentication_age'], 'The session') },
  { label: terms.id_token_lifetime, value: duration(a['id_token_lifetime'], 'The environment’s') },
  { label: terms.refresh_token_lifetime, value: duration(a['refresh_token_lifetime'], 'The environment’s') },
  {
    label: terms.token_request_rate_limit,
    value: a['token_rate_limit'] === null ? quiet(terms.the_default) : number(a['token_rate_limit']),
  },
];

/** Whether people sign in to it. */
const signsIn = (record: ResourceObject) => (record.attributes['grant_types'] as string[]).includes('authorization_code');

async function grantsTab(look: Parameters<typeof quickStartTab>[0], record: ResourceObject): Promise<readonly Part[]> {
  const listing = await relatedOf(look.req.call, 'clients', record.id, 'client_grants', {
    size: 100,
    include: may(look.req.call, 'api_resources', 'read') ? 'api_resource' : undefined,
  });
  const rows = listing.records.map((grant) => ({
    path: recordPath('client_grants', grant.id),
    cells: [
      text(includedRecord(grant, 'api_resource', listing.included)?.attributes['name'] ?? terms.api),
      text(grant.attributes['subject_type'] === 'user' ? terms.user : terms.client),
      tags(grant.attributes['scopes'], 10),
      time(grant.attributes['created_at'], look.now),
    ],
  }));
  const path = `/dashboard/client_grants/new?client=${encodeURIComponent(record.id)}`;
  const button = may(look.req.call, 'client_grants', 'write')
    ? { label: terms.create_client_grant, path, variant: 'quiet' as const }
    : null;
  const empty = {
    title: terms.no_grants,
    text: sentences.without_a_grant_this_client,
    button,
  };
  const columns = [terms.api, terms.subject_type, terms.allowed_scopes, terms.created].map((label) => ({ label }));
  return [
    { kind: 'table', id: 'grants', caption: terms.grants, heading: false, columns, rows, empty, pager: null },
    ...(button && rows.length > 0 ? [{ kind: 'buttons' as const, links: [button], posts: [] }] : []),
  ];
}

/** Applications and services that get tokens. */
export const clients: Presentation = {
  path: 'clients',
  title: terms.clients,
  navigation: { group: 'Applications', icon: ['M3.5 3.5h13v13h-13z', 'M3.5 7.5h13M6 5.5h.1M8.25 5.5h.1'] },
  one: nouns.client,
  lead: sentences.clients_lead,
  empty: {
    title: terms.no_clients_yet,
    text: sentences.a_client_is_your_application,
  },
  columns: [
    { label: terms.client, sort: 'name', value: ({ attributes: a, id }) => stack(text(a['name']), quiet(id)) },
    { label: terms.application_type, value: (record) => text(kinds[words(record.attributes['application_type'])]?.label) },
    { label: terms.status, value: clientState },
    { label: terms.last_used, value: (record, { now }) => time(record.attributes['last_used_at'], now) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: terms.name_or_id_begins_with, kind: 'search' },
    {
      name: 'application_type',
      label: terms.application_type,
      choices: async () => Object.entries(kinds).map(([value, { label }]) => ({ value, label })),
    },
    { name: 'status', label: terms.status },
  ],
  name: (record) => words(record.attributes['name']),
  state: clientState,
  recordInclude: 'federated_credentials',
  summary: ({ attributes: a, id }, { now, req }, included) => [
    { label: terms.client_id, value: code(id, true) },
    {
      label: terms.secret,
      value: provesBySecret(a)
        ? stack(secretValue(a), quiet(terms.shown_once_when_it_was_made))
        : stack(quiet(terms.none), ...insteadOfSecret(id, a, may(req.call, 'federated_credentials', 'read') ? included : null)),
    },
    ...(a['previous_secret_expires_at'] === null
      ? []
      : [{ label: terms.previous_secret_expires, value: time(a['previous_secret_expires_at'], now) }]),
    { label: terms.application_type, value: text(kinds[words(a['application_type'])]?.label) },
    ...arrivalRows(a, now),
    { label: terms.description, value: text(a['description']) },
    { label: terms.grant_types, value: tags(a['grant_types']) },
    { label: terms.authentication_method, value: text(methodLabels[words(a['token_endpoint_auth_method'])]) },
    { label: terms.redirect_uris, value: lines(a['redirect_uris']) },
    { label: terms.post_logout_redirect_uris, value: lines(a['post_logout_redirect_uris']) },
    { label: terms.allowed_origins_cors, value: lines(a['allowed_origins']) },
    { label: terms.initiate_login_uri, value: openLink(req.ctx.environment, a['initiate_login_uri']) },
    { label: terms.allowed_scopes, value: a['scopes'] === null ? quiet(terms.all) : tags(a['scopes']) },
    { label: terms.security_profile, value: profileValue(a['profile']) },
    { label: terms.pkce, value: text(a['require_pkce'] === true ? terms.required : terms.optional) },
    { label: terms.dpop, value: text(a['dpop_bound_access_tokens'] === true ? terms.required : terms.optional) },
    {
      label: terms.pushed_authorization_requests,
      value: text(a['require_pushed_authorization_requests'] === true ? terms.required : terms.optional),
    },
    { label: terms.signed_request_objects, value: text(a['require_signed_request_object'] === true ? terms.required : terms.optional) },
    { label: terms.first_party_skips_consent, value: yesNo(a['first_party']) },
    { label: terms.introspection_of_other_clients_tokens, value: yesNo(a['introspection_allowed']) },
    {
      label: terms.id_token_claims,
      value: text(a['id_token_claims'] === 'profile' ? terms.protocol_and_profile_claims : terms.protocol_claims),
    },
    { label: terms.claim_mappings, value: lines((a['claim_mappings'] as unknown[]).map(mappingLine.show)) },
    { label: terms.id_token_signing_algorithm, value: text(a['id_token_signed_response_alg']) },
    {
      label: terms.userinfo_signing_algorithm,
      value: text(
        a['userinfo_signed_response_alg'] === null
          ? 'JSON'
          : fill(terms.a_jwt_signed_with, { alg: words(a['userinfo_signed_response_alg']) }),
      ),
    },
    {
      label: terms.authorization_response_signing_algorithm,
      value: text(a['authorization_signed_response_alg'] ?? terms.signed_on_demand),
    },
    {
      label: terms.introspection_response_signing_algorithm,
      value: text(a['introspection_signed_response_alg'] ?? terms.signed_on_demand),
    },
    ...limitRows(a),
    { label: terms.client_uri, value: web(a['client_uri']) },
    ...(a['tokens_not_before'] === null ? [] : [{ label: terms.tokens_not_before, value: time(a['tokens_not_before'], now) }]),
    { label: terms.last_used, value: time(a['last_used_at'], now) },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  above: profileParts,
  sections: clientSections,
  fields: clientFields,
  createFields: clientCreateFields,
  create: {
    label: terms.create_client,
    title: terms.create_a_client,
    lead: clientCreateLead,
    guarded: true,
    complete: completedClient,
    next: 'quick_start',
    after: clientCreatedParts,
  },
  edit: { when: isOwn },
  remove: {
    label: terms.delete_client,
    text: sentences.its_tokens_grants_and_consents,
    when: isOwn,
    typed: (record) => words(record.attributes['name']),
  },
  actions: {
    verify: {
      label: terms.verify,
      when: (record) => record.attributes['verified'] !== true,
      confirm: [sentences.you_vouch_for_this_application],
      done: 'updated',
    },
    revoke_tokens: {
      label: terms.revoke_its_tokens,
      confirm: [sentences.every_token_issued_to_it, sentences.its_credentials_and_consents_stay],
      danger: true,
      done: 'tokens_revoked',
    },
    rotate_secret: {
      label: terms.rotate_secret,
      when: hasSecret,
      confirm: [sentences.a_new_secret_is_made, sentences.the_present_one_works_for],
      guarded: true,
      done: 'updated',
    },
  },
  secrets: {
    create: {
      title: terms.save_the_client_secret,
      lead: sentences.step_three,
      label: terms.client_secret,
      text: sentences.put_it_where_your_application,
      next: 'quick_start',
    },
    rotate_secret: { title: terms.save_the_new_client_secret, label: terms.client_secret, text: sentences.replace_it_in_your_application },
  },
  tabs: [
    { name: 'quick_start', label: terms.quick_start, parts: quickStartTab },
    { name: 'credentials', label: terms.credentials, parts: credentialsTab },
    { name: 'token_preview', label: terms.token_preview, needs: 'users', when: isPreviewable, parts: tokenPreviewTab },
    { name: 'connections', label: terms.connections, needs: 'connections', when: signsIn, parts: connectionsTab },
    { name: 'grants', label: terms.grants, needs: 'client_grants', parts: grantsTab },
    { name: 'workloads', label: terms.workload_identity, needs: 'federated_credentials', when: takesWorkloads, parts: workloadsTab },
  ],
};
