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
    found: 'The scope is not among the scopes of the client.',
    fix: 'Add the scope to the scopes of the client, or leave it out of the request.',
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
    found: 'The authorization details are malformed, or of a type that the API does not have or the client may not ask for.',
    fix: 'Compare them with the type at the API, and list the type in authorization_details_types of the client.',
  },
  tokens_not_taken: {
    title: 'Tokens of the API not taken',
    found: 'The tokens of the API are signed with RS256, which the profile of the client rules out.',
    fix: 'Have the tokens of the API signed with another algorithm, or make them opaque.',
  },
  permission_not_held: {
    title: 'Permission not held',
    found: 'The person does not hold the permission.',
    fix: 'Give the person a role with the permission.',
  },
  consent_missing: {
    title: 'Consent missing',
    found: 'The person has not allowed the client this yet.',
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
    found: 'No API is registered under the resource of the request, or the request names none where it has to.',
    fix: 'Name the identifier of an API in resource exactly as it is registered, or register the API.',
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
    found: 'The request names an organization, and the client signs people in for none.',
    fix: 'Set organization_usage of the client to allow or require, or leave organization out of the request.',
  },
} as const satisfies Readonly<Record<string, RuleText>>;

/** What else requests are refused for on the way from authorization to tokens (specification 15.10). */
const requestRules = {
  malformed_request: {
    title: 'Malformed request',
    found: 'The request lacks a parameter, or has an invalid one.',
    fix: 'Correct the request in the application: the error it received names the parameter.',
  },
  unknown_client: {
    title: 'Unknown client',
    found: 'No client is registered under the client_id of the request.',
    fix: 'Compare the client_id in the application with that of the client, and the environment that it asks.',
  },
  redirect_uri_mismatch: {
    title: 'Redirect URI not registered',
    found: 'The redirect URI of the request is not registered for the client. They are compared character by character.',
    fix: 'Register the redirect URI that was received, or correct it in the application.',
  },
  redirect_uri_changed: {
    title: 'Redirect URI changed',
    found: 'The redirect URI of the token request differs from the one of the authorization request.',
    fix: 'Send the same redirect_uri in both requests.',
  },
  pushed_request_required: {
    title: 'Request not pushed',
    found: 'The client has to push its authorization requests (RFC 9126), and this one came through the browser.',
    fix: 'Push the request, or turn the requirement off for the client or the environment.',
  },
  request_uri_not_usable: {
    title: 'Pushed request not usable',
    found: 'The pushed request has expired, was used before, or is another client’s.',
    fix: 'Push a new request for each sign-in, and go on with it within a minute.',
  },
  pkce_required: {
    title: 'PKCE missing',
    found: 'The client has to use PKCE, and the request has no code_challenge.',
    fix: 'Switch PKCE on in the application; it can be turned off for a confidential client.',
  },
  pkce_failed: {
    title: 'PKCE failed',
    found: 'The code_verifier does not fit the code_challenge of the authorization request.',
    fix: 'Send the verifier of this challenge: several replicas or tabs of the application may mix them up.',
  },
  sign_in_required: {
    title: 'Sign-in required',
    found: 'The request may not show a page (prompt=none), and nobody is signed in, or the sign-in isn’t sufficient.',
    fix: 'Nothing, when the application then asks again without prompt=none. Silent sign-ins in frames fail where browsers block third-party cookies.',
  },
  sign_in_class_not_met: {
    title: 'Sign-in too weak',
    found: 'The client or the API requires a stronger or more recent sign-in.',
    fix: 'Let the person sign in again with a second factor, or lower what the client or the API requires.',
  },
  provider_answer_refused: {
    title: 'Answer of the provider refused',
    found: 'The person came back from the provider of a connection, and could not be signed in by what it says; the error says how.',
    fix: 'Test the connection: that names the rule that failed. For saml_ errors compare certificates, entity IDs and addresses on both sides.',
  },
  consent_denied: { title: 'Consent denied', found: 'The person declined.', fix: 'Nothing to do.' },
  client_authentication_failed: {
    title: 'Client authentication failed',
    found: 'The secret or assertion of the client is wrong or missing, or its method is not the registered one.',
    fix: 'Compare secret and method in the application with the credentials of the client; rotate the secret if it is lost.',
  },
  unsupported_grant_type: {
    title: 'Unknown grant type',
    found: 'This service has no such grant type.',
    fix: 'Use one of those that discovery lists.',
  },
  code_unknown: {
    title: 'Unknown code',
    found: 'The code was never issued here, or long ago.',
    fix: 'See whether the application asks the environment that issued the code, and sends the code unchanged.',
  },
  code_expired: {
    title: 'Code expired',
    found: 'The code was redeemed too late: it is valid for 60 seconds.',
    fix: 'Redeem the code at once.',
  },
  code_reused: {
    title: 'Code used twice',
    found: 'The code was used before. The tokens from the first use were revoked.',
    fix: 'Redeem each code once: reloading the callback page redeems it twice.',
  },
  of_another_client: {
    title: 'Of another client',
    found: 'The code or token was issued to another client.',
    fix: 'Use the client_id and secret of the client that began the sign-in.',
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
    fix: 'Let the person sign in again; see that the application stores the newest refresh token.',
  },
  refresh_token_reused: {
    title: 'Refresh token used twice',
    found: 'The refresh token had been replaced by a newer one. All tokens of that sign-in were revoked.',
    fix: 'Let the person sign in again, and store the newest refresh token: two processes may each refresh the same one.',
  },
  beyond_authorization: {
    title: 'More than was allowed',
    found: 'The request asks for more than was allowed at sign-in.',
    fix: 'Ask for the scope and the resource in the authorization request.',
  },
  proof_failed: {
    title: 'DPoP proof failed',
    found: 'The DPoP proof is missing, wrong, or of another key than the one that the token is bound to.',
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
