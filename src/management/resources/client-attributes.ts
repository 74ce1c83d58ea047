import { z } from 'zod';
import { clientAuthMethods } from '../../http/auth/authenticate-client.js';
import { publicKeySet } from '../../domain/clients/key-set.js';
import { maxEntityIdLength, samlClaims } from '../../domain/clients/saml.js';
import { maxCertificates } from '../../domain/saml/metadata.js';
import {
  applicationTypes,
  organizationUsages,
  clientOrigins,
  clientProfiles,
  idTokenClaims,
  type ClientRow,
} from '../../db/tables/clients.js';
import { backchannelUsers, deliveryModes } from '../../db/tables/backchannel_columns.js';
import { samlNameIds } from '../../db/tables/saml_columns.js';
import { requiredAcrs } from '../../db/tables/environments.js';
import { grants } from '../../oauth/grants/index.js';
import { boundedText, isoTime, lifetime, stamps, uniqueTexts, webUrl } from '../fields.js';
import { signingAlgorithms } from '../../lib/signing-algorithm.js';
import { brandingAttributes } from './branding.js';
import { claimMappings } from './claim-mappings.js';
import { scopeToken } from './permissions.js';
import type { Settable } from '../declaration.js';

const uri = z.string().min(1).max(2048);
/** The `client_id` of a new client where its maker chooses it. */
export const chosenClientId = z
  .string()
  .min(1)
  .max(128)
  .regex(/^(?!\.\.?$)[\x21-\x7e]+$/, 'must be visible ASCII, and neither . nor .., which no address can hold');

const grantType = z.enum(Object.keys(grants) as [string, ...string[]]);
export const applicationType = z.enum(applicationTypes);
const authMethod = z.enum(clientAuthMethods);
const day = 86_400;

const firstParty =
  'Whether it skips the consent page. Changed, like all that decides who acts with such a client, by holders of every Management permission; true for what people sign in to when one of them makes it without a word.';

const agentText =
  'Whether it acts by itself, as AI agents do: consent pages, lists and mails say so, and the tokens of API resources with `agent_claims`. True for a new client that brings its metadata document, else false.';

const organizationUsage =
  'Whether people sign in to it for an organization: never (the default), when the request names one in `organization`, or always: then people with several choose.';

const idTokenContent =
  '`protocol`: the ID token holds protocol claims and what the `claims` parameter asks for there (OIDC Core 5.4); `profile`: what the scopes release as well.';
const mappings =
  'Claims under names of your own, in its ID tokens, at userinfo, and in access tokens whose API resource does not map the same claim. They need no scope.';
const defaultResource =
  'Identifier of the API resource that its own token requests are for when they leave out `resource`, for client libraries that can not send it (RFC 8707); it still needs a client grant. null = `resource` is required.';
const pushesOnly = 'Whether it has to push its authorization requests (RFC 9126 6); the environment can demand it of all.';
const profileText =
  'The security profile that it is held to. `fapi2` (FAPI 2.0 Security Profile) settles PKCE, pushed requests, DPoP and signatures by itself where nothing else is said; every setting that contradicts it, now or later, is 422 `profile_rule_unmet`. null = none.';
const signedRequestsOnly =
  'Whether what it pushes has to be a signed request object with `aud`, `nbf` and `exp` (RFC 9101 10.5, FAPI 2.0 Message Signing). It goes with `require_pushed_authorization_requests`.';
const boundOnly =
  'Whether its tokens have to be bound to a key: the token endpoint then takes nothing without a DPoP proof (RFC 9449 5.2).';
const signedTokens = 'What its ID tokens and logout tokens are signed with: one of the `signing_algorithms` of the environment.';
const signedAnswers =
  'What the answers of the authorization endpoint are signed with (JARM), with one of the `signing_algorithms` of the environment; other response modes are then refused. null = only where a request asks for it, with RS256, or with `profile` with the algorithm of its ID tokens.';
const signedIntrospection =
  'What introspection responses are signed with (RFC 9701 6), one of the `signing_algorithms` of the environment; null = JSON, unless a request accepts `application/token-introspection+jwt`.';
const signedUserinfo =
  'Userinfo as a JWT signed so (OIDC Core 5.3.2), with one of the `signing_algorithms` of the environment; null = JSON.';
const initiation =
  'Where a sign-in begins that is started elsewhere (OIDC Core 4): https, or http on loopback. It is called with `iss`. null = nowhere.';
const signalAudience =
  'Of whom its signal streams hear: `own` = people who use it (the default), `organization` = members of organizations that use it as well, `everybody` = all people of the environment.';
