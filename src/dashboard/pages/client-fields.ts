import type { Request } from 'express';
import { brandingFields } from '../branding-fields.js';
import { signingAlgorithmChoices } from '../choices.js';
import { demandFields } from '../demand-fields.js';
import { claimMappingLine } from '../claim-mapping-lines.js';
import type { FieldSpec, SectionSpec } from '../presentation.js';
import { profileChoices } from './client-profile.js';
import { grantChoices, grantLabels, kinds, methodChoices } from './client-kinds.js';

const [where, demands, tokens, told, looks, branding] = [
  'Where it runs',
  'What people have to prove',
  'Tokens',
  'What it is told of people',
  'How people see it',
  'Branding of its sign-in',
];

/** The sections of the form. */
export const clientSections: readonly SectionSpec[] = [
  { title: where },
  { title: demands },
  { title: tokens },
  { title: told, text: 'The tab Claims shows what comes of it for a real user.' },
  { title: looks },
  {
    title: branding,
    text: 'How our pages and mails look while people are on their way to it. What is empty is as the environment has it.',
  },
];

/** A claim mapping as a line. */
export const mappingLine = claimMappingLine(['id_token', 'userinfo']);

const uris = { spellcheck: false, autocapitalize: 'none' };

const redirects: FieldSpec = {
  name: 'redirect_uris',
  label: 'Redirect URIs',
  hint: 'One a line, compared exactly: https://app.example.com/callback. For development http://localhost:3001/callback is fine.',
  section: where,
  attributes: uris,
};
/** The fields of a client. */
export const clientFields: readonly FieldSpec[] = [
  { name: 'name', needed: true, label: 'Name', hint: 'People see it when they sign in.', attributes: { maxlength: 100 } },
  { name: 'description', label: 'Description', hint: 'For administrators only.', attributes: { maxlength: 500 } },
  { name: 'status', label: 'Status', kind: 'radios', on: 'update', choices: async () => [{ value: 'enabled', label: 'Enabled' }, { value: 'disabled', label: 'Disabled', hint: 'Gets no tokens; those that it has stop working.' }] }, // prettier-ignore
  redirects,
  { name: 'post_logout_redirect_uris', label: 'Redirect URIs after sign-out', section: where, attributes: uris },
  {
    name: 'allowed_origins',
    label: 'Allowed origins',
    hint: 'Pages at these origins may call the token endpoint from the browser (CORS): https://app.example.com',
    section: where,
    attributes: uris,
  },
  {
    name: 'backchannel_logout_uri',
    label: 'Back-channel logout URI',
    hint: 'Is told when a session ends (OpenID Connect Back-Channel Logout).',
    section: where,
  },
  {
    name: 'initiate_login_uri',
    label: 'Address where a sign-in begins',
    hint: 'So that people can open it from their account, and you from here: https://app.example.com/login. It is called with iss (OpenID Connect Core 4).',
    section: where,
    attributes: uris,
  },
  ...demandFields('a sign-in to it', demands),
  {
    name: 'profile',
    label: 'Security profile',
    section: tokens,
    choices: profileChoices,
    hint: 'FAPI 2.0 asks for private_key_jwt and keys; PKCE, pushed requests, DPoP and ES256 are filled in. From then on no setting may contradict it.',
  },
  {
    name: 'grant_types',
    label: 'Grant types',
    kind: 'checks',
    section: tokens,
    choices: async () => grantChoices(Object.keys(grantLabels)),
    optional: false,
  },
  {
    name: 'token_endpoint_auth_method',
    label: 'How it proves itself',
    section: tokens,
    choices: async () => methodChoices(['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none']),
  },
  {
    name: 'jwks_uri',
    label: 'Address of its public keys (jwks_uri)',
    hint: 'For private_key_jwt and signed authorization requests.',
    section: tokens,
    attributes: uris,
  },
  {
    name: 'jwks',
    label: 'Its public keys (JWKS)',
    hint: 'Instead of the address: {"keys": [...]}, public keys only.',
    section: tokens,
    attributes: uris,
  },
  { name: 'scopes', label: 'Scopes that it may ask for', hint: 'One a line; leave it empty for all.', section: tokens },
  { name: 'access_token_format', label: 'Access tokens without a resource', section: tokens, choices: async () => [{ value: 'opaque', label: 'Opaque' }, { value: 'jwt', label: 'JWT' }] }, // prettier-ignore
  { name: 'require_pkce', label: 'Require PKCE', hint: 'Always on for public clients.', section: tokens },
  {
    name: 'require_pushed_authorization_requests',
    label: 'Require pushed authorization requests',
    hint: 'Its requests come through /oauth/par only (RFC 9126).',
    section: tokens,
  },
  {
    name: 'require_signed_request_object',
    label: 'Require signed requests',
    hint: 'What it pushes is signed with its key (RFC 9101); for FAPI 2.0 Message Signing.',
    section: tokens,
  },
  {
    name: 'dpop_bound_access_tokens',
    label: 'Require DPoP',
    hint: 'Its tokens are bound to a key that only it holds (RFC 9449): whoever steals one can not use it.',
    section: tokens,
  },
  {
    name: 'introspection_allowed',
    label: 'May ask about tokens of other clients',
    hint: 'For APIs that look tokens up at /oauth/introspect. Clients that registered themselves never may.',
    section: tokens,
  },
  { name: 'id_token_lifetime', label: 'ID token lifetime', hint: 'Seconds; empty for the environment’s.', section: tokens },
  { name: 'refresh_token_lifetime', label: 'Refresh token lifetime', hint: 'Seconds; empty for the environment’s.', section: tokens },
  { name: 'token_rate_limit', label: 'Token requests a minute', hint: 'Empty for the default of 10.', section: tokens },
  {
    name: 'id_token_claims',
    label: 'Claims in the ID token',
    kind: 'radios',
    section: told,
    choices: async () => [
      { value: 'protocol', label: 'Protocol claims', hint: 'Claims about the person are at userinfo, as the standard has it.' },
      {
        value: 'profile',
        label: 'The profile too',
        hint: 'What the scopes release stands in the ID token as well: for frameworks that look nowhere else.',
      },
    ],
  },
  {
    name: 'claim_mappings',
    label: 'Claim mappings',
    hint: 'One a line: groups = roles in id_token, userinfo. Sources: user attributes, metadata.<path>, roles, permissions; constants as JSON.',
    section: told,
    line: mappingLine,
    attributes: uris,
  },
  {
    name: 'id_token_signed_response_alg',
    label: 'ID tokens are signed with',
    section: told,
    initial: 'RS256',
    choices: signingAlgorithmChoices,
    hint: 'RS256 unless the application asks for another one.',
  },
  {
    name: 'userinfo_signed_response_alg',
    label: 'Userinfo',
    section: told,
    choices: async (look) => (await signingAlgorithmChoices(look)).map(({ value }) => ({ value, label: `A JWT signed with ${value}` })),
    hint: 'Not set: JSON, which nearly every library expects.',
  },
  {
    name: 'authorization_signed_response_alg',
    label: 'Answers of the authorization endpoint are signed with',
    section: told,
    choices: signingAlgorithmChoices,
    hint: 'Not set: only where a request asks for it (JARM). Set: nothing else is answered.',
  },
  {
    name: 'introspection_signed_response_alg',
    label: 'Introspection responses are signed with',
    section: told,
    choices: signingAlgorithmChoices,
    hint: 'Not set: JSON, unless a request asks for a JWT (RFC 9701).',
  },
  { name: 'first_party', label: 'Your own application: skip the consent page', section: looks },
  { name: 'client_uri', label: 'Home page', kind: 'url', section: looks },
  { name: 'logo_uri', label: 'Logo', kind: 'url', section: looks },
  { name: 'policy_uri', label: 'Privacy policy', kind: 'url', section: looks },
  { name: 'tos_uri', label: 'Terms of service', kind: 'url', section: looks },
  ...brandingFields('On the pages and mails of its sign-in, instead of the environment’s.', branding),
  { name: 'branding.support_email', label: 'Support email', kind: 'email', section: branding, attributes: { maxlength: 254 } },
];

