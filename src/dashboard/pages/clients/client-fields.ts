import { clientBranding } from './client-branding.js';
import { apiIdentifierChoices, signingAlgorithmChoices, statusField } from '../../parts/forms/choices.js';
import { requirementFields } from '../apis/requirement-fields.js';
import { claimMappingLine } from '../apis/claim-mapping-lines.js';
import { recordPath, type FieldSpec, type FormSubject, type SectionSpec } from '../../parts/records/presentation.js';
import { agentFields } from './agent-fields.js';
import { profileChoices } from './client-profile.js';
import { grantChoices, grantLabels, methodChoices } from './client-kinds.js';
import { isNotSaml, isSaml, samlFields, samlSection } from './saml-client.js';
import { signalAudienceField } from './signal-streams.js';
import { organizationUsageChoices } from './organization-usage.js';
import { terms } from '../../parts/words.js';

export const mappingLine = claimMappingLine(['id_token', 'userinfo']);

const uriSection = 'Application URIs';
const authenticationSection = 'Authentication requirements';
const consentSection = 'Consent and links';
const credentialSection = 'Client authentication';
const requestSection = 'Requests and proofs';
const tokenSection = 'Scopes and lifetimes';
const claimSection = 'Claims and signing';

/** How addresses are entered. */
const uris = { spellcheck: false, autocapitalize: 'none' };

