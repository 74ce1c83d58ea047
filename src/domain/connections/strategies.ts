import { namesakes, profileColumns } from '../../lib/profile-columns.js';
import { named } from '../../lib/named.js';
export const endpointFields = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri'] as const;
export type EndpointField = (typeof endpointFields)[number];

/**
 * What a claim mapping may name on the left: how the person is called here. On the right stands the provider's claim, `a.b` for a
 * member of an object.
 */
export const mappableAttributes = ['sub', 'email', 'email_verified', 'name', ...profileColumns] as const;
export type MappableAttribute = (typeof mappableAttributes)[number];
export type ProviderClaimMapping = Readonly<Partial<Record<MappableAttribute, string | readonly string[]>>>;

/** OIDC's names of two attributes; a mapping may use either (OIDC Core 5.1). */
export const attributeAliases: Readonly<Record<string, MappableAttribute>> = named({ given_name: 'first_name', family_name: 'last_name' });

/** A setting in `options` that only some strategies have. */
export type StrategyOption = {
  readonly name: string;
  /** `xml` and `certificates` are long; certificates are a list. */
  readonly type: 'text' | 'url' | 'boolean' | 'choice' | 'xml' | 'certificates';
  readonly label: string;
  readonly hint: string;
  /** Of a choice: its values with their labels, the default first. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
  /** What holds where it isn't set; false unless told. */
  readonly initial?: boolean;
};

/** What forms, validation and documentation need to know of a strategy; what it does is in `src/sso/strategies`. */
export type StrategyDescription = {
  readonly display_name: string;
  /** `oidc`: the person is in a signed ID token; `saml`: in a signed assertion; `oauth2`: at the userinfo endpoint. */
  readonly protocol: 'oidc' | 'oauth2' | 'saml';
  /** What has to be there, beside name, `display_name` and `provider_client_id`: one whole alternative. Empty: nothing else. */
  readonly needs: readonly (readonly ('issuer' | 'provider_client_secret' | EndpointField)[])[];
  /** Used where the connection leaves the field empty. */
  readonly issuer: string | null;
  readonly endpoints: Readonly<Partial<Record<EndpointField, string>>>;
  readonly scopes: readonly string[];
  readonly claim_mapping: ProviderClaimMapping;
  readonly options: readonly StrategyOption[];
  /** How the provider's answer comes back: in the address, or as a form that the browser posts. */
  readonly response_mode: 'query' | 'form_post';
};

const standardClaims: ProviderClaimMapping = {
  sub: 'sub',
  email: 'email',
  email_verified: 'email_verified',
  name: 'name',
  first_name: 'given_name',
  last_name: 'family_name',
  ...Object.fromEntries(namesakes.map((name) => [name, name])),
};

const trustEmail: StrategyOption = {
  name: 'trust_email',
  type: 'boolean',
  label: 'Addresses of the domains above count as verified',
  hint: 'For a company directory that does not send email_verified. Applies to the domains of this connection only.',
};

/** Names that providers give attributes: their own, of OpenID Connect, of WS-Federation (Entra ID, AD FS), and of LDAP (eduPerson). */
const [soap, oid] = ['http://schemas.xmlsoap.org/ws/2005/05/identity/claims/', 'urn:oid:'];
const samlClaims: ProviderClaimMapping = {
  sub: 'name_id',
  email: ['email', 'mail', 'emailAddress', `${soap}emailaddress`, `${oid}0.9.2342.19200300.100.1.3`, 'name_id_email'],
  name: ['name', 'displayName', 'http://schemas.microsoft.com/identity/claims/displayname', `${oid}2.16.840.1.113730.3.1.241`],
  first_name: ['given_name', 'firstName', 'givenName', `${soap}givenname`, `${oid}2.5.4.42`],
  last_name: ['family_name', 'lastName', 'sn', `${soap}surname`, `${oid}2.5.4.4`],
};

const samlOptions: readonly StrategyOption[] = [
  {
    name: 'idp_metadata_url',
    type: 'url',
    label: 'Metadata URL',
    hint: 'The best way: read every day, so that new certificates need nobody. Another entity ID or host waits for you.',
  },
  { name: 'idp_metadata_xml', type: 'xml', label: 'Metadata XML', hint: 'Where the provider has a file instead of an address.' },
  { name: 'idp_entity_id', type: 'text', label: 'Entity ID of the provider', hint: 'Without metadata. Also called issuer.' },
  { name: 'idp_sso_url', type: 'url', label: 'Single sign-on URL', hint: 'Without metadata. The one for HTTP-Redirect.' },
  {
    name: 'idp_certificates',
    type: 'certificates',
    label: 'Certificates',
    hint: 'Without metadata. PEM, at most four: the old and the new one while the provider changes over.',
  },
  {
    name: 'signed_part',
    type: 'choice',
    label: 'Signed part',
    hint: 'What the provider has to sign.',
    choices: [
      { value: 'assertion', label: 'Assertion' },
      { value: 'response', label: 'Response' },
      { value: 'both', label: 'Both' },
    ],
  },
  {
    name: 'name_id_format',
    type: 'choice',
    label: 'NameID format',
    hint: 'What requests ask for. A transient one needs a claim mapping of sub.',
    choices: [
      { value: 'unspecified', label: 'As the provider decides' },
      { value: 'persistent', label: 'Persistent' },
      { value: 'email', label: 'Email address' },
      { value: 'transient', label: 'Transient' },
    ],
  },
  { name: 'sign_requests', type: 'boolean', label: 'Sign requests', hint: 'With the certificate of our metadata.', initial: true },
  { name: 'force_authn', type: 'boolean', label: 'Force authentication', hint: 'People sign in at the provider every time.' },
  {
    name: 'idp_initiated',
    type: 'boolean',
    label: 'Start at the provider',
    hint: 'Tiles of the provider’s own portal lead here; the sign-in then begins anew from here.',
  },
];

