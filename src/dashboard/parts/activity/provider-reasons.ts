import { terms } from '../words.js';
const again = terms.ask_to_start_again;

/** Why a sign-in at a provider was refused: what happened, how bad it is, and what to do. */
export const providerReasons = {
  sso_state_mismatch: ['Sign-in at the provider began in another browser, or too long ago', 'warning', again],
  sso_access_denied: ['Cancelled at the provider', 'warning', 'The person declined, or may not use this application at the provider.'],
  sso_email_missing: [
    'The provider sent no email address',
    'warning',
    'Have the provider’s administrator send it with the sign-in, or map another claim to email at the connection.',
  ],
  sso_email_unverified: [
    'The provider has not verified the email address',
    'warning',
    'Have the person verify it there, or trust the connection.',
  ],
  sso_account_exists: [
    'There is already an account with this email address',
    'warning',
    'Have the person sign in to it first and connect the provider, or change how the connection links accounts.',
  ],
  sso_domain_not_allowed: [
    'The email domain is not one of this connection',
    'warning',
    'Add the domain to the connection, if these people may sign in.',
  ],
  sso_provider_error: ['The provider did not answer as expected', 'bad', 'Test the connection: it says what the provider answered.'],
  saml_invalid: ['The SAML response is not acceptable', 'bad', 'Test the connection: it names the rule that failed.'],
  saml_expired: ['The SAML response was too old or too early', 'warning', 'Compare the clocks of the provider and of this service.'],
  saml_replayed: ['The SAML assertion was used before', 'bad', again],
  saml_unsolicited: ['The SAML response answers another request, or none', 'warning', again],
  saml_wrong_audience: [
    'The SAML response is meant for somebody else',
    'bad',
    'Compare entity ID and callback URL with those at the provider.',
  ],
  saml_no_identity: [
    'The SAML assertion does not say who the person is',
    'bad',
    'Have the provider send a persistent NameID, or map sub to an attribute.',
  ],
} as const;
