import { withoutSaml } from './saml.js';

/** What a stored client has where neither input nor defaults say anything: only what the rules look at. */
export const blankClient = {
  redirect_uris: [],
  post_logout_redirect_uris: [],
  allowed_origins: [],
  require_pkce: false,
  backchannel_logout_uri: null,
  backchannel_token_delivery_mode: 'poll' as const,
  backchannel_client_notification_endpoint: null,
  jwks: null,
  jwks_uri: null,
  initiate_login_uri: null,
  profile: null,
  require_signed_request_object: false,
  require_pushed_authorization_requests: false,
  dpop_bound_access_tokens: false,
  id_token_signed_response_alg: 'RS256' as const,
  userinfo_signed_response_alg: null,
  authorization_signed_response_alg: null,
  introspection_signed_response_alg: null,
  ...withoutSaml,
};
