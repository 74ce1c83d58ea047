import { terms } from '../words.js';
const again = terms.ask_to_start_again;

/** Why a response of a SAML provider was refused: what happened, how bad it is, and what to do. */
export const samlReasons = {
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
