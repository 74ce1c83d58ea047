/** What a response of a provider has to fulfil, by the names that the connection's test tells. */
export const samlRules = {
  size: 'saml_invalid',
  encoding: 'saml_invalid',
  xml: 'saml_invalid',
  structure: 'saml_invalid',
  ids: 'saml_invalid',
  signature_place: 'saml_invalid',
  signature_algorithm: 'saml_invalid',
  signature_missing: 'saml_invalid',
  signature: 'saml_invalid',
  decryption: 'saml_invalid',
  version: 'saml_invalid',
  status: 'saml_invalid',
  declined: 'sso_access_denied',
  issuer: 'saml_invalid',
  confirmation: 'saml_invalid',
  statement: 'saml_invalid',
  destination: 'saml_wrong_audience',
  recipient: 'saml_wrong_audience',
  audience: 'saml_wrong_audience',
  in_response_to: 'saml_unsolicited',
  time: 'saml_expired',
  subject: 'saml_no_identity',
} as const;

export type SamlRule = keyof typeof samlRules;

/** A response that isn't taken. The message names what was found, and holds nothing secret. */
export class SamlRefusal extends Error {
  constructor(
    readonly rule: SamlRule,
    found: string,
  ) {
    super(`${rule}: ${found}`);
    this.name = 'SamlRefusal';
  }
}
