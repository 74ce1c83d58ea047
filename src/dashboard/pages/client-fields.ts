import { brandingFields } from '../branding-fields.js';
import { apiIdentifierChoices, signingAlgorithmChoices } from '../choices.js';
import { demandFields } from '../demand-fields.js';
import { claimMappingLine } from '../claim-mapping-lines.js';
import type { FieldSpec, SectionSpec } from '../presentation.js';
import { profileChoices } from './client-profile.js';
import { grantChoices, grantLabels, methodChoices } from './client-kinds.js';
import { fill, hints, sentences, terms } from '../words.js';

const [where, demands, tokens, told, looks, branding] = [
  terms.application_uris,
  terms.authentication_requirements,
  terms.tokens,
  terms.claims_and_signing,
  terms.consent_and_links,
  terms.branding,
];

/** The sections of the form. */
export const clientSections: readonly SectionSpec[] = [
  { title: terms.more_settings, text: sentences.chosen_for_this_type, folded: true },
  { title: where },
  { title: demands },
  { title: tokens },
  { title: told, text: sentences.the_tab_claims_shows_what },
  { title: looks },
  {
    title: branding,
    text: sentences.how_our_pages_and_mails,
  },
];

/** A claim mapping as a line. */
export const mappingLine = claimMappingLine(['id_token', 'userinfo']);

/** How addresses are entered. */
export const uris = { spellcheck: false, autocapitalize: 'none' };