/** Of a client that a document describes. */
const documentFields: readonly FieldSpec[] = [
  {
    name: 'client_id_metadata_uri',
    label: 'Address of its metadata document',
    hint: 'Its client_id: https, with a path. The document says the rest; by adding it here you vouch for it.',
    optional: false,
    attributes: { maxlength: 512, spellcheck: false, autocapitalize: 'none' },
  },
];

/** The fields for a new client of the kind that the address or the form names. */
export function clientCreateFields(req: Request): readonly FieldSpec[] {
  const named =
    req.method === 'POST'
      ? req.form.get('application_type')
      : new URL(req.originalUrl, 'http://own.invalid').searchParams.get('application_type');
  if (named === 'document' || req.form?.get('client_id_metadata_uri') !== undefined) return documentFields;
  const type = named && Object.hasOwn(kinds, named) ? named : 'web';
  const kind = kinds[type] as (typeof kinds)[string];
  const people = type !== 'machine';
  const method = kind.methods[0] ?? 'none';
  return [
    { name: 'application_type', label: 'Kind', kind: 'hidden', initial: type },
    {
      name: 'name',
      label: 'Name',
      hint: people ? 'People see it when they sign in.' : 'For you: which service this is.',
      optional: false,
      attributes: { maxlength: 100 },
    },
    // A device that people type a code for has none.
    ...(people ? [{ ...redirects, section: undefined as unknown as string, optional: type === 'native' }] : []),
    ...(type === 'spa'
      ? [
          {
            name: 'allowed_origins',
            label: 'Allowed origins',
            hint: 'Where the pages are served from: https://app.example.com',
            attributes: uris,
          },
        ]
      : []),
    ...(people ? [{ name: 'first_party', label: 'This is your own application: skip the consent page', initial: 'on' }] : []),
    {
      name: 'grant_types',
      label: 'Grant types',
      kind: 'checks',
      initial: kind.grants,
      choices: async () => grantChoices([...kind.grants, ...(kind.furtherGrants ?? [])]),
      optional: false,
    },
    kind.methods.length > 1
      ? {
          name: 'token_endpoint_auth_method',
          label: 'How it proves itself',
          initial: method,
          choices: async () => methodChoices(kind.methods),
        }
      : { name: 'token_endpoint_auth_method', label: 'How it proves itself', kind: 'hidden', initial: method },
  ];
}
