import { checkUrl, type UrlProblem } from '../../platform/fetch/guard.js';
import type { ClientRow } from '../../db/tables/clients.js';
import { cibaGrantType, deviceCodeGrantType, jwtBearerGrantType, tokenExchangeGrantType } from '../../lib/grant-types.js';
import { redirectUriProblem } from '../../lib/redirect-uri.js';
import { type Problem, unfit } from '../refusal.js';
import { fapi2Problems, type Fapi2Settings } from './fapi2.js';
import { isFapi2 } from './profile.js';
import { samlClientProblems, withoutOAuth, type SamlSettings } from './saml.js';

/** What can be set on a client (RFC 7591 2 for the names). */
export type ClientInput = Partial<
  Pick<
    ClientRow,
    | 'name' | 'description' | 'application_type' | 'redirect_uris' | 'post_logout_redirect_uris' | 'allowed_origins' | 'grant_types'
    | 'token_endpoint_auth_method' | 'scopes' | 'access_token_format' | 'first_party' | 'require_pkce' | 'id_token_lifetime' | 'refresh_token_lifetime'
    | 'token_rate_limit' | 'backchannel_logout_uri' | 'backchannel_logout_session_required' | 'client_uri' | 'logo_uri' | 'policy_uri' | 'tos_uri' | 'contacts'
    | 'jwks' | 'jwks_uri' | 'status' | 'introspection_allowed' | 'initiate_login_uri' | 'id_token_claims' | 'claim_mappings' | 'userinfo_signed_response_alg'
    | 'authorization_signed_response_alg' | 'introspection_signed_response_alg' | 'id_token_signed_response_alg' | 'require_pushed_authorization_requests'
    | 'required_acr' | 'max_authentication_age' | 'branding' | 'dpop_bound_access_tokens' | 'profile' | 'require_signed_request_object' | 'default_resource'
    | 'is_agent' | 'backchannel_token_delivery_mode' | 'backchannel_client_notification_endpoint' | 'backchannel_users'
    | 'organization_usage' | 'signal_audience' | 'saml_entity_id' | 'saml_acs_urls' | 'saml_name_id' | 'saml_attributes' | 'saml_request_certificates' | 'saml_idp_initiated'
  >
>; // prettier-ignore

/** The same with the user who answers for the client. */
export type OwnedClientInput = ClientInput & { readonly owner_id?: string | null };

/** Whether somebody beyond the Management API changes the client: who holds its registration access token (RFC 7592 2), or its metadata document. */
export const isSelfRegistered = (client: Pick<ClientRow, 'registration_token_digest' | 'origin'>): boolean =>
  client.registration_token_digest !== null || client.origin === 'metadata_document';

export type RuledClient = Pick<
  ClientRow,
  | 'application_type' | 'redirect_uris' | 'post_logout_redirect_uris' | 'allowed_origins' | 'grant_types' | 'token_endpoint_auth_method'
  | 'backchannel_logout_uri' | 'backchannel_token_delivery_mode' | 'backchannel_client_notification_endpoint' | 'jwks' | 'jwks_uri' | 'initiate_login_uri' | 'profile' | 'require_signed_request_object'
> &
  Fapi2Settings &
  SamlSettings; // prettier-ignore

/** What a client is where the input says nothing. */
export function withDefaults(input: ClientInput): ClientInput {
  const application_type = input.application_type ?? 'web';
  if (application_type === 'saml') return { ...(withoutOAuth as unknown as ClientInput), ...input };
  const browserOrDevice = application_type === 'spa' || application_type === 'native';
  const defaults: ClientInput = {
    application_type,
    token_endpoint_auth_method: browserOrDevice ? 'none' : 'client_secret_basic',
    grant_types: application_type === 'machine' ? ['client_credentials'] : ['authorization_code'],
  };
  const client = { ...defaults, ...input };
  const isPublic = client.token_endpoint_auth_method === 'none';
  return { ...client, ...(isPublic && { require_pkce: true }), introspection_allowed: input.introspection_allowed ?? !isPublic };
}

const redirectProblems = (attribute: 'redirect_uris' | 'post_logout_redirect_uris', uris: readonly string[], native: boolean): Problem[] =>
  uris.flatMap((uri, index) => {
    const problem =
      redirectUriProblem(uri) ??
      (!native && !/^https?:/i.test(uri) ? 'must use https (private-use schemes are for native applications)' : null);
    return problem === null ? [] : [unfit([attribute, index], 'invalid_redirect_uri', `The URI ${problem}.`)];
  });

const originProblems = (origins: readonly string[]): Problem[] =>
  origins.flatMap((origin, index) => {
    const fits = URL.canParse(origin) && /^https?:$/.test(new URL(origin).protocol) && new URL(origin).origin === origin;
    return fits
      ? []
      : [unfit(['allowed_origins', index], 'invalid_origin', 'An origin is scheme, host and port, such as https://app.example.com.')];
  });

const broken = (rules: readonly (readonly [isBroken: boolean, problem: Problem])[]): Problem[] =>
  rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem);