/** Where the authorization endpoint answers to. */
export const redirects: FieldSpec = {
  name: 'redirect_uris',
  label: terms.redirect_uris,
  hint: hints.redirect_uris,
  section: where,
  attributes: uris,
};
/** The fields of a client. */
export const clientFields: readonly FieldSpec[] = [
  { name: 'name', needed: true, label: terms.name, hint: hints.client_fields_name, attributes: { maxlength: 100 } },
  { name: 'description', label: terms.description, hint: hints.description, attributes: { maxlength: 500 } },
  { name: 'status', label: terms.status, kind: 'radios', on: 'update', choices: async () => [{ value: 'enabled', label: terms.enabled }, { value: 'disabled', label: terms.disabled, hint: hints.disabled }] }, // prettier-ignore
  redirects,
  {
    name: 'post_logout_redirect_uris',
    label: terms.post_logout_redirect_uris,
    hint: hints.post_logout_redirect_uris,
    section: where,
    attributes: uris,
  },
  {
    name: 'allowed_origins',
    label: terms.allowed_origins_cors,
    hint: hints.allowed_origins,
    section: where,
    attributes: uris,
  },
  {
    name: 'backchannel_logout_uri',
    label: terms.back_channel_logout_uri,
    hint: hints.backchannel_logout_uri,
    section: where,
  },
  {
    name: 'initiate_login_uri',
    label: terms.initiate_login_uri,
    hint: hints.initiate_login_uri,
    section: where,
    attributes: uris,
  },
  ...demandFields(terms.a_sign_in_to_it, demands),
  {
    name: 'profile',
    label: terms.security_profile,
    section: tokens,
    choices: profileChoices,
    hint: hints.profile,
  },
  {
    name: 'grant_types',
    label: terms.grant_types,
    kind: 'checks',
    section: tokens,
    choices: async () => grantChoices(Object.keys(grantLabels)),
    optional: false,
  },
  {
    name: 'token_endpoint_auth_method',
    label: terms.authentication_method,
    section: tokens,
    choices: async () => methodChoices(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']),
  },
  {
    name: 'jwks_uri',
    label: terms.jwks_uri,
    hint: hints.jwks_uri,
    section: tokens,
    attributes: uris,
  },
  {
    name: 'jwks',
    label: terms.json_web_key_set,
    hint: hints.jwks,
    section: tokens,
    attributes: uris,
  },
  { name: 'scopes', label: terms.allowed_scopes, hint: hints.scopes, section: tokens },
  { name: 'default_resource', label: terms.default_resource, hint: hints.default_resource, section: tokens, choices: apiIdentifierChoices },
  { name: 'access_token_format', label: terms.default_access_token_format, section: tokens, choices: async () => [{ value: 'opaque', label: terms.opaque }, { value: 'jwt', label: terms.jwt }] }, // prettier-ignore
  { name: 'require_pkce', label: terms.require_pkce, hint: hints.require_pkce, section: tokens },
  {
    name: 'require_pushed_authorization_requests',
    label: terms.require_pushed_authorization_requests,
    hint: hints.require_pushed_authorization_requests,
    section: tokens,
  },
  {
    name: 'require_signed_request_object',
    label: terms.require_signed_request_objects,
    hint: hints.require_signed_request_object,
    section: tokens,
  },
  {
    name: 'dpop_bound_access_tokens',
    label: terms.dpop_bound_access_tokens,
    hint: hints.client_fields_dpop_bound_access_tokens,
    section: tokens,
  },
  {
    name: 'introspection_allowed',
    label: terms.introspection_of_other_clients_tokens,
    hint: hints.introspection_allowed,
    section: tokens,
  },
  { name: 'id_token_lifetime', label: terms.id_token_lifetime, hint: hints.id_token_lifetime, section: tokens },
  { name: 'refresh_token_lifetime', label: terms.refresh_token_lifetime, hint: hints.id_token_lifetime, section: tokens },
  { name: 'token_rate_limit', label: terms.token_request_rate_limit, hint: hints.token_rate_limit, section: tokens },
  {
    name: 'id_token_claims',
    label: terms.id_token_claims,
    kind: 'radios',
    section: told,
    choices: async () => [
      { value: 'protocol', label: terms.protocol_claims, hint: hints.protocol },
      {
        value: 'profile',
        label: terms.protocol_and_profile_claims,
        hint: hints.client_fields_profile,
      },
    ],
  },
  {
    name: 'claim_mappings',
    label: terms.claim_mappings,
    hint: hints.client_fields_claim_mappings,
    section: told,
    line: mappingLine,
    attributes: uris,
  },
  {
    name: 'id_token_signed_response_alg',
    label: terms.id_token_signing_algorithm,
    section: told,
    initial: 'RS256',
    choices: signingAlgorithmChoices,
    hint: hints.id_token_signed_response_alg,
  },
  {
    name: 'userinfo_signed_response_alg',
    label: terms.userinfo_signing_algorithm,
    section: told,
    choices: async (look) =>
      (await signingAlgorithmChoices(look)).map(({ value }) => ({ value, label: fill(terms.a_jwt_signed_with, { alg: value }) })),
    hint: hints.userinfo_signed_response_alg,
  },
  {
    name: 'authorization_signed_response_alg',
    label: terms.authorization_response_signing_algorithm,
    section: told,
    choices: signingAlgorithmChoices,
    hint: hints.authorization_signed_response_alg,
  },
  {
    name: 'introspection_signed_response_alg',
    label: terms.introspection_response_signing_algorithm,
    section: told,
    choices: signingAlgorithmChoices,
    hint: hints.introspection_signed_response_alg,
  },
  { name: 'first_party', label: terms.first_party_skips_consent, hint: hints.first_party, section: looks },
  { name: 'client_uri', label: terms.client_uri, kind: 'url', section: looks },
  { name: 'logo_uri', label: terms.logo_uri, kind: 'url', section: looks },
  { name: 'policy_uri', label: terms.policy_uri, kind: 'url', section: looks },
  { name: 'tos_uri', label: terms.terms_of_service_uri, kind: 'url', section: looks },
  ...brandingFields(sentences.on_the_pages_and_mails, 'clients', branding),
  { name: 'branding.support_email', label: terms.support_email, kind: 'email', section: branding, attributes: { maxlength: 254 } },
];
