/** What token requests are refused for that have to do with identity assertions (ID-JAG); part of the list of all. */
export const assertionRules = {
  assertion_refused: {
    title: 'Assertion refused',
    found:
      'The identity assertion is not one that a connection takes from this client: its issuer, signature, audience, client, key, time or scope.',
    fix: 'The error that the application received names the claim. Compare the connection, and what the issuer calls this environment, the client and the API.',
  },
  assertion_replayed: {
    title: 'Assertion used twice',
    found: 'The identity assertion was redeemed before.',
    fix: 'Get a new assertion for each token, or let the connection take them until they expire (assertion_reuse).',
  },
  assertion_nobody: {
    title: 'Nobody of the assertion',
    found: 'No account here is the assertion’s person, or it may not sign in through its connection.',
    fix: 'Let the person sign in through the connection once, or see what account or membership lack.',
  },
  assertion_subject_not_usable: {
    title: 'Nothing to assert',
    found: 'The ID token or refresh token brought for the assertion is not the client’s, has expired, or its sign-in has ended.',
    fix: 'Let the person sign in again, and bring what that sign-in gave this client.',
  },
  no_provider_grant: {
    title: 'No grant for the provider',
    found: 'No enabled provider grant lets the client have tokens of the connection’s provider.',
    fix: 'Create a provider grant for the client and the connection, whose token_storage has to be on.',
  },
  provider_access_missing: {
    title: 'Access at the provider to be allowed',
    found: 'The client has no token of the person at the provider with these scopes, or the person has not allowed it.',
    fix: 'Lead the person to the address in error_uri.',
  },
  provider_away: {
    title: 'Provider did not refresh',
    found: 'The provider gave no new access token in time.',
    fix: 'Wait, and look whether the provider answers at its token endpoint.',
  },
  no_outbound_grant: {
    title: 'No grant for the server outside',
    found: 'No enabled external server of audience and resource is granted to the client for this person.',
    fix: 'Create an outbound grant for client and external server, or see whom the present one is for.',
  },
  outbound_scope_not_granted: {
    title: 'Scope not granted outside',
    found: 'Nothing of the scope is granted to the client at the external server.',
    fix: 'Ask for scopes of the resource, or add them to the outbound grant.',
  },
  outbound_grant_for_others: {
    title: 'Granted for other people',
    found: 'The client’s grants for the external server are for an organization, group or role that the person is not in.',
    fix: 'Add the person there, or change for whom the outbound grant is.',
  },
} as const;
