import { isDeepStrictEqual } from 'node:util';
import type { ClientRow } from '../../db/tables/clients.js';
import { redirectUriProblem } from '../../lib/redirect-uri.js';
import { own } from '../../lib/named.js';
import { claimNames } from '../claims/claims.js';
import { type Problem, unfit } from '../refusal.js';
import { certificateOf, countingKeys } from '../saml/metadata.js';

/** What an attribute can tell: claims that are a text or several, and those of the organization. */
export const samlClaims = [...claimNames.filter((name) => name !== 'address'), 'org_id', 'org_name', 'org_display_name'];

export const maxEntityIdLength = 1024;

/** What a SAML service provider has of everything that is about OAuth: nothing. It gets assertions, and no tokens. */
export const withoutOAuth = {
  redirect_uris: [],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  grant_types: [],
  token_endpoint_auth_method: 'none',
  jwks: null,
  jwks_uri: null,
  scopes: null,
  access_token_format: 'opaque',
  introspection_allowed: false,
  require_pkce: true,
  id_token_lifetime: null,
  refresh_token_lifetime: null,
  token_rate_limit: null,
  backchannel_logout_uri: null,
  backchannel_logout_session_required: false,
  backchannel_token_delivery_mode: 'poll',
  backchannel_client_notification_endpoint: null,
  backchannel_users: 'known',
  initiate_login_uri: null,
  id_token_claims: 'protocol',
  claim_mappings: [],
  default_resource: null,
  profile: null,
  require_pushed_authorization_requests: false,
  require_signed_request_object: false,
  dpop_bound_access_tokens: false,
  id_token_signed_response_alg: 'RS256',
  userinfo_signed_response_alg: null,
  authorization_signed_response_alg: null,
  introspection_signed_response_alg: null,
} as const satisfies Partial<{ [Name in keyof ClientRow]: ClientRow[Name] | readonly never[] }>;

/** What every other client has of SAML: nothing. */
export const withoutSaml = {
  saml_entity_id: null,
  saml_acs_urls: [],
  saml_name_id: 'persistent',
  saml_attributes: {},
  saml_request_certificates: [],
  saml_idp_initiated: false,
} satisfies Partial<ClientRow>;

export type SamlSettings = Pick<ClientRow, 'application_type' | keyof typeof withoutSaml>;

/** Those of the attributes that the client can't have. */
const foreign = (client: SamlSettings, without: Readonly<Record<string, unknown>>, detail: string): Problem[] =>
  Object.entries(without)
    .filter(([name, value]) => {
      const given = own(client as Readonly<Record<string, unknown>>, name);
      return given !== undefined && !isDeepStrictEqual(given, value);
    })
    .map(([name]) => unfit(name, 'application_type_mismatch', detail));

/** What is wrong with a client as a SAML service provider, or with what another one has of that. */
export function samlClientProblems(client: SamlSettings): Problem[] {
  if (client.application_type !== 'saml') return foreign(client, withoutSaml, 'Only a client with the application_type saml has this.');
  const { saml_entity_id, saml_acs_urls, saml_request_certificates: certificates } = client;
  return [
    ...foreign(client, withoutOAuth, 'A SAML application gets assertions, and no tokens: it has nothing of OAuth.'),
    ...(saml_entity_id === null ? [unfit('saml_entity_id', 'required', 'A SAML application has an entity ID.')] : []),
    ...(saml_acs_urls.length === 0 ? [unfit('saml_acs_urls', 'required', 'Assertions are posted to an address.')] : []),
    ...saml_acs_urls.flatMap((url, index) => {
      const found = redirectUriProblem(url) ?? (/^https?:/i.test(url) ? null : 'must use https');
      return found === null ? [] : [unfit(['saml_acs_urls', index], 'invalid_redirect_uri', `The URL ${found}.`)];
    }),
    ...certificates.flatMap((text, index) =>
      certificateOf(text)
        ? []
        : [unfit(['saml_request_certificates', index], 'invalid_value', `It is no X.509 certificate (PEM) with ${countingKeys}.`)],
    ),
  ];
}