function grantProblems(client: RuledClient): Problem[] {
  const { application_type, grant_types, token_endpoint_auth_method } = client;
  const isPublic = token_endpoint_auth_method === 'none';
  const has = (grant: string) => grant_types.includes(grant);
  const noGrant = (detail: string) => unfit('grant_types', 'grant_not_allowed', detail);
  const noMethod = (detail: string) => unfit('token_endpoint_auth_method', 'auth_method_not_allowed', detail);
  const isMachine = application_type === 'machine';
  const refreshes = has('authorization_code') || has(deviceCodeGrantType) || has(cibaGrantType);
  return broken([
    [grant_types.length === 0, unfit('grant_types', 'too_short', 'It needs at least one.')],
    [isPublic && has('client_credentials'), noGrant('client_credentials needs a client that can keep a secret (RFC 6749 4.4).')],
    [isPublic && has(cibaGrantType), noGrant('Asking people elsewhere needs a client that can keep a secret.')],
    [isPublic && has(tokenExchangeGrantType), noGrant('Token exchange needs a client that can keep a secret.')],
    [isPublic && has(jwtBearerGrantType), noGrant('What a workload proves is a client that authenticates, by private_key_jwt.')],
    [has('refresh_token') && !refreshes, noGrant('refresh_token goes with authorization_code, the device flow or CIBA only.')],
    [isMachine && has('authorization_code'), noGrant('A machine has no browser for authorization_code.')],
    [
      isMachine && has(deviceCodeGrantType),
      noGrant('A machine acts for itself; a device, which acts for a person, is a native application.'),
    ],
    [isMachine && isPublic, noMethod('A machine client needs a secret.')],
    [application_type === 'spa' && !isPublic, noMethod('What runs in a browser can not keep a secret: use none.')],
    [
      has('authorization_code') && client.redirect_uris.length === 0,
      unfit('redirect_uris', 'required', 'authorization_code needs a redirect URI.'),
    ],
  ]);
}

/**
 * What the service allows. `keysRequired`: who registers itself by private_key_jwt brings its keys; a client of an administrator may have federated credentials
 * instead.
 */
export type ClientPolicy = { readonly allowPrivateNetwork: boolean; readonly keysRequired?: boolean };

function keyProblems(client: RuledClient, policy: ClientPolicy): Problem[] {
  const { jwks, jwks_uri, token_endpoint_auth_method } = client;
  const address = jwks_uri === null ? null : checkUrl(jwks_uri, policy);
  const keyless = jwks === null && jwks_uri === null;
  const unprovable = policy.keysRequired === true && token_endpoint_auth_method === 'private_key_jwt' && keyless;
  return broken([
    [jwks !== null && jwks_uri !== null, unfit('jwks_uri', 'jwks_twice', 'Keys are given by value or by address, not both (RFC 7591 2).')],
    [unprovable, unfit('token_endpoint_auth_method', 'jwks_required', 'private_key_jwt needs jwks or jwks_uri.')],
    [
      client.require_signed_request_object && keyless,
      unfit('require_signed_request_object', 'jwks_required', 'Signed requests need jwks or jwks_uri.'),
    ],
    [address !== null, unfit('jwks_uri', 'invalid_url', `The URL ${(address && urlTexts[address]) ?? 'can not be used'}.`)],
  ]);
}

/** CIBA Core 1.0 4: who is pinged says where, and is so by our servers alone: not inside the network. */
function pingProblems(client: RuledClient, policy: ClientPolicy): Problem[] {
  const { backchannel_token_delivery_mode: mode, backchannel_client_notification_endpoint: endpoint } = client;
  const attribute = 'backchannel_client_notification_endpoint';
  if (mode === 'ping' && endpoint === null) return [unfit(attribute, 'required', 'Who is pinged says where (CIBA Core 1.0 4).')];
  const problem = endpoint === null ? null : checkUrl(endpoint, policy);
  return problem === null ? [] : [unfit(attribute, 'invalid_url', `The URL ${urlTexts[problem] ?? 'can not be used'}.`)];
}

/** Signed requests are pushed: nothing of them goes through the browser, and they are judged before anybody signs in. */
const signedRequestProblems = (client: RuledClient): Problem[] =>
  client.require_signed_request_object && !client.require_pushed_authorization_requests
    ? [
        unfit(
          'require_signed_request_object',
          'pushed_requests_required',
          'Signed requests are pushed: require_pushed_authorization_requests goes with them.',
        ),
      ]
    : [];

/** OIDC Core 4: https; as for redirect URIs http on loopback, for development. A person's browser opens it. */
function initiationProblems({ initiate_login_uri: uri }: RuledClient): Problem[] {
  if (uri === null) return [];
  const problem = redirectUriProblem(uri) ?? (/^https?:/i.test(uri) ? null : 'must use https');
  return problem === null ? [] : [unfit('initiate_login_uri', 'invalid_url', `The URI ${problem}.`)];
}

const urlTexts: Partial<Record<UrlProblem, string>> = {
  url_scheme: 'must use https',
  url_address: 'leads into a private network',
  url_port: 'uses the port of another service',
};

/**
 * Everything that is invalid or contradictory about a client, by attribute, whether an administrator set it or it registered itself.
 * `allowPrivateNetwork`: see the configuration.
 */
export function clientProblems(client: RuledClient, policy: ClientPolicy): Problem[] {
  const native = client.application_type === 'native';
  const logout = client.backchannel_logout_uri === null ? null : checkUrl(client.backchannel_logout_uri, policy);
  if (client.application_type === 'saml') return samlClientProblems(client);
  return [
    ...samlClientProblems(client),
    ...redirectProblems('redirect_uris', client.redirect_uris, native),
    ...redirectProblems('post_logout_redirect_uris', client.post_logout_redirect_uris, native),
    ...originProblems(client.allowed_origins),
    ...grantProblems(client),
    ...keyProblems(client, policy),
    ...signedRequestProblems(client),
    ...initiationProblems(client),
    ...pingProblems(client, policy),
    ...(isFapi2(client) ? fapi2Problems(client, policy) : []),
    ...(logout === null ? [] : [unfit('backchannel_logout_uri', 'invalid_url', `The URL ${urlTexts[logout] ?? 'can not be used'}.`)]),
  ];
}