const deliveryMode =
  'How it hears of the answers of people whom it asks elsewhere (CIBA Core 1.0): it asks for them (`poll`), or is told when to (`ping`).';
const notificationEndpoint = 'Where it is told (CIBA Core 1.0 10.2): https, not inside the network. null = nowhere.';
const askedUsers =
  'Whom it may ask elsewhere (CIBA): `known` = people who have allowed it something (the default), `any` = all, without its learning whether there is somebody.';
const requiredAcr =
  'The class that people need to sign in to it: `2` = a second factor, `phr` = a passkey; null = none. Sessions and refresh tokens below it are asked as well.';
const branding =
  'How the sign-in pages and mails look while people are on their way to it; what is absent or null is as the environment has it. Of an unverified client it is not shown.';
const maxAge = 'How old the proofs of the person may be, in seconds, at a sign-in to it; null = as old as the session.';

/** What a client chooses of the protocol: the same to set and to see. */
const protocolAttributes = {
  id_token_claims: ['control', z.enum(idTokenClaims).meta({ description: idTokenContent })],
  claim_mappings: ['reach and control', claimMappings.meta({ description: mappings })],
  // It could name the resource itself.
  default_resource: ['control', z.string().min(1).max(2048).nullable().meta({ description: defaultResource })],
  // Its rules only narrow what the client may do; the key that it may add is the service's own.
  profile: ['control', z.enum(clientProfiles).nullable().meta({ description: profileText })],
  require_pushed_authorization_requests: ['control', z.boolean().meta({ description: pushesOnly })],
  require_signed_request_object: ['control', z.boolean().meta({ description: signedRequestsOnly })],
  dpop_bound_access_tokens: ['control', z.boolean().meta({ description: boundOnly })],
  id_token_signed_response_alg: ['control', z.enum(signingAlgorithms).meta({ description: signedTokens })],
  authorization_signed_response_alg: ['control', z.enum(signingAlgorithms).nullable().meta({ description: signedAnswers })],
  introspection_signed_response_alg: ['control', z.enum(signingAlgorithms).nullable().meta({ description: signedIntrospection })],
  userinfo_signed_response_alg: ['control', z.enum(signingAlgorithms).nullable().meta({ description: signedUserinfo })],
  // Whose sign-in it is, and what guards it.
  organization_usage: ['control', z.enum(organizationUsages).meta({ description: organizationUsage })],
  signal_audience: ['reach and control', z.enum(['own', 'organization', 'everybody']).meta({ description: signalAudience })],
  required_acr: ['control', z.enum(requiredAcrs).nullable().meta({ description: requiredAcr })],
  max_authentication_age: [
    'control',
    lifetime(1, 365 * day)
      .nullable()
      .meta({ description: maxAge }),
  ],
} as const satisfies Readonly<Record<string, Settable>>;

const entityId =
  'The entity ID of a SAML application (`application_type` `saml`), as its requests and metadata name it; unique in the environment; null = none, as for any other application.';
const acsUrls =
  'Where assertions are posted to (AssertionConsumerServiceURL), compared exactly: https, or http on loopback. The first one unless the request names another of them.';
const nameId =
  'What the NameID says: `persistent`, an identifier of the person for this application alone (SAML Core 8.3.7), or `email`, the address, which then has to be verified. Whatever a request asks for.';
const samlAttributes =
  'The attributes of its assertions: names, each with the claim that it tells. `roles` has a value for each role; `org_id`, `org_name` and `org_display_name` are those of the organization that the person signs in for. `email` is told while it is verified.';
const requestCertificates =
  'X.509 certificates (PEM; RSA of 2048 bits or more, P-256, P-384 or P-521) that its requests are signed with; while there are any, unsigned requests are refused.';
const idpInitiated = 'Whether a sign-in may begin here, at `/saml/sso?client_id=`, which the application did not ask for.';
/** A text without spaces and what is no character. */
const visible = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\s\p{C}]+$/u);

/** Whom a SAML application is, where assertions go, and what they tell of people. */
const samlAttributesOfClient = {
  saml_entity_id: ['control', visible(maxEntityIdLength).nullable().meta({ description: entityId })],
  saml_acs_urls: ['control', uniqueTexts(uri, 20).meta({ description: acsUrls })],
  saml_name_id: ['control', z.enum(samlNameIds).meta({ description: nameId })],
  saml_attributes: [
    'control',
    z
      .record(visible(256), z.enum(samlClaims))
      .refine((names) => Object.keys(names).length <= 50, { message: 'must not hold more than 50', params: { code: 'too_long' } })
      .meta({ description: samlAttributes }),
  ],
  saml_request_certificates: [
    'control',
    uniqueTexts(z.string().min(1).max(10_000), maxCertificates).meta({ description: requestCertificates }),
  ],
  saml_idp_initiated: ['control', z.boolean().meta({ description: idpInitiated })],
} as const satisfies Readonly<Record<string, Settable>>;