const oidcNeeds = [['issuer'], ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint']] as const;

/**
 * The strategies by their wire names. The API's enum and checks, the dashboard's form and docs/how-to/sso.md follow from this list;
 * `src/sso/strategies/index.ts` has one implementation for each.
 */
export const connectionStrategies = {
  oidc: {
    display_name: 'OpenID Connect',
    protocol: 'oidc',
    needs: oidcNeeds,
    issuer: null,
    endpoints: {},
    scopes: ['openid', 'email', 'profile'],
    claim_mapping: standardClaims,
    options: [trustEmail],
    response_mode: 'query',
  },
  google: {
    display_name: 'Google',
    protocol: 'oidc',
    needs: [['provider_client_secret']],
    issuer: 'https://accounts.google.com',
    endpoints: {},
    scopes: ['openid', 'email', 'profile'],
    claim_mapping: standardClaims,
    options: [
      { name: 'hosted_domain', type: 'text', label: 'Workspace domain', hint: 'Only accounts of this Google Workspace may sign in.' },
    ],
    response_mode: 'query',
  },
  microsoft: {
    display_name: 'Microsoft',
    protocol: 'oidc',
    needs: [['provider_client_secret']],
    issuer: 'https://login.microsoftonline.com/common/v2.0',
    endpoints: {},
    scopes: ['openid', 'email', 'profile'],
    claim_mapping: standardClaims,
    options: [trustEmail],
    response_mode: 'query',
  },
  apple: {
    display_name: 'Apple',
    protocol: 'oidc',
    needs: [['provider_client_secret']],
    issuer: 'https://appleid.apple.com',
    endpoints: {},
    scopes: ['openid', 'email', 'name'],
    claim_mapping: standardClaims,
    options: [
      { name: 'team_id', type: 'text', label: 'Team ID', hint: 'Ten characters, at the top right of the Apple developer account.' },
      { name: 'key_id', type: 'text', label: 'Key ID', hint: 'Of the Sign in with Apple key whose .p8 file is the client secret.' },
    ],
    response_mode: 'form_post',
  },
  github: {
    display_name: 'GitHub',
    protocol: 'oauth2',
    needs: [['provider_client_secret']],
    issuer: null,
    endpoints: {
      authorization_endpoint: 'https://github.com/login/oauth/authorize',
      token_endpoint: 'https://github.com/login/oauth/access_token',
      userinfo_endpoint: 'https://api.github.com/user',
    },
    scopes: ['read:user', 'user:email'],
    claim_mapping: { ...standardClaims, sub: ['sub', 'id'], picture: ['picture', 'avatar_url'], preferred_username: 'login' },
    options: [],
    response_mode: 'query',
  },
  oauth2: {
    display_name: 'OAuth 2.0',
    protocol: 'oauth2',
    needs: oidcNeeds,
    issuer: null,
    endpoints: {},
    scopes: [],
    claim_mapping: { ...standardClaims, sub: ['sub', 'id'] },
    options: [trustEmail],
    response_mode: 'query',
  },
  saml: {
    display_name: 'SAML 2.0',
    protocol: 'saml',
    needs: [],
    issuer: null,
    endpoints: {},
    scopes: [],
    claim_mapping: samlClaims,
    options: [...samlOptions, trustEmail],
    response_mode: 'form_post',
  },
} as const satisfies Record<string, StrategyDescription>;

export type StrategyName = keyof typeof connectionStrategies;

export const strategyNames = Object.keys(connectionStrategies) as StrategyName[];

export const strategyOf = (name: StrategyName): StrategyDescription => connectionStrategies[name];

/** The fields of which a connection of this strategy lacks at least one, by the alternative that comes closest; empty when it is complete. */
export function missingFields(
  name: StrategyName,
  present: (field: 'issuer' | 'provider_client_secret' | EndpointField) => boolean,
): string[] {
  const { needs } = strategyOf(name);
  const gaps = needs.map((fields) => fields.filter((field) => !present(field)));
  return gaps.length === 0 ? [] : [...(gaps.toSorted((one, other) => one.length - other.length)[0] ?? [])];
}