const sectionedFields: readonly FieldSpec[] = [
  { name: 'name', needed: true, label: terms.name, hint: 'People see it when they sign in.', attributes: { maxlength: 100 } },
  { name: 'description', label: terms.description, hint: 'For administrators only.', attributes: { maxlength: 500 } },
  statusField('It gets no tokens, and its existing ones stop working.'),
  {
    name: 'redirect_uris',
    label: terms.redirect_uris,
    hint: 'One per line, compared exactly: https://app.example.com/callback. For development http://localhost:3001/callback is fine.',
    section: uriSection,
    attributes: uris,
  },
  {
    name: 'post_logout_redirect_uris',
    label: terms.post_logout_redirect_uris,
    hint: 'Where people can be sent after signing out (OpenID Connect RP-Initiated Logout).',
    section: uriSection,
    attributes: uris,
  },
  {
    name: 'allowed_origins',
    label: terms.allowed_origins_cors,
    hint: 'Pages at these origins can call the token endpoint from the browser (CORS): https://app.example.com',
    section: uriSection,
    attributes: uris,
  },
  {
    name: 'backchannel_logout_uri',
    label: terms.backchannel_logout_uri,
    hint: 'Notified when a session ends (OpenID Connect Back-Channel Logout).',
    section: uriSection,
  },
  {
    name: 'initiate_login_uri',
    label: terms.initiate_login_uri,
    hint: 'Lets people open the application from their account, and you from here: https://app.example.com/login. Called with iss (OpenID Connect Core 4).',
    section: uriSection,
    attributes: uris,
  },
  ...samlFields,
  ...requirementFields('a sign-in to it', authenticationSection),
  {
    name: 'profile',
    label: terms.security_profile,
    section: credentialSection,
    choices: profileChoices,
    hint: 'FAPI 2.0 requires private_key_jwt and keys; PKCE, pushed requests, DPoP and ES256 are set for you. Other settings can’t contradict it.',
  },
  {
    name: 'grant_types',
    label: terms.grant_types,
    kind: 'checks',
    section: credentialSection,
    choices: async () => grantChoices(Object.keys(grantLabels)),
    optional: false,
  },
  {
    name: 'token_endpoint_auth_method',
    label: terms.authentication_method,
    section: credentialSection,
    choices: async () => methodChoices(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']),
  },
  {
    name: 'jwks_uri',
    label: terms.jwks_uri,
    hint: 'For private_key_jwt and signed authorization requests.',
    section: credentialSection,
    attributes: uris,
  },
  {
    name: 'jwks',
    label: 'JSON Web Key Set',
    hint: 'Instead of the address: {"keys": [...]}, public keys only.',
    section: credentialSection,
    attributes: uris,
  },
  { name: 'scopes', label: terms.allowed_scopes, hint: 'One per line; leave it empty for all.', section: tokenSection },
  {
    name: 'default_resource',
    label: terms.default_api_resource,
    hint: 'For token requests without the resource parameter, if the client library can’t send it. A client grant is still required.',
    section: tokenSection,
    choices: apiIdentifierChoices,
  },
  { name: 'access_token_format', label: terms.default_access_token_format, section: tokenSection, choices: async () => [{ value: 'opaque', label: terms.opaque }, { value: 'jwt', label: terms.jwt }] }, // prettier-ignore
  { name: 'require_pkce', label: 'Require PKCE', hint: 'Always on for public clients.', section: requestSection },
  {
    name: 'require_pushed_authorization_requests',
    label: terms.require_pushed_authorization_requests,
    hint: 'Only requests sent to /oauth/par are accepted (RFC 9126).',
    section: requestSection,
  },
  {
    name: 'require_signed_request_object',
    label: 'Require signed request objects',
    hint: 'Pushed requests must be signed with its key (RFC 9101), for FAPI 2.0 Message Signing.',
    section: requestSection,
  },
  {
    name: 'dpop_bound_access_tokens',
    label: terms.dpop_bound_access_tokens,
    hint: 'Tokens are bound to a key that only the client has (RFC 9449), so stolen tokens can’t be used.',
    section: requestSection,
  },
  {
    name: 'introspection_allowed',
    label: terms.introspection_of_other_clients_tokens,
    hint: 'For APIs that look up tokens at /oauth/introspect. Not available to clients that registered themselves.',
    section: requestSection,
  },
  { name: 'id_token_lifetime', label: terms.id_token_lifetime, hint: 'Leave empty to use the environment’s.', section: tokenSection },
  {
    name: 'refresh_token_lifetime',
    label: terms.refresh_token_lifetime,
    hint: 'Leave empty to use the environment’s.',
    section: tokenSection,
  },
  {
    name: 'token_rate_limit',
    label: terms.token_request_rate_limit,
    hint: 'Requests a minute; empty for the default of 10.',
    section: tokenSection,
  },
  {
    name: 'id_token_claims',
    label: terms.id_token_claims,
    kind: 'radios',
    section: claimSection,
    choices: async () => [
      { value: 'protocol', label: terms.protocol_claims, hint: 'Claims about the person are at userinfo, as in the standard.' },
      {
        value: 'profile',
        label: terms.protocol_and_profile_claims,
        hint: 'Claims are also in the ID token, for frameworks that only look there.',
      },
    ],
  },
  {
    name: 'claim_mappings',
    label: terms.claim_mappings,
    hint: 'One per line: groups = roles in id_token, userinfo. Sources: user attributes, metadata.<path>, roles, permissions; constants as JSON.',
    section: claimSection,
    line: mappingLine,
    attributes: uris,
  },
  {
    name: 'id_token_signed_response_alg',
    label: terms.id_token_signing_algorithm,
    section: claimSection,
    initial: 'RS256',
    choices: signingAlgorithmChoices,
    hint: 'RS256 unless the application needs another one.',
  },
  {
    name: 'userinfo_signed_response_alg',
    label: terms.userinfo_signing_algorithm,
    section: claimSection,
    choices: async (view) => (await signingAlgorithmChoices(view)).map(({ value }) => ({ value, label: `A JWT signed with ${value}` })),
    hint: 'If not set: JSON, which nearly every library expects.',
  },
  {
    name: 'authorization_signed_response_alg',
    label: terms.authorization_response_signing_algorithm,
    section: claimSection,
    choices: signingAlgorithmChoices,
    hint: 'If not set: only when requested (JARM). If set: always.',
  },
  {
    name: 'introspection_signed_response_alg',
    label: terms.introspection_response_signing_algorithm,
    section: claimSection,
    choices: signingAlgorithmChoices,
    hint: 'If not set: JSON, unless a JWT is requested (RFC 9701).',
  },
  {
    name: 'first_party',
    label: terms.first_party_skips_consent,
    hint: 'Your own application: people aren’t asked for consent.',
    section: consentSection,
  },
  ...agentFields(consentSection),
  {
    name: 'organization_usage',
    label: terms.sign_in_for_an_organization,
    section: authenticationSection,
    choices: organizationUsageChoices,
    hint: 'Business customers: whether people sign in for an organization, which tokens then name.',
  },
  { ...signalAudienceField, section: authenticationSection },
  { name: 'client_uri', label: terms.client_uri, kind: 'url', section: consentSection },
  { name: 'logo_uri', label: 'Logo URI', kind: 'url', section: consentSection },
  { name: 'policy_uri', label: 'Policy URI', kind: 'url', section: consentSection },
  { name: 'tos_uri', label: 'Terms of service URI', kind: 'url', section: consentSection },
];

/** A page of the form: the fields of these sections; undefined stands for what comes before any. */
function clientSubject(
  name: string,
  title: string,
  sections: readonly (SectionSpec | undefined)[],
  when: FormSubject['when'] = () => true,
): FormSubject {
  const titles = sections.map((section) => section?.title);
  return {
    name,
    title,
    when,
    sections: sections.filter((section) => section !== undefined),
    fields: sectionedFields.filter(({ section }) => titles.includes(section)),
  };
}

/** The pages of a client's form. What rules weigh against each other stands on one. */
export const clientSubjects: readonly FormSubject[] = [
  clientSubject('general', 'General', [undefined, { title: uriSection }], isNotSaml),
  clientSubject('saml', 'General', [undefined, { title: samlSection }], isSaml),
  clientSubject('sign_in', 'Sign-in', [{ title: authenticationSection }, { title: consentSection }]),
  clientSubject('security', 'Security', [{ title: credentialSection }, { title: requestSection }], isNotSaml),
  clientSubject(
    'tokens',
    'Tokens',
    [{ title: tokenSection }, { title: claimSection, text: 'See the result for a real user on the Token preview tab.' }],
    isNotSaml,
  ),
  clientBranding,
];

export const clientFields: readonly FieldSpec[] = [...sectionedFields, ...clientBranding.fields];

export function clientFieldPath(id: string, field: string): string {
  const subject = clientSubjects.find(({ fields }) => fields.some(({ name }) => name === field));
  return `${recordPath('clients', id)}/edit/${subject?.name ?? ''}#${field}`;
}
