/** Why a client was refused, or what it brought, as the sentence of the whole. */
export const clientReasons = {
  not_proven: [
    'Wrong client credentials',
    'warning',
    'Compare the secret or key of the application with the one here; rotate it if it was lost.',
  ],
  unknown_client: ['Unknown client ID', 'warning', 'Compare the client ID of the application with the one here.'],
  no_credentials: ['No client credentials sent', 'warning', 'Have the application send its client ID, and its secret or key.'],
  assertion_invalid: ['Identity assertion not acceptable', 'bad', 'Compare keys and issuer of the connection with those of the provider.'],
  assertion_expired: ['Identity assertion too old, or good for too long', 'warning', 'Compare the provider’s clock with the one here.'],
  assertion_issuer: ['Identity assertion of an unknown issuer', 'warning', 'Let exactly one connection of this issuer take assertions.'],
  assertion_not_for_us: ['Identity assertion meant for another server or tenant', 'bad', 'Compare audience and tenant at the provider.'],
  assertion_not_for_client: ['Identity assertion of another client', 'bad', 'Have the provider name the client by its client ID here.'],
  assertion_key: ['Identity assertion without proof of its key', 'bad', 'Have the application send a DPoP proof of the key.'],
  assertion_scope: ['Identity assertion for an API or scope that the client may not have', 'warning', 'Look at the grant of the client.'],
  assertion_nobody: ['Nobody here is the person of the identity assertion', 'warning', 'Let them sign in through the connection once.'],
  assertion_sign_in: [
    'The sign-in behind the identity assertion is too weak or too old',
    'warning',
    'Have them sign in again at the provider.',
  ],
  assertion_not_granted: [
    'No outbound grant for this client and person',
    'warning',
    'Check the access of the person at the external server’s page: it names the rule.',
  ],
  assertion_subject: [
    'The person has no verified address, or no organization, as the external server wants it',
    'warning',
    'Have them verify the address, or sign in for their organization.',
  ],
  signal_invalid: [
    'Signal of a provider not acceptable',
    'warning',
    'Compare keys and issuer of the connection with those of the provider.',
  ],
  signal_not_for_us: ['Signal of another issuer, or for another receiver', 'warning', 'Compare issuer and audience at the provider.'],
  signal_expired: ['Signal too old', 'warning', 'Compare the provider’s clock with the one here.'],
  signal_replayed: ['Signal that came before', 'warning', 'Have the provider send each of them once.'],
} as const;
