import { detailTypesLabel } from './agent-fields.js';
import type { ClientRow } from '../../../db/tables/clients.js';
import { openUrl } from '../../../domain/clients/initiation.js';
import { blankClient } from '../../../domain/clients/blank-client.js';
import { withDefaults } from '../../../domain/clients/rules.js';
import type { Environment } from '../../../domain/environment.js';
import { named, own } from '../../../lib/named.js';
import type { ResourceObject } from '../../../management/documents.js';
import { acrLabel } from '../../parts/forms/choices.js';
import type { Row, Value } from '../../parts/page-parts.js';
import { includedRecord, may, relatedId } from '../../parts/records/objects.js';
import { recordPath, type RecordSpec, type ViewContext } from '../../parts/records/presentation.js';
import { code, duration, lines, link, number, quiet, stack, state, tags, text, time, web, words, yesNo } from '../../parts/values.js';
import { organizationUsageLabels } from './organization-usage.js';
import { terms } from '../../parts/words.js';
import { mappingLine } from './client-fields.js';
import { kinds, methodLabels, provesBySecret, secretValue } from './client-kinds.js';
import { isSaml, samlRows } from './saml-client.js';
import { profileValue } from './client-profile.js';
import { insteadOfSecret } from './client-proof.js';

/** A link that begins a sign-in there. */
const openLink = (environment: Environment, uri: unknown): Value => web(openUrl(environment, typeof uri === 'string' ? uri : null));

const origins: Readonly<Record<string, string>> = named({
  registration: terms.dynamic_client_registration,
  metadata_document: 'Client ID metadata document',
});

