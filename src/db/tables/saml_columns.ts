/** Who the NameID of an assertion says that somebody is: an identifier for this application alone, or the address. */
export const samlNameIds = ['persistent', 'email'] as const;

export type SamlColumns = {
  /** Of a SAML service provider; null for every other client. */
  saml_entity_id: string | null;
  /** Where assertions are posted to; the first one unless the request says. */
  saml_acs_urls: string[];
  saml_name_id: (typeof samlNameIds)[number];
  /** Claims by the names of the attributes that tell them. */
  saml_attributes: Record<string, string>;
  /** Of one of these its requests have to be signed; none: they may be unsigned. */
  saml_request_certificates: string[];
  /** Whether a sign-in may begin here, which the application didn't ask for. */
  saml_idp_initiated: boolean;
};
