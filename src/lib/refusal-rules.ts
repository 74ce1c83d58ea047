import { assertionRules } from './assertion-rules.js';

/** Why something was refused, or a scope given or not, in people's words: its name, what the rule found, and what to do about it. */
type RuleText = { readonly title: string; readonly found: string; readonly fix: string };

/** The rules of a token preview (specification 15.9): about a scope, or about the whole request. */
const previewRules = {
  granted: { title: 'Granted', found: 'The scope is in the token.', fix: 'Nothing to do.' },
  unknown_scope: {
    title: 'Unknown scope',
    found: 'The scope isn’t an OpenID Connect scope, a permission of the named API, or one that the client lists.',
    fix: 'Correct the name in the application, name the API in resource, or add the permission to the API.',
  },
  not_in_client_scopes: {
    title: 'Scope beyond the client',
    found: 'The scope is not among the client’s scopes.',
    fix: 'Add the scope to the client, or leave it out.',
  },
  not_in_client_grant: {
    title: 'Scope beyond the grant',
    found: 'The client’s grant for the API doesn’t include the scope.',
    fix: 'Add the scope to the grant of the client for the API.',
  },
  no_client_grant: {
    title: 'No grant for the API',
    found: 'The client has no grant for the API.',
    fix: 'Create a grant for the client and the API: for itself (client credentials), or to ask people for.',
  },
  details_not_taken: {
    title: 'Authorization details not taken',
    found: 'The authorization details are malformed, or of a type that the API lacks or the client may not ask for.',
    fix: 'Compare them with the type at the API, and list the type in authorization_details_types of the client.',
  },
  tokens_not_taken: {
    title: 'Tokens of the API not taken',
    found: 'The API’s tokens are signed with RS256, which the client’s profile rules out.',
    fix: 'Sign the API’s tokens with another algorithm, or make them opaque.',
  },
  permission_not_held: {
    title: 'Permission not held',
    found: 'The person does not hold the permission.',
    fix: 'Give the person a role with the permission.',
  },
  consent_missing: {
    title: 'Consent missing',
    found: 'The person has not allowed this yet.',
    fix: 'Send the person through the sign-in without prompt=none; a client of your own can be made first-party.',
  },
  grant_type_not_allowed: {
    title: 'Grant type not allowed',
    found: 'The client may not use this grant type; offline_access takes the grant type refresh_token.',
    fix: 'Add the grant type to the client.',
  },
  client_disabled: { title: 'Client disabled', found: 'The client is disabled.', fix: 'Enable the client.' },
  user_blocked: { title: 'User blocked', found: 'The person is blocked or was deleted.', fix: 'Unblock the user.' },
  unknown_resource: {
    title: 'Unknown API',
    found: 'No API is registered under the request’s resource, or a resource is missing.',
    fix: 'Name an API’s identifier in resource exactly as registered, or register the API.',
  },
  not_a_member: {
    title: 'No member of the organization',
    found: 'The person is no active member of the organization, or it is unknown or disabled.',
    fix: 'Make the person a member, resume the membership, or enable the organization.',
  },
  organization_open: {
    title: 'Organization not chosen',
    found: 'The client takes sign-ins for an organization, and the person has to choose one.',
    fix: 'Name the organization in the request, or let the person choose on the page.',
  },
  organizations_not_taken: {
    title: 'Organization not taken',
    found: 'The request names an organization, but the client takes none.',
    fix: 'Set organization_usage of the client to allow or require, or leave organization out of the request.',
  },
} as const satisfies Readonly<Record<string, RuleText>>;

