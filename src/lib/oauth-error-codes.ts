/**
 * Every value of `error` at the OAuth and OpenID Connect endpoints: where it comes from, what it means and what to do. The compiler knows no
 * other: the page `docs/reference/errors.md` is made from this list.
 */
export const oauthErrorCodes = {
  invalid_request: ['RFC 6749', 'A parameter is missing, repeated or malformed; the description names it.'],
  invalid_client: ['RFC 6749', 'The client is unknown or disabled, or its secret or assertion is wrong. Check `client_id`, and that the client uses its registered authentication method.'],
  invalid_grant: ['RFC 6749', 'The code or refresh token is expired, used, revoked, or somebody else’s. Start the flow anew.'],
  unauthorized_client: ['RFC 6749', 'The client is not set up for this grant. Change its `grant_types`.'],
  unsupported_grant_type: ['RFC 6749', 'Use a grant type that discovery lists.'],
  unsupported_response_type: ['RFC 6749', 'Use `response_type=code`.'],
  invalid_scope: ['RFC 6749', 'A scope is malformed, unknown, or not granted. Ask for less, or have it granted.'],
  access_denied: ['RFC 6749', 'The person said no; at registration: the client was given more than it may change by itself, so an administrator has to.'],
  server_error: ['RFC 6749', 'Something went wrong; the log of the service has the cause.'],
  temporarily_unavailable: ['RFC 6749', 'Repeat after `Retry-After` seconds.'],
  invalid_target: ['RFC 8707', 'The `resource` is unknown, or the client has no grant for it.'],
  invalid_token: ['RFC 6750', 'The access token is missing, expired, revoked, or meant for something else. Get a new one.'],
  invalid_dpop_proof: ['RFC 9449', 'The header `DPoP` is missing, or its proof is not for this request, of another key, or was used before; the description says what. Make a new one for every request.'],
  use_dpop_nonce: ['RFC 9449', 'Make a new proof with the `nonce` in the header `DPoP-Nonce` of this answer, and repeat.'],
  insufficient_scope: ['RFC 6750', 'The token lacks the scope that `WWW-Authenticate` names.'],
  insufficient_user_authentication: ['RFC 9470', 'The sign-in behind what was brought is too weak or too old. Let the person sign in again with the `acr_values` and the `max_age` of the answer.'],
  authorization_pending: ['RFC 8628', 'The person has not answered yet. Ask again after `interval` seconds.'],
  slow_down: ['RFC 8628', 'The client asks too often. Wait five seconds longer than until now, this time and from now on.'],
  expired_token: ['RFC 8628', 'What waits for the person’s answer has expired. Start anew.'],
  unknown_user_id: ['OpenID CIBA', 'The hint names nobody, or nobody who has allowed the client anything. `backchannel_users` of the client says whom it may ask.'],
  invalid_binding_message: ['OpenID CIBA', 'Send 1 to 100 visible characters on one line, without an address.'],
  login_required: ['OpenID Connect Core', '`prompt=none`, but nobody is signed in. Ask without it.'],
  interaction_required: ['OpenID Connect Core', '`prompt=none`, but the person has to choose an organization: ask without it, or name the organization. At the token endpoint: lead the person to `error_uri`.'],
  consent_required: ['OpenID Connect Core', '`prompt=none`, but the person has to be asked. Ask without it.'],
  invalid_request_object: ['OpenID Connect Core', 'The `request` can not be read, or its signature does not fit the keys of the client.'],
  request_not_supported: ['OpenID Connect Core', 'Send the parameters themselves.'],
  request_uri_not_supported: ['OpenID Connect Core', 'Send the parameters themselves, or `request`.'],
  registration_not_supported: ['OpenID Connect Core', 'Register the client first.'],
  unmet_authentication_requirements: ['OpenID Connect Unmet Authentication Requirements', 'The sign-in that `acr_values` or `claims` insist on is not to be had here.'],
  invalid_redirect_uri: ['RFC 7591', 'A redirect URI can not be registered; the description says why.'],
  invalid_client_metadata: ['RFC 7591', 'A value can not be registered; the description names it.'],
  not_found: ['HTTP 404', 'There is nothing at this address, or dynamic registration is switched off.'],
  method_not_allowed: ['HTTP 405', 'Use one of the methods in the header `Allow`.'],
  payload_too_large: ['HTTP 413', 'Send at most 64 KiB.'],
  too_many_streams: ['OpenID Shared Signals Framework', 'The client has five streams. Delete one, or change it.'],
  rate_limited: ['HTTP 429', 'Wait as many seconds as `Retry-After` says.'],
} as const satisfies Record<string, readonly [string, string]>; // prettier-ignore

export type OAuthErrorCode = keyof typeof oauthErrorCodes;
