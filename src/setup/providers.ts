import { named, own } from '../lib/named.js';

export const protocols = ['saml', 'oidc'] as const;
export type SetupProtocol = (typeof protocols)[number];

/** A value for the provider, under the word that its own pages have for it. */
export type ProviderValue = readonly [label: string, value: string];

/** What the provider is told of us. */
export type OwnAddresses = { readonly entity_id: string; readonly callback_url: string };

/** Where to click at a provider, what to enter there, and what its pages call what we are to be told: in their words, which are not translated. */
export type ProviderGuide = {
  readonly place: string | null;
  values(own: OwnAddresses): readonly ProviderValue[];
  /** By the field of our form; of `saml` only the ways in which the provider describes itself. */
  readonly fields: Readonly<Record<string, string>>;
  readonly issuer?: string;
};

type Provider = { readonly name: string | null } & Readonly<Record<SetupProtocol, ProviderGuide>>;

const attributes = (email: string, first: string, last: string): readonly ProviderValue[] => [
  [`email`, email],
  [`firstName`, first],
  [`lastName`, last],
];

/** The providers that the set-up knows its way around, by what our address calls them; without a name: any other. */
export const providers: Readonly<Record<string, Provider>> = named<Provider>({
  entra: {
    name: 'Microsoft Entra ID',
    saml: {
      place: 'Enterprise applications › New application › Create your own application › Single sign-on › SAML',
      values: ({ entity_id, callback_url }) => [
        ['Identifier (Entity ID)', entity_id],
        ['Reply URL (Assertion Consumer Service URL)', callback_url],
      ],
      fields: { idp_metadata_url: 'App Federation Metadata Url' },
    },
    oidc: {
      place: 'App registrations › New registration',
      values: ({ callback_url }) => [
        ['Redirect URI › Web', callback_url],
        ['Token configuration › Add optional claim › ID', 'email'],
      ],
      fields: {
        issuer: 'https://login.microsoftonline.com/{Directory (tenant) ID}/v2.0',
        provider_client_id: 'Application (client) ID',
        provider_client_secret: 'Certificates & secrets › New client secret › Value',
      },
    },
  },
  okta: {
    name: 'Okta',
    saml: {
      place: 'Applications › Create App Integration › SAML 2.0',
      values: ({ entity_id, callback_url }) => [
        ['Single sign-on URL', callback_url],
        ['Audience URI (SP Entity ID)', entity_id],
        ['Name ID format', 'EmailAddress'],
        ...attributes('user.email', 'user.firstName', 'user.lastName').map(
          ([name, value]) => [`Attribute Statements › ${name}`, value] as const,
        ),
      ],
      fields: { idp_metadata_url: 'Sign On › Metadata URL' },
    },
    oidc: {
      place: 'Applications › Create App Integration › OIDC - OpenID Connect › Web Application',
      values: ({ callback_url }) => [['Sign-in redirect URIs', callback_url]],
      fields: { issuer: 'https://{Okta domain}', provider_client_id: 'Client ID', provider_client_secret: 'Client Secrets' },
    },
  },
  google: {
    name: 'Google Workspace',
    saml: {
      place: 'Apps › Web and mobile apps › Add app › Add custom SAML app',
      values: ({ entity_id, callback_url }) => [
        ['ACS URL', callback_url],
        ['Entity ID', entity_id],
        ['Name ID format', 'EMAIL'],
        ['Name ID', 'Basic Information › Primary email'],
        ...attributes('Primary email', 'First name', 'Last name').map(([name, value]) => [`Attributes › ${name}`, value] as const),
      ],
      fields: { idp_metadata_xml: 'Download metadata' },
    },
    oidc: {
      place: 'Google Cloud › APIs & Services › Credentials › Create credentials › OAuth client ID › Web application',
      values: ({ callback_url }) => [['Authorized redirect URIs', callback_url]],
      fields: { issuer: 'https://accounts.google.com', provider_client_id: 'Client ID', provider_client_secret: 'Client secret' },
      issuer: 'https://accounts.google.com',
    },
  },
  other: {
    name: null,
    saml: {
      place: null,
      values: ({ entity_id, callback_url }) => [
        ['ACS URL (HTTP-POST)', callback_url],
        ['Entity ID, Audience', entity_id],
        ['Name ID format', 'Persistent'],
        ...attributes('email', 'given name', 'family name').map(([name, value]) => [`Attribute ${name}`, value] as const),
      ],
      fields: { idp_metadata_url: '', idp_metadata_xml: '' },
    },
    oidc: {
      place: null,
      values: ({ callback_url }) => [
        ['Redirect URI', callback_url],
        ['Scopes', 'openid email profile'],
      ],
      fields: { issuer: '', provider_client_id: '', provider_client_secret: '' },
    },
  },
});

export const providerNames = Object.keys(providers);

export const findProvider = (name: string): Provider | null => own(providers, name) ?? null;

export const setupProtocolOf = (name: string): SetupProtocol | null => protocols.find((one) => one === name) ?? null;

/** Which of them a connection is for, by the name that the set-up gave it. */
export const providerNamed = (display_name: string): string =>
  providerNames.find((name) => providers[name]?.name === display_name) ?? 'other';

/** What directories call the address and the token of ours. */
export const scimWords: readonly { readonly provider: string; readonly place: string; readonly url: string; readonly token: string }[] = [
  { provider: 'Microsoft Entra ID', place: 'Enterprise applications › Provisioning', url: 'Tenant URL', token: 'Secret Token' },
  {
    provider: 'Okta',
    place: 'Applications › General › SCIM provisioning › Provisioning › Integration',
    url: 'SCIM connector base URL',
    token: 'HTTP Header › Authorization › Bearer',
  },
];
