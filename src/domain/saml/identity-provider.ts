import type { Environment } from '../environment.js';

export const samlMetadataPath = '/saml/metadata';
export const singleSignOnPath = '/saml/sso';

type Issuer = Pick<Environment, 'issuer'>;

/** Our entity ID as the identity provider of SAML applications: the address of the metadata. */
export const identityProviderId = ({ issuer }: Issuer): string => `${issuer}${samlMetadataPath}`;

/** Where applications send people to. */
export const singleSignOnUrl = ({ issuer }: Issuer): string => `${issuer}${singleSignOnPath}`;