/** Of a client that came by itself: how, and whether it is verified. */
const selfRegistrationRows = (a: ResourceObject['attributes'], now: Date) =>
  a['origin'] === 'administrator'
    ? []
    : [
        { label: 'Origin', value: text(own(origins, words(a['origin'])) ?? '') },
        { label: terms.verified, value: a['verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified) },
        ...(a['document_read_at'] === null ? [] : [{ label: 'Metadata document read', value: time(a['document_read_at'], now) }]),
        ...(a['document_ended_at'] === null
          ? []
          : [{ label: 'Metadata document invalid since', value: time(a['document_ended_at'], now) }]),
      ];

/** What a sign-in to it has to be. */
const requirementRows = (a: ResourceObject['attributes']) => [
  {
    label: terms.sign_in_for_an_organization,
    attribute: 'organization_usage',
    value: text(organizationUsageLabels[a['organization_usage'] as keyof typeof organizationUsageLabels]),
  },
  { label: terms.required_authentication_context, value: text(acrLabel(a['required_acr'])) },
  { label: terms.maximum_authentication_age, value: duration(a['max_authentication_age'], terms.the_session) },
];

/** What a sign-in to it has to be, and for how long and how often it gets tokens. */
const limitRows = (a: ResourceObject['attributes']) => [
  ...requirementRows(a),
  { label: terms.id_token_lifetime, value: duration(a['id_token_lifetime'], 'The environment’s') },
  { label: terms.refresh_token_lifetime, value: duration(a['refresh_token_lifetime'], 'The environment’s') },
  { label: terms.token_request_rate_limit, value: a['token_rate_limit'] === null ? quiet('The default') : number(a['token_rate_limit']) },
];

/** What its tokens and answers say, and how they are signed. */
const claimRows = (a: ResourceObject['attributes']) => [
  {
    label: terms.id_token_claims,
    value: text(a['id_token_claims'] === 'profile' ? terms.protocol_and_profile_claims : terms.protocol_claims),
  },
  { label: terms.claim_mappings, value: lines((a['claim_mappings'] as unknown[]).map(mappingLine.show)) },
  { label: terms.id_token_signing_algorithm, value: text(a['id_token_signed_response_alg']) },
  {
    label: terms.userinfo_signing_algorithm,
    value: text(a['userinfo_signed_response_alg'] === null ? 'JSON' : `A JWT signed with ${words(a['userinfo_signed_response_alg'])}`),
  },
  { label: terms.authorization_response_signing_algorithm, value: text(a['authorization_signed_response_alg'] ?? 'Signed on demand') },
  { label: terms.introspection_response_signing_algorithm, value: text(a['introspection_signed_response_alg'] ?? 'Signed on demand') },
];

/** Whether it acts by itself, and who answers for it. */
function agentRows(record: ResourceObject, included: readonly ResourceObject[]): readonly Row[] {
  const owner = includedRecord(record, 'owner', included);
  const value = owner ? link(words(owner.attributes['email']), recordPath('users', owner.id)) : text(relatedId(record, 'owner'));
  return [
    { label: terms.ai_agent, attribute: 'is_agent', value: yesNo(record.attributes['is_agent']) },
    ...(relatedId(record, 'owner') === null && record.attributes['is_agent'] !== true ? [] : [{ label: terms.owner, value }]),
  ];
}

/** What a client has about which nobody said anything. How it gets tokens is shown whatever it is. */
export function clientDefaults(record: ResourceObject) {
  const { application_type, token_endpoint_auth_method } = record.attributes as Pick<
    ClientRow,
    'application_type' | 'token_endpoint_auth_method'
  >;
  const { require_pkce = false, introspection_allowed } = withDefaults({ application_type, token_endpoint_auth_method });
  const unset = ['description', 'scopes', 'default_resource', 'required_acr', 'max_authentication_age', 'id_token_lifetime', 'refresh_token_lifetime', 'token_rate_limit', 'client_uri']; // prettier-ignore
  return {
    ...blankClient,
    ...Object.fromEntries(unset.map((name) => [name, null])),
    access_token_format: 'opaque',
    id_token_claims: 'protocol',
    claim_mappings: [],
    authorization_details_types: [],
    organization_usage: 'deny',
    is_agent: false,
    first_party: signsIn(record),
    require_pkce,
    introspection_allowed,
  };
}

export const signsIn = (record: ResourceObject) =>
  isSaml(record) || (record.attributes['grant_types'] as string[]).includes('authorization_code');

const samlSummary = ({ attributes: a, id }: ResourceObject, { now }: ViewContext): readonly Row[] => [
  { label: terms.client_id, value: code(id, true) },
  { label: terms.application_type, value: text(kinds['saml']?.label) },
  { label: terms.description, value: text(a['description']) },
  ...samlRows(a),
  { label: terms.first_party_skips_consent, value: yesNo(a['first_party']) },
  ...requirementRows(a),
  { label: terms.client_uri, value: web(a['client_uri']) },
  { label: terms.last_used, value: time(a['last_used_at'], now) },
  { label: terms.created, value: time(a['created_at'], now) },
];

export const clientSummary: RecordSpec['summary'] = (record, view, included) =>
  isSaml(record) ? samlSummary(record, view) : oauthSummary(record, view, included);

const oauthSummary = (
  record: ResourceObject,
  { now, req }: ViewContext,
  included: readonly ResourceObject[],
  { attributes: a, id } = record,
): readonly Row[] => [
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
  ...selfRegistrationRows(a, now),
  { label: terms.description, value: text(a['description']) },
  { label: terms.grant_types, value: tags(a['grant_types']) },
  { label: terms.authentication_method, value: text(methodLabels[words(a['token_endpoint_auth_method'])]) },
  { label: terms.redirect_uris, value: lines(a['redirect_uris']) },
  { label: terms.post_logout_redirect_uris, value: lines(a['post_logout_redirect_uris']) },
  { label: terms.allowed_origins_cors, value: lines(a['allowed_origins']) },
  { label: terms.backchannel_logout_uri, value: code(a['backchannel_logout_uri'], true) },
  { label: terms.initiate_login_uri, value: openLink(req.ctx.environment, a['initiate_login_uri']) },
  { label: terms.allowed_scopes, value: a['scopes'] === null ? quiet(terms.all) : tags(a['scopes']) },
  { label: detailTypesLabel, value: tags(a['authorization_details_types']) },
  { label: terms.default_api_resource, value: code(a['default_resource']) },
  { label: terms.default_access_token_format, value: text(a['access_token_format'] === 'jwt' ? terms.jwt : terms.opaque) },
  { label: terms.security_profile, value: profileValue(a['profile']) },
  { label: terms.pkce, attribute: 'require_pkce', value: text(a['require_pkce'] === true ? terms.required : terms.optional) },
  {
    label: terms.dpop,
    attribute: 'dpop_bound_access_tokens',
    value: text(a['dpop_bound_access_tokens'] === true ? terms.required : terms.optional),
  },
  {
    label: terms.pushed_authorization_requests,
    attribute: 'require_pushed_authorization_requests',
    value: text(a['require_pushed_authorization_requests'] === true ? terms.required : terms.optional),
  },
  {
    label: 'Signed request objects',
    attribute: 'require_signed_request_object',
    value: text(a['require_signed_request_object'] === true ? terms.required : terms.optional),
  },
  { label: terms.first_party_skips_consent, value: yesNo(a['first_party']) },
  ...agentRows(record, included),
  { label: terms.introspection_of_other_clients_tokens, value: yesNo(a['introspection_allowed']) },
  ...claimRows(a),
  ...limitRows(a),
  { label: terms.client_uri, value: web(a['client_uri']) },
  ...(a['tokens_not_before'] === null ? [] : [{ label: 'Tokens not before', value: time(a['tokens_not_before'], now) }]),
  { label: terms.last_used, value: time(a['last_used_at'], now) },
  { label: terms.created, value: time(a['created_at'], now) },
];