export const settableClientAttributes = {
  description: ['plain', boundedText(500, 0).nullable()],
  redirect_uris: ['control', uniqueTexts(uri, 100)],
  post_logout_redirect_uris: ['control', uniqueTexts(uri, 100)],
  allowed_origins: ['control', uniqueTexts(uri, 100)],
  grant_types: ['control', uniqueTexts(grantType, 10)],
  token_endpoint_auth_method: ['control', authMethod],
  jwks: ['control', publicKeySet.nullable() as unknown as z.ZodType<ClientRow['jwks']>],
  jwks_uri: ['control', uri.nullable()],
  scopes: ['control', uniqueTexts(scopeToken, 200).nullable()],
  authorization_details_types: [
    'control',
    uniqueTexts(scopeToken, 50).meta({ description: 'Names of the types of authorization details that it may ask for (RFC 9396 10).' }),
  ],
  access_token_format: ['control', z.enum(['jwt', 'opaque'])],
  first_party: ['reach and control', z.boolean().meta({ description: firstParty })],
  introspection_allowed: ['control', z.boolean()],
  require_pkce: ['control', z.boolean()],
  id_token_lifetime: ['control', lifetime(60, day).nullable()],
  refresh_token_lifetime: ['control', lifetime(60, 400 * day).nullable()],
  // Lowered, it keeps tokens from the client as `status` does.
  token_rate_limit: ['control', z.int().min(1).max(1_000_000).nullable()],
  backchannel_logout_uri: ['control', uri.nullable()],
  backchannel_logout_session_required: ['control', z.boolean()],
  backchannel_token_delivery_mode: ['control', z.enum(deliveryModes).meta({ description: deliveryMode })],
  backchannel_client_notification_endpoint: ['control', uri.nullable().meta({ description: notificationEndpoint })],
  // Whom it may write to in our name.
  backchannel_users: ['control', z.enum(backchannelUsers).meta({ description: askedUsers })],
  // Where its people are sent, and what it, or whoever holds its secret, is told of them without their being asked.
  initiate_login_uri: ['control', uri.nullable().meta({ description: initiation })],
  is_agent: ['control', z.boolean().meta({ description: agentText })],
  ...protocolAttributes,
  ...samlAttributesOfClient,
  // They speak on our pages in the application's name: whom people are told to write to, too.
  client_uri: ['control', webUrl.nullable()],
  logo_uri: ['control', webUrl.nullable()],
  policy_uri: ['control', webUrl.nullable()],
  tos_uri: ['control', webUrl.nullable()],
  contacts: ['control', uniqueTexts(boundedText(254), 20)],
  branding: [
    'control',
    z
      .strictObject({
        ...brandingAttributes,
        support_email: z.email().max(254).nullable().optional().meta({ description: 'Whom people are told to write to.' }),
      })
      .meta({ description: branding }),
  ],
  status: ['control', z.enum(['enabled', 'disabled'])],
} as const satisfies Readonly<Record<string, Settable>>;

/** What is shown of one beside that. */
export const clientAttributes = z.object({
  origin: z
    .enum(clientOrigins)
    .meta({ description: 'Where it comes from: an administrator, its own registration (RFC 7591), or its metadata document.' }),
  verified: z.boolean().meta({ description: 'Whether an administrator has verified it; people are warned otherwise.' }),
  client_id_metadata_uri: z
    .string()
    .nullable()
    .meta({ description: 'The address of its metadata document, which is its id; null = it has none.' }),
  document_read_at: isoTime.nullable().meta({ description: 'When its metadata document was read last; null = it has none.' }),
  document_ended_at: isoTime.nullable().meta({
    description:
      'Since when there is no metadata document that describes it: it is refused, and its tokens are worth nothing. null = there is one.',
  }),
  is_system: z.boolean(),
  secret_hint: z.string().nullable().meta({ description: 'The last four characters of the secret; null = there is none.' }),
  secret_rotated_at: isoTime.nullable(),
  previous_secret_expires_at: isoTime.nullable(),
  tokens_not_before: isoTime.nullable().meta({
    description:
      'What was issued to it before is worth nothing: `revoke_tokens` sets it, and so does letting in a client that was deleted. null = nothing was ended.',
  }),
  last_used_at: isoTime.nullable().meta({ description: 'When it last authenticated, to the half minute; null = never.' }),
  ...stamps,
});