/** What else requests are refused for on the way from authorization to tokens (specification 15.10). */
const requestRules = {
  malformed_request: {
    title: 'Malformed request',
    found: 'A parameter is missing or invalid.',
    fix: 'Correct the application’s request: its error names the parameter.',
  },
  unknown_client: {
    title: 'Unknown client',
    found: 'No client has the request’s client_id.',
    fix: 'Compare client_id and environment in the application with the client’s.',
  },
  redirect_uri_mismatch: {
    title: 'Redirect URI not registered',
    found: 'The redirect URI is not registered for the client, character by character.',
    fix: 'Register the redirect URI that was received, or correct it in the application.',
  },
  redirect_uri_changed: {
    title: 'Redirect URI changed',
    found: 'The token request’s redirect URI differs from the authorization request’s.',
    fix: 'Send the same redirect_uri in both requests.',
  },
  pushed_request_required: {
    title: 'Request not pushed',
    found: 'The client has to push its authorization requests (RFC 9126), and this one wasn’t.',
    fix: 'Push the request, or turn the requirement off for the client or the environment.',
  },
  request_uri_not_usable: {
    title: 'Pushed request not usable',
    found: 'The pushed request has expired, was used before, or is another client’s.',
    fix: 'Push a new request for each sign-in, and go on with it within a minute.',
  },
  pkce_required: {
    title: 'PKCE missing',
    found: 'The client has to use PKCE, but there is no code_challenge.',
    fix: 'Switch PKCE on in the application, or off for a confidential client.',
  },
  pkce_failed: {
    title: 'PKCE failed',
    found: 'The code_verifier does not fit the code_challenge.',
    fix: 'Send the verifier of this challenge: several replicas or tabs of the application may mix them up.',
  },
  sign_in_required: {
    title: 'Sign-in required',
    found: 'The request may not show a page (prompt=none), and nobody is signed in, or the sign-in isn’t sufficient.',
    fix: 'Have the application ask again without prompt=none. Silent sign-ins in frames fail where browsers block third-party cookies.',
  },
  sign_in_class_not_met: {
    title: 'Sign-in too weak',
    found: 'The client or the API requires a stronger or more recent sign-in.',
    fix: 'Let the person sign in again with a second factor, or lower what the client or the API requires.',
  },
  provider_answer_refused: {
    title: 'Answer of the provider refused',
    found: 'The provider’s answer could not sign the person in; the error says why.',
    fix: 'Test the connection, which names the failed rule. For saml_ errors compare certificates, entity IDs and addresses.',
  },
  consent_denied: { title: 'Consent denied', found: 'The person declined.', fix: 'Nothing to do.' },
  client_authentication_failed: {
    title: 'Client authentication failed',
    found: 'The client’s secret or assertion is wrong or missing, or its method is not the registered one.',
    fix: 'Compare secret and method with the client’s credentials; rotate a lost secret.',
  },
  unsupported_grant_type: {
    title: 'Unknown grant type',
    found: 'This service has no such grant type.',
    fix: 'Use one of those that discovery lists.',
  },
  code_unknown: {
    title: 'Unknown code',
    found: 'The code was never issued here, or long ago.',
    fix: 'Check that the application asks the environment that issued the code, and sends it unchanged.',
  },
  code_expired: {
    title: 'Code expired',
    found: 'The code was redeemed too late: it is valid for 60 seconds.',
    fix: 'Redeem the code at once.',
  },
  code_reused: {
    title: 'Code used twice',
    found: 'The code was used before. The tokens from the first use were revoked.',
    fix: 'Redeem each code once: a reloaded callback page redeems it twice.',
  },
  of_another_client: {
    title: 'Of another client',
    found: 'The code or token was issued to another client.',
    fix: 'Use the client that began the sign-in.',
  },
  client_blocked: {
    title: 'Client blocked',
    found: 'The person, or an administrator for them, has blocked the client.',
    fix: 'The person lets it in again at /account/applications, an administrator by `authorizations/unblock`.',
  },
  session_ended: { title: 'Session ended', found: 'The session of the sign-in has ended.', fix: 'Let the person sign in again.' },
  grant_ended: {
    title: 'Permission withdrawn',
    found: 'The person’s consent was withdrawn, or its tokens were revoked.',
    fix: 'Let the person sign in again.',
  },
  refresh_token_not_usable: {
    title: 'Refresh token not usable',
    found: 'The refresh token is unknown, has expired or was revoked.',
    fix: 'Let the person sign in again; have the application store the newest refresh token.',
  },
  refresh_token_reused: {
    title: 'Refresh token used twice',
    found: 'The refresh token had been replaced. All tokens of the sign-in were revoked.',
    fix: 'Let the person sign in again, and store the newest refresh token: two processes may refresh one.',
  },
  beyond_authorization: {
    title: 'More than was allowed',
    found: 'The request asks for more than was allowed at sign-in.',
    fix: 'Ask for the scope and the resource in the authorization request.',
  },
  proof_failed: {
    title: 'DPoP proof failed',
    found: 'The DPoP proof is missing, wrong, or of another key than the token’s.',
    fix: 'Send a fresh proof of the key with each request (RFC 9449).',
  },
  ...assertionRules,
  device_code_expired: {
    title: 'Unanswered',
    found: 'What waited for the person’s answer has expired: a device code, or a request to approve elsewhere.',
    fix: 'Start again, and let the person answer in time.',
  },
  rate_limited: {
    title: 'Too many requests',
    found: 'There were too many requests within a minute.',
    fix: 'Keep tokens until they expire; the token_rate_limit of the client raises the limit.',
  },
  refused: { title: 'Refused', found: 'The request was refused.', fix: 'The error that the application received says why.' },
} as const satisfies Readonly<Record<string, RuleText>>;

export const refusalRules: Readonly<Record<RefusalRule, RuleText>> = { ...previewRules, ...requestRules };

export type PreviewRule = keyof typeof previewRules;
export type RefusalRule = PreviewRule | keyof typeof requestRules;

export const previewRuleNames = Object.keys(previewRules) as [PreviewRule, ...PreviewRule[]];
export const refusalRuleNames = Object.keys(refusalRules) as [RefusalRule, ...RefusalRule[]];

/** What was decided about a scope that was asked for, or came with what was. */
export type ScopeRuling = { readonly name: string; readonly rule: PreviewRule };

/** What a refusal tells of the request beside its rule, for whoever looks for its cause; never a code, token, verifier or password. */
export type RefusalDetail = {
  readonly client_id?: string | undefined;
  readonly redirect_uri?: string | undefined;
  readonly registered_redirect_uris?: readonly string[] | undefined;
  readonly scopes?: readonly ScopeRuling[] | undefined;
  /** What was found, where the answer doesn't say it; nothing secret. */
  readonly description?: string | undefined;
};
